"""Transactions on one engine, in an order that a seed draws: answers late, cancellations, deaths at commits."""

from __future__ import annotations

import asyncio
import contextlib
import random
from math import inf

import anyio.lowlevel

from tests.kit.engine.counters import entity
from tests.kit.engine.engines import HELD, DyingStore, Hands, begun
from tests.kit.engine.infra_clock import FastClock
from tests.kit.faults.checker import Append, Read, Txn
from xingqiao import composer as c
from xingqiao.actions import ActivationRow, ConflictError, NotFoundError, Query
from xingqiao.composer import call, path, transaction
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.entities.documents import PREPARED
from xingqiao.infra.stores import MemoryStore

KEYS = ("a", "b", "c")
TURNS = 4_000  # of a schedule: one that takes more does not come to its end


def listed(message):
    """Lists: an entity."""
    seen = message["state"] or []
    if message["operation"] == "append":
        return {"state": [*seen, message["params"]["value"]], "result": {}}
    return {"result": {"list": seen}}


class Schedule:
    """One seed's world: some transactions, what came of each, and an engine that may die."""

    def __init__(self, seed, *, settings=None, deaths=0, count=10, hands=Hands):
        self.chance, self.settings = random.Random(seed), settings
        self.hands = hands
        self.deaths, self.left = deaths, [*range(count)]
        self.kept, self.store, self.world = MemoryStore(), None, None
        self.numbers, self.history = iter(range(1_000_000)), []
        self.starting, self.running = {}, {}  # by transaction: a task, or an execution's id
        self.plans = {}  # operations and when it began, by transaction
        self.cancelled, self.asking = set(), []

    async def run(self):
        """Runs everything to its end. Returns the history, with a last look at every list."""
        await self._begin(first=True)
        for _ in range(TURNS):
            if not (self.left or self.starting or self.running):
                break
            await self._turn()
        assert (self.left, self.starting, self.running) == ([], {}, {}), "it comes to no end"
        self.world.hands.answers["list"] = listed
        for held in list(self.world.hands.done):
            self._finish(held)
        await self.world.settle()
        final = [await self._list(key) for key in KEYS]
        began = next(self.numbers)
        reads = tuple(Read(key, tuple(seen)) for key, seen in zip(KEYS, final, strict=True))
        last = Txn("at the end", reads, "committed", began, next(self.numbers))
        return [*self.history, last]

    async def locked(self):
        """The entities that stay locked, and votes that stay stored.

        A call that was not answered before a death may still run: nobody waits for it.
        """
        found = []
        for _ in range(TURNS):
            boxes = self.world.engine.entities._boxes
            found = [name for name, box in boxes.items() if not box.participant.idle]
            found += [d.key async for d in self.kept.documents(PREPARED)]
            if not found:
                break
            for held in list(self.world.hands.done):
                self._finish(held)
            await anyio.lowlevel.checkpoint()
        return found

    # --- what happens --------------------------------------------------------------------------

    async def _turn(self):
        for _ in range(self.chance.randint(1, 3)):
            await anyio.lowlevel.checkpoint()
        if self.store.dead.is_set():
            await self._die()
        held, drawn = list(self.world.hands.done), self.chance.random()
        if self.left and drawn < 0.3:
            self._start(self.left.pop())
        elif held and drawn < 0.9:
            self._finish(self.chance.choice(held))
        elif self.running and drawn > 0.97:
            number = self.chance.choice(sorted(self.running))
            self.cancelled.add(number)
            self.asking.append(asyncio.ensure_future(self._cancel(self.running[number])))
        await self._look()

    def _start(self, number):
        several = [
            (self.chance.choice(("append", "append", "read")), self.chance.choice(KEYS))
            for _ in range(self.chance.randint(1, 3))
        ]
        operations = [(verb, key, number * 10 + at) for at, (verb, key) in enumerate(several)]
        self.plans[number] = operations, next(self.numbers)
        self.starting[number] = asyncio.ensure_future(self._started(number, operations))

    async def _started(self, number, operations):
        calls = [_call(*operation) for operation in operations]
        part = transaction(*calls, retries=30)
        if number % 3 == 0:
            each = [c.merge(one, c.select({f"r{at}": path("$")})) for at, one in enumerate(calls)]
            part = transaction(c.sequence(*each), retries=30)
        await self.world.put(**{f"t{number}": part})
        return await self.world.start(f"t{number}")

    async def _cancel(self, id):
        with contextlib.suppress(NotFoundError, ConflictError):  # it has ended meanwhile
            await self.world.engine.cancel("guest", id)

    def _finish(self, activation):
        hands = self.world.hands
        params = next(i.params for i in reversed(hands.invoked) if i.activation == activation)
        hands.finish(activation, listed(params))

    async def _look(self):
        for number, task in list(self.starting.items()):
            if task.done():
                del self.starting[number]
                self.running[number] = task.result()
        for number, id in list(self.running.items()):
            if await self.kept.find(ActivationRow, Query(namespace="guest", id=id)):
                record = await self.world.engine.records.activation("guest", id)
                del self.running[number]
                self._heard(number, record["response"])

    def _heard(self, number, response):
        (operations, began), result = self.plans[number], response["result"]
        status = "committed" if response["success"] else "aborted"
        if number in self.cancelled and status == "aborted":
            status = "unknown"  # it may have been decided before
        done = []
        for at, (verb, key, value) in enumerate(operations):
            if verb == "append":
                done.append(Append(key, value))
            elif status == "committed":
                seen = result["value"][at] if "value" in result else result[f"r{at}"]
                done.append(Read(key, tuple(seen["list"])))
        ended = inf if status == "unknown" else next(self.numbers)
        self.history.append(Txn(str(number), tuple(done), status, began, ended))

    # --- the engine ----------------------------------------------------------------------------

    async def _begin(self, *, first=False):
        at = self.chance.randint(0, 12) if self.deaths else None
        self.deaths -= bool(self.deaths)
        self.store = DyingStore(self.kept, at, self.chance.choice(("before", "after")))
        self.world = await begun(
            self.store,
            {"list": self._answer},
            clock=FastClock(),
            settings=self.settings,
            hands=self.hands,
        )
        if first:
            await self.world.put(list=entity())
        self.store.armed = True

    def _answer(self, message):
        return HELD if self.chance.random() < 0.6 else listed(message)

    async def _die(self):
        """The process dies: nobody knows what came of the calls that were not answered."""
        await self.world.kill()
        for task in self.asking:
            task.cancel()
        for number, task in self.starting.items():
            task.cancel()
            operations, began = self.plans[number]
            appends = tuple(Append(key, value) for verb, key, value in operations if verb == "append")  # fmt: skip
            self.history.append(Txn(str(number), appends, "unknown", began, inf))
        self.starting.clear()
        await self._begin()

    async def _list(self, key):
        return (await self.world.run("list", {"key": key, "operation": "read", "read": True}))["list"]  # fmt: skip


def _call(verb, key, value):
    if verb == "append":
        return call("list", key, "append", {"value": value})
    return call("list", key, "read", {}, read=True)


def protocol():
    """Settings of an engine that speaks the protocol although all entities are its own."""
    return EngineSettings(limits=c.Limits())
