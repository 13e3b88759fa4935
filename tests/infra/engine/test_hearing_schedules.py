"""CloudEvents in schedules that are drawn: deliveries, second deliveries, conflicts, restarts and deaths at commits.

The reference is a list: the first delivery of a key counts, in order of acceptance, and fires each trigger that
fits once.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import anyio
import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kit.actions.things import StandingClock
from tests.kit.engine.cloudevents import event, kept, trigger
from tests.kit.engine.engines import CODE, DyingStore, begun
from xingqiao.actions import Action
from xingqiao.composer import Name
from xingqiao.infra.stores import MemoryStore

NAMESPACES = ("guest", "other")
TYPES = ("a", "b", "c")
TRIGGERS = {
    "all": {"prefix": {"source": "/"}},
    "as": {"exact": {"type": "a"}},
    "bs": {"exact": {"type": "b"}},
}
FIRES = {"a": ["all", "as"], "b": ["all", "bs"], "c": ["all"]}


class Noting:
    """A store that notes which triggers have fired for which CloudEvents, in order of commits."""

    def __init__(self):
        self._store, self.fires = MemoryStore(), []

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        refused = await self._store.commit(writes)
        for number, write in enumerate(writes):
            for row in write.activations if number not in refused else ():
                if row.kind == "trigger":
                    about = orjson.loads(row.body)["result"]["v"]["__ow_event"]
                    self.fires.append((row.namespace, about["id"], row.name))
        return refused


@dataclass
class Reference:
    """What must come of it."""

    known: dict = field(default_factory=dict)  # by namespace and id: the type
    order: list = field(default_factory=list)

    def accept(self, namespace, batch):
        """Returns how many are new, the same again, and others under the same key."""
        counts = [0, 0, 0]
        for id, type in batch:
            before = self.known.setdefault((namespace, id), None)
            if before is None:
                self.known[namespace, id] = type
                self.order.append((namespace, id, type))
            counts[0 if before is None else 1 if before == type else 2] += 1
        return tuple(counts)

    def fires(self, namespace):
        return [
            (namespace, id, name)
            for where, id, type in self.order
            if where == namespace
            for name in FIRES[type]
        ]


class Law:
    """One schedule: a server that lives several times, over one store."""

    def __init__(self):
        self.kept, self.clock, self.reference = Noting(), StandingClock(), Reference()
        self.store = self.made = None

    async def begin(self, at=None, when="before"):
        self.store = DyingStore(self.kept, at, when)
        self.made = await begun(self.store, {"work": {}}, clock=self.clock)
        self.store.armed = at is not None

    async def furnish(self):
        await self.begin()
        put = self.made.engine.registry.put
        for namespace in NAMESPACES:
            await put(Action, Name(namespace, None, "work"), CODE, overwrite=False)
            for name, filter in TRIGGERS.items():
                await trigger(self.made, name, namespace=namespace, filter=filter)

    async def again(self, at=None, when="before", back_ms=0):
        await self.made.kill()
        self.clock.ms -= back_ms
        await self.begin(at, when)

    async def send(self, namespace, batch):
        """Sends a batch until the server says that it is durable."""
        events = [event(id, type, {"type": type}) for id, type in batch]
        new, same, others = self.reference.accept(namespace, batch)
        accepted = await self.while_alive(self.made.engine.events.accept(namespace, events))
        if accepted is not None:
            assert (accepted.accepted, accepted.duplicates, accepted.conflicts) == (
                new,
                same,
                others,
            )
            return
        await self.again()
        accepted = await self.made.engine.events.accept(namespace, events)
        assert accepted.accepted in {0, new}, "a batch is one commit"
        assert accepted.accepted + accepted.duplicates == new + same
        assert accepted.conflicts == others

    async def emit(self, namespace, id, type):
        """Emits a CloudEvent, which a crash may lose together with what emits it."""
        self.made.engine.events.emitted(namespace, event(id, type, {"type": type}))
        if await self.while_alive(self.made.engine._tick.committed()) is None:
            await self.again()
            key = f"{namespace}/{event(id).key}"
            if key not in await kept(self.made, "heard"):
                return
        self.reference.accept(namespace, [(id, type)])

    async def while_alive(self, working):
        task, dead = (
            asyncio.ensure_future(done(working)),
            asyncio.ensure_future(self.store.dead.wait()),
        )
        await asyncio.wait((task, dead), return_when=asyncio.FIRST_COMPLETED)
        dead.cancel()
        if task.done():
            return task.result()
        task.cancel()
        return None


async def done(working):
    """The result of work; True if it has none."""
    return await working or True


ids = st.integers(0, 6).map(str)
batches = st.lists(st.tuples(ids, st.sampled_from(TYPES)), min_size=1, max_size=6)
moves = st.one_of(
    st.tuples(st.just("send"), st.sampled_from(NAMESPACES), batches),
    st.tuples(st.just("emit"), st.sampled_from(NAMESPACES), st.sampled_from(TYPES)),
    st.tuples(st.just("again"), st.sampled_from([0, 5, 60_000])),
    st.tuples(st.just("dies"), st.integers(0, 4), st.sampled_from(["before", "after"])),
    st.tuples(st.just("rest")),
)


@example(
    [("dies", 1, "before"), ("send", "guest", [("1", "a"), ("1", "b"), ("2", "c")]), ("rest",)]
)
@example([("dies", 0, "after"), ("emit", "guest", "a"), ("send", "guest", [("1", "a")])])
@settings(max_examples=60, deadline=None)
@given(st.lists(moves, max_size=14))
def test_each_is_heard_once_in_order_whatever_happens(schedule):
    async def law():
        one = Law()
        await one.furnish()
        for number, move in enumerate(schedule):
            match move:
                case ("send", namespace, batch):
                    await one.send(namespace, batch)
                case ("emit", namespace, type):
                    await one.emit(namespace, f"emitted-{number}", type)
                case ("again", back_ms):
                    await one.again(back_ms=back_ms)
                case ("dies", at, when):
                    await one.again(at, when)
                case _:
                    await one.while_alive(one.made.settle())
        await one.again()
        await one.made.settle()
        for namespace in NAMESPACES:
            fires = [each for each in one.kept.fires if each[0] == namespace]
            assert fires == one.reference.fires(namespace)
        assert await kept(one.made, "cloudevent") == {}
        marked = await kept(one.made, "heard")
        assert len(marked) == len(one.reference.order)
        assert all(len(doc["fired"]) in {1, 2} for doc in marked.values())
        await one.made.kill()

    anyio.run(law)
