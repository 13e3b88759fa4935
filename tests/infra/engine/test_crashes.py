"""A process that dies at any commit: what was accepted ends the same, what was done is not done again."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, DyingStore, Hands, PromptHands, begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer
from xingqiao.actions import ActivationRow, Query
from xingqiao.composer import Failure, path, var
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.stores import MemoryStore, SqliteStore

PLAN = ("a", "inner", "fails", "nobody", "b")  # what the conductor action names, one by one


def lead(params):
    """A conductor action: the state says how far it has come."""
    step = params.get("step", 0)
    if step == len(PLAN):
        return {"params": {"done": params["done"], "b": params["b"]}}
    done = [*params.get("done", []), params.get("error", "fine")]
    return {"action": f"/_/{PLAN[step]}", "params": {}, "state": {"step": step + 1, "done": done}}


def account(message):
    """An entity: money."""
    balance, amount = message["state"] or 0, message["params"].get("amount", 0)
    match message["operation"]:
        case "take" if amount > balance:
            return Failure("ApplicationError", "not enough")
        case "take":
            balance -= amount
        case "give":
            balance += amount
    return {"state": balance, "result": {"balance": balance}}


def moved(operation, key, amount=30):
    return composer.call("account", key, operation, {"amount": amount})


BOTH = composer.merge(
    composer.transaction(composer.read("account", "a"), composer.read("account", "b")),
    composer.select({"a": path("$.value[0].state"), "b": path("$.value[1].state")}),
)
TRANSFER = composer.transaction(moved("give", "b"), moved("take", "a"))
SWEEP = composer.transaction(
    composer.let(
        {"all": 0},
        composer.read("account", "a"),
        composer.assign(all=path("$.state")),
        composer.call("account", "a", "take", {"amount": var("all")}),
        composer.call("account", "b", "give", {"amount": var("all")}),
    )
)
SAGA = composer.saga(
    composer.step(moved("take", "a"), undo=moved("give", "a")),
    composer.parallel(
        composer.step(moved("give", "b"), undo=moved("take", "b")),
        composer.step("b", undo="undo"),
    ),
)
UNDONE = composer.saga(SAGA, composer.step("fails", no_undo="it only fails"))
MONEY = moved("give", "a", 100)
ANSWERS = {
    "account": account,
    "main": lead,
    "lead": lead,
    "a": lambda params: {**params, "a": 1},
    "b": lambda params: {**params, "b": 2},
    "fails": Failure("Broken", "broken"),
    "undo": {"undone": True},
}
CODE = {"kind": "python:3", "code": "..."}
LEADING = {"exec": CODE, "annotations": [{"key": "conductor", "value": True}]}
ENTITY = {"exec": CODE, "annotations": [{"key": "entity", "value": True}]}
ROW = {"exec": {"kind": "sequence", "components": ["/_/b", "/_/a"]}}
COUNT = composer.function(lambda params, variables: variables.update(n=variables["n"] + 1))
COMPOSITIONS = {
    "sequence": composer.sequence("a", "b", "a"),
    "handler": composer.do(composer.sequence("a", "fails"), "undo"),
    "finalizer": composer.ensure(composer.sequence("a", "b"), "undo"),
    "retry": composer.do(composer.retry(2, "fails", delay=0.001), "undo"),
    "wait": composer.sequence("a", composer.wait(0.001), "b"),
    "branches": composer.parallel("a", composer.sequence("b", "a"), composer.do("fails", "undo")),
    "map": composer.map(composer.sequence("a", "b"), items=path("$.items"), concurrency=2),
    "race": composer.race("fails", composer.sequence("a", "b")),
    "graph": composer.graph(
        {"x": "a", "y": composer.after("x", "b"), "z": composer.after("x", "a")}
    ),
    "variables": composer.let(
        {"n": 0}, composer.repeat(3, COUNT), composer.select({"n": var("n")})
    ),
    "nested": composer.sequence("a", "inner", "b"),
    "nested branches": composer.parallel("inner", "inner"),
    "aside": composer.sequence(
        composer.merge(composer.select({})), composer.asynchronous("a"), "b"
    ),
    "failing": composer.sequence("a", composer.parallel("b", "fails")),
    "conductor action": LEADING,
    "nested conductor action": composer.sequence("a", "lead", "b"),
    "entity": composer.sequence(MONEY, moved("give", "a"), BOTH),
    "transfer": composer.sequence(MONEY, TRANSFER, BOTH),
    "refused transfer": composer.sequence(
        MONEY,
        composer.do(composer.transaction(moved("give", "b"), moved("take", "a", 999)), "undo"),
        BOTH,
    ),
    "transfer as it goes": composer.sequence(MONEY, SWEEP, BOTH),
    "saga": composer.sequence(MONEY, SAGA, BOTH),
    "saga that is undone": composer.sequence(MONEY, composer.do(UNDONE, "undo"), BOTH),
    "flags": composer.sequence(MONEY, composer.semantic_lock([("account", "a")], TRANSFER), BOTH),
    "sequence of sequences": {
        "exec": {"kind": "sequence", "components": ["/_/a", "/_/row", "/_/lead", "/_/b"]}
    },
}
INNER = composer.sequence("b", "a")


async def deploy(world, part):
    await world.put(a=None, b=None, fails=None, undo=None, inner=INNER, lead=LEADING)
    await world.put(row=ROW, main=part, account=ENTITY)


async def calm(part):
    world = await begun(answers=ANSWERS, clock=FastClock())
    await deploy(world, part)
    result = plain(await world.run("main", {"items": [1, 2, 3]}))
    await world.kill()
    return result


def plain(result):
    """But for ids that are drawn anew in every execution."""
    drawn = ("activationId", "sessionId")
    return {key: value for key, value in result.items() if key not in drawn}


async def until_dead_or_done(world, store, invoked):
    dead = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait((dead, invoked), return_when=asyncio.FIRST_COMPLETED)
    if invoked.done() and not dead.done():
        ended = asyncio.ensure_future(world.record(invoked.result()))
        await asyncio.wait((dead, ended), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
    dead.cancel()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", COMPOSITIONS)
async def test_whatever_commit_it_dies_at(name, when):
    await dies_at_each_commit(name, when)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", [name for name in COMPOSITIONS if "transfer" in name])
async def test_whatever_commit_of_the_protocol_it_dies_at(name, when):
    """Participants may be elsewhere; here an engine is told that its own are."""
    await dies_at_each_commit(name, when, EngineSettings(limits=composer.Limits()))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["entity", "transfer", "refused transfer", "saga", "flags"])
async def test_whatever_commit_it_dies_at_when_code_answers_at_once(name, when):
    """Then an execution may begin and end in one commit."""
    await dies_at_each_commit(name, when, hands=PromptHands)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", [name for name in COMPOSITIONS if "transfer" in name])
async def test_an_engine_takes_up_what_one_of_an_earlier_version_has_begun(name, when):
    """The earlier one has spoken the protocol, and dies at any commit; this one performs whole transactions."""
    await dies_at_each_commit(
        name, when, EngineSettings(limits=composer.Limits()), EngineSettings()
    )


async def dies_at_each_commit(name, when, settings=None, later=None, hands=Hands):
    part, expected, at = COMPOSITIONS[name], await calm(COMPOSITIONS[name]), 0
    while True:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        world = await begun(store, ANSWERS, clock=FastClock(), settings=settings, hands=hands)
        await deploy(world, part)
        store.armed = True
        invoked = asyncio.ensure_future(world.start("main", {"items": [1, 2, 3]}))
        await until_dead_or_done(world, store, invoked)
        died = store.dead.is_set()
        await world.kill()
        accepted = invoked.done() and not invoked.cancelled()
        before = {
            row.id for row in await kept.find(ActivationRow, Query(namespace="guest", limit=99))
        }

        again = await begun(
            kept, ANSWERS, clock=FastClock(), settings=later or settings, hands=hands
        )
        found = [row.id for row in await again.executions() if row.name == "main"]
        assert found or not accepted, "what was accepted is lost"
        if accepted or len(found) == 1:
            id = invoked.result() if accepted else found[0]
            assert plain(await again.result(id)) == expected
        await again.settle()
        assert before.isdisjoint(call.activation for call in again.hands.invoked)
        await again.kill()
        invoked.cancel()
        if not died:
            break
        at += 1
    assert at >= 2


@pytest.mark.parametrize("name", ["sequence", "branches", "nested", "conductor action"])
async def test_it_may_die_again_and_again(name):
    part, expected = COMPOSITIONS[name], await calm(COMPOSITIONS[name])
    kept, id = MemoryStore(), None
    for _ in range(100):
        store = DyingStore(kept, 1, "after")
        store.armed = id is not None
        world = await begun(store, ANSWERS, clock=FastClock())
        if id is None:
            await deploy(world, part)
            id = await world.start("main", {"items": [1, 2, 3]})
            await world.kill()
            continue
        ended = asyncio.ensure_future(world.record(id))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait((dead, ended), return_when=asyncio.FIRST_COMPLETED)
        done = ended.done()
        ended.cancel()
        dead.cancel()
        await world.kill()
        if done:
            break
    world = await begun(kept, ANSWERS)
    assert plain(await world.result(id)) == expected
    await world.kill()


async def test_the_same_holds_for_a_file(tmp_path):
    part, expected = COMPOSITIONS["branches"], await calm(COMPOSITIONS["branches"])
    async with SqliteStore(tmp_path) as kept:
        world = await begun(kept, ANSWERS, clock=FastClock())
        await deploy(world, part)
        id = await world.start("main", {"items": [1, 2, 3]})
        await world.kill()
    async with SqliteStore(tmp_path) as kept:
        again = await begun(kept, ANSWERS, clock=FastClock())
        assert plain(await again.result(id)) == expected
        await again.kill()


ONCE = [{"key": "at-most-once", "value": True}]


@pytest.mark.parametrize("round", range(8))  # ids, and with them the order, are drawn anew
async def test_a_child_that_ends_as_soon_as_it_is_taken_up_finds_its_parent_waiting(
    round, tmp_path
):
    """What may run once is lost at the start; its composition, and what that is a step of, must hear of it."""
    async with SqliteStore(tmp_path) as store:
        before = await begun(store, {"near": HELD, "after": {}})
        await before.put(near={"exec": CODE, "annotations": ONCE}, after=None)
        await before.put(
            child=composer.sequence("near"), parent=composer.sequence("child", "after")
        )
        id = await before.start("parent")
        await before.until(lambda: before.hands.invoked)
        await before.kill()

        after = await begun(store, {"after": {}}, clock=before.clock)

        assert "it may run only once" in str(await after.result(id))
        assert {row.status for row in await after.executions()} == {"failed"}
        await after.kill()
