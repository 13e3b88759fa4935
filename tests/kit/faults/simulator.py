"""A world of coordinators and entities in one thread: seeded, in virtual time, and unkind.

Compositions run on the machine that runs in production, entities are the participants that run in
production; what lies between (the net, the disks, the clock, whoever restarts what has died) is made up
here. Messages are lost, doubled, late and out of order; nodes die before and after any commit. The same
seed gives the same world. After `faults_until` it is kind, and everything must come to its end.
"""

from __future__ import annotations

import heapq
import json
import random
from dataclasses import dataclass, field
from itertools import count

from xingqiao import composer
from xingqiao.composer import (
    DIALECTS,
    Completed,
    Execution,
    Failed,
    Failure,
    Fiber,
    Limits,
    Success,
    TimerFired,
)
from xingqiao.composer.machine.commands import Abandon, Invoke
from xingqiao.composer.machine.history import TRANSACTION_COMMITTED
from xingqiao.transactions import (
    Answer,
    DeletePrepared,
    DeleteTombstone,
    Participant,
    Perform,
    Prepared,
    Request,
    Row,
    Save,
    Tombstone,
    key_of,
    parsed,
)
from xingqiao.transactions.locks import Lock

RESEND_MS, ASK_MS = 300, 1_000
LONGEST_MS, MOST_EVENTS = 1_200_000, 60_000  # a world that takes longer does not come to its end


@dataclass(frozen=True)
class Faults:
    """How unkind it is: chances."""

    lose: float = 0.05
    double: float = 0.1
    crash: float = 0.01  # at each commit, before or after it
    crash_at: frozenset[int] = frozenset()  # and at these, counted from 0
    until_ms: int = 20_000


@dataclass(frozen=True)
class Without:
    """What is switched off, to see that it is missed."""

    locks: bool = False
    decisions: bool = False
    tokens: bool = False


class Crash(Exception):  # noqa: N818  it is none: it is the end of a node
    """The node dies here."""


@dataclass
class World:
    """Everything there is; `operations` is the code of the entities."""

    seed: int
    operations: object
    faults: Faults = Faults()
    without: Without = Without()
    now_ms: int = 1_000_000
    queue: list = field(default_factory=list)
    trace: list = field(default_factory=list)

    def __post_init__(self):
        self.chance = random.Random(self.seed)
        self.order, self.commits, self.committed = count(), count(), set()
        self.started_ms = self.now_ms
        self.hosts = [EntityNode(self, f"host{i}") for i in range(2)]
        self.coordinators = [Coordinator(self, f"coordinator{i}") for i in range(2)]

    @property
    def unkind(self):
        return self.now_ms < self.started_ms + self.faults.until_ms

    def later(self, delay_ms, do):
        heapq.heappush(self.queue, (self.now_ms + delay_ms, next(self.order), do))

    def host_of(self, key):
        return self.hosts[sum(map(ord, key)) % len(self.hosts)]

    def send(self, node, do, *args):
        """A message to a node: it may come once, twice, late, or not at all."""
        copies = 1
        if self.unkind:
            copies = 0 if self.chance.random() < self.faults.lose else copies
            copies += self.chance.random() < self.faults.double
        for _ in range(copies):
            slow = self.chance.random() < 0.05
            delay = self.chance.randint(1, 2_000 if slow and self.unkind else 30)
            self.later(delay, lambda: node.hear(do, args))

    def may_die(self):
        commit = next(self.commits)
        if self.unkind and (
            commit in self.faults.crash_at or self.chance.random() < self.faults.crash
        ):
            raise Crash

    def run(self):
        """Until nothing is left to do."""
        for _ in range(MOST_EVENTS):
            if not self.queue or self.settled:
                break
            at_ms, _, do = heapq.heappop(self.queue)
            self.now_ms = max(self.now_ms, at_ms)
            if self.now_ms > self.started_ms + LONGEST_MS:
                break
            do()

    @property
    def settled(self):
        return (
            not self.unkind
            and all(not node.executions for node in self.coordinators)
            and all(node.settled for node in self.hosts)
            and all(node.up for node in (*self.coordinators, *self.hosts))
        )


class Node:
    """A process: what is in memory dies with it."""

    def __init__(self, world, name):
        self.world, self.name, self.up, self.life = world, name, True, 0

    def hear(self, do, args):
        if self.up:
            self.live(lambda: do(*args))

    def later(self, delay_ms, do):
        """Something of this life: another one does not hear of it."""
        life = self.life
        self.world.later(delay_ms, lambda: self.life == life and self.up and self.live(do))

    def live(self, do):
        try:
            do()
        except Crash:
            self.up = False
            self.life += 1
            self.world.later(self.world.chance.randint(10, 3_000), self.restart)

    def restart(self):
        self.up = True
        self.live(self.recover)


class Coordinator(Node):
    """Runs compositions, and sends their steps until they are answered."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.disk, self.executions, self.pending = {}, {}, {}

    def begin(self, id, composition, params, told):
        """Starts an execution; `told` hears its outcome, once it is durable."""
        program = composer.compile(composition)
        self.disk[id] = {"program": program, "fibers": {}, "history": [], "told": told}
        self.executions[id] = Execution(id, program, Limits())
        self.live(lambda: self.apply(id, self.executions[id].begin(params, self.world.now_ms)))
        if not self.disk[id]["fibers"]:
            del self.disk[id]  # it died before it was accepted

    def apply(self, id, changes):
        while True:
            self.commit(id, changes)
            for fiber, command in changes.commands:
                self.carry_out(id, fiber, command)
            for fiber in changes.fibers.values():
                self.arm(id, fiber)
            if not changes.more or id not in self.executions:
                return
            changes = self.executions[id].proceed(self.world.now_ms)

    def commit(self, id, changes):
        self.world.may_die()
        stored = self.disk[id]
        if any(entry.kind == TRANSACTION_COMMITTED for entry in changes.entries):
            self.world.committed.add(id)
        if not (self.world.without.decisions and self.decides(id)):
            stored["history"] += changes.entries
            for name, fiber in changes.fibers.items():
                stored["fibers"][name] = json.dumps(fiber.to_json(lambda value: {"v": value}))
            for parent, turn in changes.dropped:
                gone = f"{parent}/{turn}."
                for name in [name for name in stored["fibers"] if name.startswith(gone)]:
                    del stored["fibers"][name]
        if changes.outcome is not None:
            del self.executions[id], self.disk[id]
            stored["told"](changes.outcome)
        self.world.may_die()

    def decides(self, id):
        frames = [f for fiber in self.executions[id].fibers.values() for f in fiber.frames]
        return any(getattr(frame, "phase", "") == "committing" for frame in frames)

    def carry_out(self, id, fiber, command):
        if isinstance(command, Abandon):
            self.pending.pop((id, fiber, command.turn), None)
        elif isinstance(command, Invoke):
            place = (id, fiber, command.turn)
            self.pending[place] = command
            self.send(place, command)

    def arm(self, id, fiber):
        if fiber.due_ms is not None:
            delay = max(0, fiber.due_ms - self.world.now_ms)
            self.later(delay, lambda: self.deliver(id, fiber.id, TimerFired()))

    def send(self, place, command):
        if self.pending.get(place) is not command:
            return
        params = dict(command.params)
        if "transaction" not in params:
            params["token"] = command.key or command.activation
            done, undone, _ = params["token"].partition(".undo.")
            if undone:
                params["undoes"] = f"{done}.1"
        host = self.world.host_of(params["key"])
        self.world.send(host, host.receive, self, (place, command.activation), params)
        self.later(RESEND_MS + self.world.chance.randint(0, 200), lambda: self.send(place, command))

    def answered(self, about, outcome):
        (id, fiber, turn), activation = about
        command = self.pending.get((id, fiber, turn))
        if command is None or command.activation != activation:
            return
        del self.pending[id, fiber, turn]
        if command.key is not None and isinstance(outcome, Success):
            self.world.trace.append((id, command.key))
        event = (
            Completed(turn, outcome.value)
            if isinstance(outcome, Success)
            else Failed(turn, outcome)
        )
        self.deliver(id, fiber, event)

    def deliver(self, id, fiber, event):
        execution = self.executions.get(id)
        if execution is not None:
            self.apply(id, execution.deliver(fiber, event, self.world.now_ms))

    def cancel(self, id):
        if self.up and id in self.executions:
            self.live(lambda: self.apply(id, self.executions[id].cancel(self.world.now_ms)))

    def asked(self, transaction, id, host, key):
        """A participant is in doubt. One that is still being recovered is not asked."""
        execution = self.executions.get(id)
        decision = (
            "abort"
            if execution is None
            else composer.decision(execution.fibers.values(), transaction["id"])
        )
        if decision != "undecided":
            self.world.send(host, host.decided, key, transaction, decision)

    def recover(self):
        self.executions.clear()
        self.pending.clear()
        for id, stored in list(self.disk.items()):
            fibers = [
                Fiber.from_json(json.loads(text), lambda doc: doc["v"], DIALECTS.frame)
                for text in stored["fibers"].values()
            ]
            since = [entry.to_json(lambda value: value) for entry in stored["history"]]
            execution = Execution.restore(id, stored["program"], fibers, Limits(), since=since)
            self.executions[id] = execution
        for id, execution in list(self.executions.items()):
            for fiber, command in execution.pending(self.world.now_ms):
                self.carry_out(id, fiber, command)
            for fiber in list(execution.fibers.values()):
                self.arm(id, fiber)
            if execution.ready:
                self.apply(id, execution.proceed(self.world.now_ms))


class NoLock(Lock):
    """Lets everybody in."""

    def ask(self, claim):
        self.take(claim)
        return "granted"


class EntityNode(Node):
    """Holds entities: a disk, and participants in memory."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.rows, self.prepared, self.stones, self.entities = {}, {}, {}, {}
        self.damage = []

    @property
    def settled(self):
        return not self.prepared and all(entity.idle for entity in self.entities.values())

    def entity(self, key):
        if key not in self.entities:
            stones = [Tombstone.from_json(json.loads(s)) for s in self.stones.get(key, {}).values()]
            entity = Participant(
                Row.from_json(json.loads(self.rows[key])) if key in self.rows else None,
                [Prepared.from_json(json.loads(p)) for p in self.prepared.get(key, {}).values()],
                stones,
            )
            if self.world.without.locks:
                entity._pending.lock = NoLock()
            self.entities[key] = entity
        return self.entities[key]

    def state(self, key):
        """What is on the disk."""
        return Row.from_json(json.loads(self.rows[key])).state if key in self.rows else None

    def receive(self, coordinator, about, params):
        key = key_of(params)
        request = Request(f"{about}{next(self.world.order)}", parsed(params), once=self.trusting)
        reply = (coordinator, about)
        self.do(key, self.entity(key).receive(request, self.world.now_ms), {request: reply})

    @property
    def trusting(self):
        return self.world.without.tokens

    def watch(self, key):
        due_ms = self.entity(key).due_ms
        if due_ms is not None:
            self.later(max(0, due_ms - self.world.now_ms) + 1, lambda: self.expire(key))

    def expire(self, key):
        if key in self.entities:
            self.do(key, self.entity(key).expire(self.world.now_ms), {})

    def do(self, key, effects, replies):
        self.replies = {**getattr(self, "replies", {}), **replies}
        for effect in effects:
            match effect:
                case Perform():
                    self.later(self.world.chance.randint(0, 3), lambda e=effect: self.run(key, e))
                case Answer():
                    self.write(key, effect.writes)
                    reply = self.replies.pop(effect.request, None)
                    if reply is not None:
                        node, about = reply
                        self.world.send(node, node.answered, about, effect.outcome)
                case Save():
                    self.write(key, effect.writes)
                case _:
                    self.damage.append(effect)
        self.watch(key)

    def run(self, key, effect):
        outcome = self.world.operations(effect.state, effect.operation, effect.params)
        self.do(key, self.entity(key).performed(outcome, self.world.now_ms), {})

    def write(self, key, writes):
        if not writes:
            return
        self.world.may_die()
        for item in writes:
            match item:
                case Row():
                    self.rows[key] = json.dumps(item.to_json())
                case Prepared():
                    text = json.dumps(item.to_json())
                    self.prepared.setdefault(key, {})[item.transaction.id] = text
                    self.later(ASK_MS, lambda: self.ask(key))
                case DeletePrepared():
                    del self.prepared[key][item.transaction]
                    if not self.prepared[key]:
                        del self.prepared[key]
                case DeleteTombstone(of):
                    self.stones.get(key, {}).pop(of, None)
                case Tombstone():
                    text = json.dumps(item.to_json())
                    self.stones.setdefault(key, {})[item.of] = text
        self.world.may_die()

    def ask(self, key):
        """In doubt: whoever coordinates is asked, again and again."""
        for text in self.prepared.get(key, {}).values():
            transaction = Prepared.from_json(json.loads(text)).transaction
            about = {
                "id": transaction.id,
                "deadline": transaction.deadline_ms,
                "epoch": transaction.epoch,
            }
            execution = (transaction.coordinator or "").partition("/")[0]
            for node in self.world.coordinators:
                if execution in node.disk or execution in node.executions:
                    break
            else:
                node = self.world.coordinators[0]
            self.world.send(node, node.asked, about, execution, self, key)
            self.later(ASK_MS, lambda: self.ask(key))

    def decided(self, key, transaction, decision):
        message = parsed({"key": key, "transaction": {**transaction, "kind": decision}})
        request = Request(f"asked{next(self.world.order)}", message, once=self.trusting)
        self.do(key, self.entity(key).receive(request, self.world.now_ms), {})

    def recover(self):
        self.entities.clear()
        self.replies = {}
        for key in self.prepared:
            self.entity(key)
            self.later(ASK_MS, lambda key=key: self.ask(key))


def bank(state, operation, params):
    """Accounts, and lists to append to."""
    state = state or {"balance": 100, "list": []}
    balance = state["balance"]
    match operation:
        case "withdraw":
            if balance < params["amount"]:
                return Failure("ApplicationError", "insufficient funds")
            balance -= params["amount"]
        case "deposit":
            balance += params["amount"]
        case "take":  # what undoes a deposit may not be refused
            balance -= params["amount"]
        case "append":
            return Success({"state": {**state, "list": [*state["list"], params["value"]]}})
        case "put":
            return Success({"state": {**state, "value": params["value"]}})
        case "read":
            seen = {"balance": balance, "list": state["list"], "value": state.get("value")}
            return Success({"result": seen})
        case _:
            return Failure("ApplicationError", f"no operation {operation}")
    return Success({"state": {**state, "balance": balance}, "result": {"balance": balance}})
