"""What is done in a simulated world, and what must be true of it afterwards whatever happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kit.faults.checker import Append, Get, Put, Read, Txn, check_lists, check_registers
from tests.kit.faults.simulator import Faults, Without, World, bank
from xingqiao.composer import (
    Failure,
    Success,
    call,
    merge,
    parallel,
    path,
    saga,
    select,
    sequence,
    step,
    transaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable

START = 100  # in every account
UNKIND, KIND = Faults(), Faults(lose=0, double=0, crash=0)
WHOLE = Without()
EVENTUALLY = 60 * 60_000


def world_of(seed, faults=UNKIND, without=WHOLE):
    return World(seed, bank, faults, without)


def spread(world, count, begin, over_ms=10_000):
    """Begins so many executions at any time, each on a coordinator that is up."""
    for number in range(count):

        def start(number=number, again=None):
            up = [node for node in world.coordinators if node.up]
            if up:
                begin(world.chance.choice(up), number)
            else:
                world.later(50, lambda: start(number))

        world.later(world.chance.randint(0, over_ms), start)


def unsettled(world):
    """What has not come to its end, though it has had the time."""
    found = []
    for node in world.coordinators:
        found += [f"{node.name} still runs {id}" for id in node.executions]
    for host in world.hosts:
        found += [f"{key} at {host.name} is in doubt" for key in host.prepared]
        found += [
            f"{key} at {host.name} is locked" for key, one in host.entities.items() if not one.idle
        ]
    return found


def balance(world, key):
    state = world.host_of(key).state(key)
    return START if state is None else state["balance"]


# --- two-phase commit: money --------------------------------------------------------------------

TRANSFER = transaction(
    call("/_/account", path("$.from"), "withdraw", {"amount": path("$.amount")}),
    call("/_/account", path("$.to"), "deposit", {"amount": path("$.amount")}),
)
WATCHED = transaction(  # who only reads is last in order, so that the coordinator decides
    call("/_/account", path("$.from"), "withdraw", {"amount": path("$.amount")}),
    call("/_/account", path("$.to"), "deposit", {"amount": path("$.amount")}),
    call("/_/account", "z", "read", {}, read=True),
)


def audit_of(accounts):
    return transaction(*[call("/_/account", key, "read", {}, read=True) for key in accounts])


def transfers(seed, faults=UNKIND, without=WHOLE, *, count=30, accounts=4):
    """Transfers and audits, each a transaction. Returns what is wrong."""
    world, keys = world_of(seed, faults, without), [f"a{n}" for n in range(accounts)]
    audit, audits, moved = audit_of(keys), [], []

    def begin(node, number):
        if number % 5 == 0:
            node.begin(f"{number:032x}", audit, {}, audits.append)
            return
        source, target = world.chance.sample(keys, 2)
        amount = world.chance.randint(1, 60)
        params = {"from": source, "to": target, "amount": amount}

        id, kind = f"{number:032x}", (TRANSFER, WATCHED)[number % 2]
        node.begin(id, kind, params, lambda outcome: moved.append((id, params, outcome)))
        if number % 4 == 1:
            world.later(world.chance.randint(1, 400), lambda: node.cancel(id))

    spread(world, count, begin)
    world.run()
    return unsettled(world) + _misbooked(world, keys, moved) + _misread(audits, len(keys))


def _misbooked(world, keys, moved):
    wrong, total = [], sum(balance(world, key) for key in keys)
    if total != START * len(keys):
        wrong.append(f"there is {total} in all, not {START * len(keys)}")
    expected = dict.fromkeys(keys, START)
    for id, params, outcome in moved:
        if isinstance(outcome, Success) and id not in world.committed:
            wrong.append(f"{id} has succeeded and not been committed")
        if id in world.committed:
            expected[params["from"]] -= params["amount"]
            expected[params["to"]] += params["amount"]
    for key in keys:
        if balance(world, key) < 0:
            wrong.append(f"{key} is overdrawn")
        if balance(world, key) != expected[key]:
            wrong.append(f"{key} has {balance(world, key)}; its transfers make {expected[key]}")
    return wrong


def _misread(audits, accounts):
    seen = [
        sum(account["balance"] for account in outcome.value["value"])
        for outcome in audits
        if isinstance(outcome, Success)
    ]
    return [f"an audit has seen {total}" for total in seen if total != START * accounts]


# --- two-phase commit: any histories ------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """What transactions write and read: how each stands in a history, and how that is checked."""

    verb: str
    wrote: Callable
    seen: Callable
    check: Callable


LISTS = Values(
    "append", Append, lambda key, state: Read(key, tuple(state.get("list", ()))), check_lists
)
REGISTERS = Values("put", Put, lambda key, state: Get(key, state.get("value")), check_registers)


def lists(seed, faults=UNKIND, without=WHOLE, **options):
    """Transactions that append to lists and read them, declared or as they go; checked for cycles."""
    return histories(LISTS, seed, faults, without, **options)


def registers(seed, faults=UNKIND, without=WHOLE, **options):
    """Transactions that write registers and read them."""
    return histories(REGISTERS, seed, faults, without, **options)


def histories(values, seed, faults, without, *, count=30, keys=3, conflict="wait"):
    world = world_of(seed, faults, without)
    names, history, declared = [f"k{n}" for n in range(keys)], [], {}

    def begin(node, number):
        operations = []
        for at in range(world.chance.randint(1, 4)):
            key = world.chance.choice(names)
            writes = world.chance.random() < 0.5
            operations.append(
                (values.verb, key, number * 10 + at) if writes else ("read", key, None)
            )
        id = f"{number:032x}"
        declared[id] = operations
        calls = [_asked(*operation) for operation in operations]
        if number % 2:
            composition = transaction(*calls)
        else:
            kept = [_kept(one, at) for at, one in enumerate(calls)]
            composition = transaction(sequence(select({}), *kept), conflict=conflict)
        began = world.now_ms

        def told(outcome):
            history.append(_heard(values, id, operations, outcome, began, world.now_ms))

        node.begin(id, composition, {}, told)

    spread(world, count, begin)
    world.run()
    heard = {txn.id for txn in history}
    for id, operations in declared.items():
        if id not in heard:  # it was never accepted: it died with its coordinator
            history.append(Txn(id, _writes(values, operations), "unknown", 0, EVENTUALLY))
    at_last = tuple(values.seen(key, world.host_of(key).state(key) or {}) for key in names)
    history.append(Txn("at the end", at_last, "committed", EVENTUALLY, EVENTUALLY + 1))
    return unsettled(world) + [anomaly.text for anomaly in values.check(history)]


def _asked(operation, key, value):
    if operation == "read":
        return call("/_/entity", key, "read", {}, read=True)
    return call("/_/entity", key, operation, {"value": value})


def _kept(one, at):
    """A call whose result is kept beside those of the calls before it."""
    return merge(one, select({f"r{at}": path("$")}))


def _heard(values, id, operations, outcome, began, ended):
    if not isinstance(outcome, Success):
        return Txn(id, _writes(values, operations), "aborted", began, ended)
    done = []
    for at, (operation, key, value) in enumerate(operations):
        if operation == "read":
            results = outcome.value.get("value")
            result = results[at] if results is not None else outcome.value[f"r{at}"]
            done.append(values.seen(key, result))
        else:
            done.append(values.wrote(key, value))
    return Txn(id, tuple(done), "committed", began, ended)


def _writes(values, operations):
    return tuple(values.wrote(key, value) for verb, key, value in operations if verb != "read")


# --- sagas --------------------------------------------------------------------------------------


def _moved(operation, key, amount):
    """An entity's operation as any action's: an answer that is lost leaves its outcome unknown."""
    message = {"key": key, "operation": operation, "params": {"amount": amount}}
    return sequence(select(message), "/_/account")


def _step(verb, undo, whose, **options):
    there, back = path(f"$.{whose}"), path(f"$.input.{whose}")
    do = merge(_moved(verb, there, path("$.amount")))
    return step(do, _moved(undo, back, path("$.input.amount")), **options)


MOVE = saga(
    _step("withdraw", "deposit", "from", seconds=1.5),
    _step("deposit", "take", "to", seconds=1.5),
)
SPLIT = saga(
    _step("withdraw", "deposit", "from", seconds=1.5),
    parallel(
        _step("deposit", "take", "to", seconds=1.5),
        _step("deposit", "take", "too", seconds=1.5),
    ),
)


def sagas(seed, faults=UNKIND, without=WHOLE, *, count=25, accounts=6, moves=(MOVE, SPLIT)):
    """Transfers as sagas, on entities elsewhere whose answers may be lost. Returns what is wrong."""
    world, keys = world_of(seed, faults, without), [f"a{n}" for n in range(accounts)]
    done = []

    def begin(node, number):
        source, target, other = world.chance.sample(keys, 3)
        amount = world.chance.randint(1, 50)
        params = {"from": source, "to": target, "too": other, "amount": amount}
        splits = number % 2 == 1

        def told(outcome):
            done.append((params, splits, outcome))

        node.begin(f"{number:032x}", moves[splits], params, told)
        if number % 7 == 0:
            world.later(world.chance.randint(1, 200), lambda: node.cancel(f"{number:032x}"))

    spread(world, count, begin)
    world.run()
    wrong = unsettled(world)
    expected = dict.fromkeys(keys, START)
    for params, splits, outcome in done:
        if isinstance(outcome, Success):
            expected[params["from"]] -= params["amount"]
            for target in ("to", "too")[: 1 + splits]:
                expected[params[target]] += params["amount"]
    for key in keys:
        if balance(world, key) != expected[key]:
            wrong.append(f"{key} has {balance(world, key)}; its sagas make {expected[key]}")
    assert all(isinstance(outcome, (Success, Failure)) for _, _, outcome in done)
    return wrong + out_of_order(world.trace)


def out_of_order(trace):
    """Steps undone before what was done after them was. Keys: execution/fiber.../turn.undo.n."""
    undone = {}
    for id, key in trace:
        step, is_undo, _ = key.partition(".undo.")
        if is_undo:
            fiber, _, turn = step.rpartition("/")
            undone.setdefault(id, []).append((fiber, int(turn)))
    return [
        f"{id}: {earlier} was undone before {later}"
        for id, steps in undone.items()
        for at, earlier in enumerate(steps)
        for later in steps[at + 1 :]
        if _before(earlier, later)
    ]


def _before(first, second):
    """Whether the first step was done before the second began."""
    (fiber, turn), (other, later) = first, second
    if fiber == other:
        return turn < later
    if not other.startswith(f"{fiber}/"):
        return False
    return turn < int(other[len(fiber) + 1 :].partition(".")[0])
