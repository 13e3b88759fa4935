"""Engines for tests: over a store that may die, with hands that do what they are told, killed or stopped."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import anyio.lowlevel

from tests.kit.actions.things import StandingClock
from xingqiao.actions import (
    Action,
    ActivationRow,
    Arns,
    Call,
    Change,
    Completion,
    ExecutionRow,
    Query,
)
from xingqiao.composer import Failure, Name, Success
from xingqiao.infra.clock import RandomIds
from xingqiao.infra.engine import Engine, EngineSettings
from xingqiao.infra.service.system import system_entities
from xingqiao.infra.stepfunctions import MachineHooks
from xingqiao.infra.stores import MemoryStore

GUEST = "guest"
HELD = object()
ENTITY = {
    "exec": {"kind": "python:3", "code": "..."},
    "annotations": [{"key": "entity", "value": True}],
}
CODE = {"exec": {"kind": "python:3", "code": "def main(params): ..."}}


class Hands:
    """An `Invoker`: by name of the action what it answers, a function of the parameters, or HELD."""

    kinds = frozenset({"python:3"})

    def __init__(self, clock, answers=None):
        self._clock, self.answers = clock, answers or {}
        self.invoked = []  # every invocation, in order
        self.cancelled = []
        self.done = {}  # of what is held, by activation

    def invoke(self, invocation, done):
        self.invoked.append(invocation)
        answer = self._answer(invocation)
        if answer is HELD:
            self.done[invocation.activation] = done
        else:
            asyncio.get_running_loop().call_soon(done, self._completion(answer))

    def _answer(self, invocation):
        if invocation.function is not None:
            scope = {}
            runtime = invocation.action.exec.program.functions[invocation.function]
            exec(runtime["code"], scope)
            variables = dict(invocation.variables)
            main = scope[runtime["main"]]
            result = main(*[invocation.params, variables][: main.__code__.co_argcount])
            return (invocation.params if result is None else result, variables)
        answer = self.answers[invocation.action.name.name]
        return answer(invocation.params) if callable(answer) else answer

    def _completion(self, answer):
        now, variables = self._clock.now_ms(), None
        if isinstance(answer, tuple):
            answer, variables = answer
        outcome = answer if isinstance(answer, Failure) else Success(answer)
        return Completion(outcome, now, now + 3, logs=["a line"], variables=variables)

    def cancel(self, activation):
        self.cancelled.append(activation)
        if activation in self.done:
            self.finish(activation, Failure("Cancelled", "cancelled"))

    def finish(self, activation, answer):
        """Ends a step that is held."""
        asyncio.get_running_loop().call_soon(self.done.pop(activation), self._completion(answer))

    @property
    def names(self):
        return [invocation.action.name.name for invocation in self.invoked]


class PromptHands(Hands):
    """A `PromptInvoker`: what is not held is answered in the turn that asks for it."""

    def run(self, invocation, done):
        self.invoked.append(invocation)
        answer = self._answer(invocation)
        if answer is HELD:
            self.done[invocation.activation] = done
            return None
        return self._completion(answer)


class DyingStore:
    """A store whose process dies at a commit, counted from when it is armed: before it, or after it."""

    def __init__(self, store, at=None, when="before"):
        self._store, self._at, self._when = store, at, when
        self.armed, self.commits, self.dead = False, 0, asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        if self.dead.is_set():
            await asyncio.Event().wait()
        self.commits += self.armed
        dies = self.armed and self.commits - 1 == self._at
        if dies and self._when == "before":
            self.dead.set()
            await asyncio.Event().wait()
        refused = await self._store.commit(writes)
        if dies:
            self.dead.set()
            await asyncio.Event().wait()
        return refused


class World:
    """An engine, and what it is made of."""

    def __init__(self, store, hands, clock, settings, others=(), paused=False, hooks=None):
        self.store, self.hands, self.clock = store, hands, clock
        invokers = {"python:3": hands}
        self.engine = Engine(
            store, invokers, clock=clock, ids=RandomIds(),
            settings=settings or EngineSettings(), secret=b"secret",
            hooks=hooks or MachineHooks(Arns()), paused=paused,
        )  # fmt: skip
        for make in others:
            other = make(self.engine)
            invokers |= dict.fromkeys(other.kinds, other)
        for entity in system_entities(clock) if others else ():
            self.engine.catalog.apply(Change(entity, (entity,)))

    async def put(self, **actions):
        """Deploys compositions, documents, or for None plain code."""
        for name, what in actions.items():
            document = CODE if what is None else what
            if hasattr(what, "to_json"):
                document = {"exec": {"kind": "composition", "composition": what.to_json()}}
            await self.engine.registry.put(
                Action, Name(GUEST, None, name), document, overwrite=True
            )

    async def start(self, name, params=None, namespace=GUEST):
        call = Call(name=Name(GUEST, None, name), params=params or {}, namespace=namespace)
        return (await self.engine.invoke(call)).activation

    async def result(self, id):
        """What came of an execution or an action, once it has ended."""
        record = await self.record(id)
        return record["response"]["result"]

    async def record(self, id):
        async with asyncio.timeout(20):
            while True:
                found = await self.store.find(ActivationRow, Query(namespace=GUEST, id=id))
                if found:
                    return await self.engine.records.activation(GUEST, id)
                await anyio.lowlevel.checkpoint()

    async def run(self, name, params=None):
        return await self.result(await self.start(name, params))

    async def until(self, condition):
        async with asyncio.timeout(60):
            while not condition():
                await anyio.lowlevel.checkpoint()

    async def settle(self):
        """Until everything that can happen by itself has."""
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        await self.engine.recovery.settled.wait()
        await self.engine._tick.settled()

    def begin(self):
        """An engine that was paused goes on."""
        self.engine.recovery.begin()
        self.engine.contexts.begin()
        self.engine.events.begin()
        self.engine.schedules.begin()

    async def kill(self):
        """The process dies: nothing more is committed, answered or told."""
        self.engine._inbox.close()
        self.engine._dispatch.hold()
        self.engine._timers.stop()
        self.engine._alarms.stop()
        self.engine.recovery.stop()
        self.engine.schedules.stop()
        self.engine.events.stop()
        self.engine.endings.stop()
        self.engine._inbox.stretching.stop()
        self.engine.answering.stop()
        self.engine.entities.stop()
        self.engine.limits.close()
        self.engine._waiters.close()
        await self.engine._closing.aclose()
        await self.engine._tasks.__aexit__(None, None, None)

    async def executions(self):
        return await self.store.find(ExecutionRow, Query(namespace=GUEST, limit=1000))

    async def activations(self):
        return await self.store.find(ActivationRow, Query(namespace=GUEST, limit=1000))


async def begun(
    store=None,
    answers=None,
    *,
    clock=None,
    settings=None,
    others=(),
    paused=False,
    hands=Hands,
    hooks=None,
):
    """A world that is killed, not left. `others` make more invokers, given the engine."""
    clock = clock or StandingClock()
    store = store if store is not None else MemoryStore()
    world = World(store, hands(clock, answers), clock, settings, others, paused, hooks)
    await world.engine.__aenter__()
    return world


@asynccontextmanager
async def world(store=None, answers=None, *, clock=None, settings=None, others=()):
    """A world that is stopped in order."""
    made = await begun(store, answers, clock=clock, settings=settings, others=others)
    try:
        yield made
    finally:
        for activation in list(made.hands.done):
            made.hands.finish(activation, Failure("Cancelled", "the test is over"))
        await made.engine.__aexit__(None, None, None)
