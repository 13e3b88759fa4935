"""After a start: what is late is taken up beside what is due, each namespace's in turn."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson

from tests.kit.engine.engines import CODE, GUEST, HELD, begun
from tests.kit.engine.infra_clock import FastClock
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import (
    TAIL_LISTS,
    Action,
    Call,
    Change,
    Document,
    ExecutionRow,
    Query,
    Rule,
    Schedule,
    Trigger,
    Write,
)
from xingqiao.composer import Name, Sleeping
from xingqiao.infra.engine import EngineSettings, Pacing, recovery, visits
from xingqiao.infra.engine.programs import PROGRAM
from xingqiao.infra.service.feed_records import SCHEDULE, FeedRecords
from xingqiao.infra.service.feeds import Feeds
from xingqiao.infra.service.system import system_entities
from xingqiao.infra.stores import MemoryStore, StoreError

LATE = 300
MAIN = composer.sequence("a", "a")


class Tallying(MemoryStore):
    """Knows what has been read by now, and by when a trigger fires; can fail to read, and hold back."""

    def __init__(self):
        super().__init__()
        self.loaded, self.alone, self.broken, self.fired = [], [], set(), None
        self.reading = lambda of: None
        self.holding = asyncio.Event()
        self.holding.set()

    async def commit(self, writes):
        if any(row.kind == "trigger" for write in writes for row in write.activations):
            self.fired = len(self.loaded)
        return await super().commit(writes)

    async def standing(self, after="", limit=None, *, of=None):
        standing = await super().standing(after, limit, of=of)
        if of is None:
            return standing
        self.reading(of)
        self.loaded += of
        await self.holding.wait()
        sound = [saved for saved in standing.saved if saved.execution.id not in self.broken]
        return replace(standing, saved=sound)

    async def load(self, execution):
        self.alone.append(execution)
        if execution in self.broken:
            self.broken.discard(execution)
            raise OSError("slow disk")
        return await super().load(execution)


async def of(made, namespace, count, composition=MAIN):
    """Starts so many executions in a namespace; their first step is held."""
    name = Name(namespace, None, "main")
    document = {"exec": {"kind": "composition", "composition": composition.to_json()}}
    await made.engine.registry.put(Action, Name(namespace, None, "a"), CODE, overwrite=True)
    await made.engine.registry.put(Action, name, document, overwrite=True)
    call = Call(name=name, params={}, namespace=namespace)
    return [(await made.engine.invoke(call)).activation for _ in range(count)]


async def test_each_namespace_is_recovered_in_turn():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    many = await of(made, GUEST, LATE)
    few = await of(made, "other", 3)
    await made.until(lambda: len(made.hands.done) == LATE + 3)
    await made.settle()
    await made.kill()
    store.loaded.clear()

    again = await begun(store, {"a": HELD})
    await again.settle()

    taken = [id for id in store.loaded if id in {*many, *few}]
    assert max(taken.index(id) for id in few) <= 6
    assert len(taken) == LATE + 3
    assert again.engine.gauges()["recovery_left"] == 0
    assert again.engine.counters.recovered == LATE + 3
    await again.kill()


async def test_a_call_is_answered_before_all_is_recovered():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    await of(made, GUEST, LATE)
    await made.until(lambda: len(made.hands.done) == LATE)
    await made.kill()

    again = await begun(store, {"a": {"n": 1}})
    assert again.engine.gauges()["recovery_left"] == LATE
    call = Call(name=Name(GUEST, None, "a"), params={}, namespace=GUEST)
    answered = await again.engine.invoke(call, wait_s=20)

    assert answered.ended.outcome.value == {"n": 1}
    assert again.engine.gauges()["recovery_left"] > 0
    await again.settle()
    await again.until(lambda: again.engine.gauges()["live"] == 0)
    await again.kill()


async def test_an_alarm_that_is_due_goes_before_what_is_late():
    clock, store = FastClock(), Tallying()
    made = await begun(store, {"a": HELD}, clock=clock)
    for entity in system_entities(clock):
        made.engine.catalog.apply(Change(entity, (entity,)))
    await of(made, GUEST, LATE)
    trigger = Name(GUEST, None, "t")
    await made.engine.registry.put(Trigger, trigger, {}, overwrite=False)
    rule = {"trigger": "/_/t", "action": "/_/a"}
    await made.engine.registry.put(Rule, Name(GUEST, None, "r"), rule, overwrite=False)
    await made.until(lambda: len(made.hands.done) == LATE)
    due = Schedule(feed="once", params={"date": "2026-01-01"}, due_ms=clock.now_ms())
    await made.engine.commit(_schedule(trigger, due))
    await made.settle()
    await made.kill()

    again = await begun(store, {"a": {"n": 1}}, clock=clock)
    async with Feeds(FeedRecords(store), again.engine, clock) as feeds:
        await feeds.begin()
        await again.until(lambda: store.fired is not None)
        feeds.end()

    assert store.fired < LATE
    await again.settle()
    await again.kill()


def _schedule(trigger, schedule):
    body = orjson.dumps(schedule.to_json())
    return Write(documents=[Document(kind=SCHEDULE, key=str(trigger), body=body)])


class Slow(MemoryStore):
    """Holds back the next reading of a program, and the next loading of one execution."""

    def __init__(self):
        super().__init__()
        self.program, self.execution, self.holding = (
            asyncio.Event(),
            asyncio.Event(),
            asyncio.Event(),
        )
        self.program.set()
        self.slow = ""

    async def documents(self, kind, *arguments, **options):
        if kind == PROGRAM and not self.program.is_set():
            self.holding.set()
            await self.program.wait()
        async for document in super().documents(kind, *arguments, **options):
            yield document

    async def load(self, execution):
        if execution == self.slow:
            await self.execution.wait()
        return await super().load(execution)


async def test_a_child_that_is_looked_at_while_the_server_resumes_finds_its_parent():
    store = Slow()
    made = await begun(store, {"a": HELD})
    await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)
    await made.settle()
    await made.kill()
    child = next(row.id for row in await store.find(*_all()) if row.id != id)

    again = await begun(store, {"a": {"n": 1}}, paused=True)
    store.program.clear()
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(again.engine.recovery.found(child))
        await store.holding.wait()
        store.slow = id
        again.engine.recovery.begin()
        store.program.set()
        for _ in range(50):
            await asyncio.to_thread(lambda: None)
        store.execution.set()

    assert await again.result(id) == {"n": 1}
    await again.settle()
    assert looking.done()
    assert again.hands.names == ["a"]
    assert again.engine.gauges()["live"] == 0
    await again.kill()


async def test_a_child_that_ends_at_once_finds_its_parent_whichever_is_loaded_first():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    await made.put(a=None, inner=composer.sequence("a"), outer=composer.sequence("inner"))
    await made.put(main=composer.parallel("outer", "outer"))
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == 2)
    await made.settle()
    await made.kill()
    rows = await store.find(*_all())
    deepest = [row.id for row in rows if row.name == "inner"]

    again = await begun(store, {"a": {"n": 1}}, paused=True)
    again.engine.recovery.begin()
    found = await asyncio.gather(*(again.engine.recovery.found(id) for id in deepest))

    assert all(found)
    assert await again.result(id) == {"value": [{"n": 1}] * 2}
    assert again.hands.names == ["a", "a"]
    await again.kill()


def _all():
    return ExecutionRow, Query(namespace=GUEST, limit=100)


def retrying(seconds):
    return EngineSettings(pacing=Pacing(recovery_retry_s=seconds))


async def test_what_cannot_be_loaded_is_tried_again():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    (id,) = await of(made, GUEST, 1)
    await made.until(lambda: made.hands.done)
    await made.kill()
    store.broken.add(id)

    again = await begun(store, {"a": {"n": 1}}, settings=retrying(0))

    assert await again.result(id) == {"n": 1}
    await again.kill()


async def test_a_server_that_waits_to_load_something_again_stops_at_once():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    (id,) = await of(made, GUEST, 1)
    await made.until(lambda: made.hands.done)
    await made.kill()
    store.broken.add(id)

    again = await begun(store, {"a": {"n": 1}}, settings=retrying(3600))
    await again.until(lambda: not store.broken)
    async with asyncio.timeout(60):
        await again.engine.__aexit__(None, None, None)

    assert again.hands.invoked == []


async def test_what_is_damaged_keeps_no_visitor_busy():
    """Executions that cannot be loaded are tried again later; others are visited meanwhile."""
    store = Stuck()
    made = await begun(store, {"a": HELD})
    ids = await of(made, GUEST, 2 * visits.VISITORS)
    await made.until(lambda: len(made.hands.done) == len(ids))
    await made.kill()
    again = await begun(store, {"a": HELD}, paused=True)
    *store.stuck, well = ids
    seen = []
    for id in store.stuck:
        again.engine.recovery.visit(id, seen.append)

    again.engine.recovery.visit(well, seen.append)
    await again.until(lambda: seen)

    assert [run.id for run in seen] == [well]
    await again.until(lambda: not again.engine.recovery._visits._visitors)
    await again.kill()


class Stuck(MemoryStore):
    """Can never load some executions."""

    stuck = ()

    async def standing(self, after="", limit=None, *, of=None):
        return await super().standing(after, limit, of=of and [*{*of} - {*self.stuck}])

    async def load(self, execution):
        if execution in self.stuck:
            raise StoreError("the row is damaged")
        return await super().load(execution)


async def test_timers_that_were_due_before_the_start_are_late_too():
    store, clock = Tallying(), FastClock()
    made = await begun(store, {}, clock=clock)
    waits = composer.sequence(composer.wait(0.001))
    made.engine._timers.stop()
    ids = await of(made, GUEST, 20, waits)
    made.engine._timers.stop()
    await made.kill()

    again = await begun(store, {}, clock=clock)

    for id in ids:
        assert await again.result(id) == {}
    await again.settle()
    assert again.engine.gauges()["recovery_left"] == again.engine.gauges()["live"] == 0
    await again.kill()


async def started(store, count, composition=MAIN):
    """So many executions in a store whose server has died; their first step is held."""
    made = await begun(store, {"a": HELD})
    ids = await of(made, GUEST, count, composition)
    await made.until(lambda: len(made.hands.done) == count)
    await made.settle()
    await made.kill()
    return ids


async def test_what_was_under_way_longest_is_recovered_first_and_read_in_parts():
    store = Tallying()
    ids = await started(store, recovery.PART + 1)
    parts = []
    store.reading = parts.append

    again = await begun(store, {"a": HELD})
    await again.settle()

    assert parts == [sorted(ids)[: recovery.PART], sorted(ids)[recovery.PART :]]
    assert [call.transaction for call in again.hands.invoked] == sorted(ids)
    assert store.alone == []
    await again.kill()


async def test_what_cannot_be_read_together_is_loaded_alone():
    store = Tallying()
    ids = await started(store, 3)

    def fails(_):
        raise OSError("slow disk")

    store.reading = fails
    again = await begun(store, {"a": {"n": 1}})

    for id in ids:
        assert await again.result(id) == {"n": 1}
    assert sorted(store.alone)[:3] == sorted(ids)
    await again.kill()


async def test_what_is_ended_while_it_is_read_does_not_go_on():
    store = Tallying()
    one, other = await started(store, 2)
    store.holding.clear()
    again = await begun(store, {"a": HELD})
    await again.until(lambda: store.loaded)

    await again.engine.cancel(GUEST, one)  # it is recovered at once, and ends
    await again.until(lambda: one not in again.engine._parts.runs)
    store.holding.set()
    await again.settle()

    assert [call.transaction for call in again.hands.invoked if call.transaction == other] == [
        other
    ]
    assert (await again.engine.records.execution(GUEST, one))["status"] == "cancelled"
    assert again.engine.gauges()["live"] == 1
    assert again.engine.counters.recovered == 2
    await again.kill()


async def test_what_waits_again_after_it_was_read_is_not_taken_for_what_it_was():
    """An execution goes on and leaves memory while its old rows are on their way."""
    store, clock = Tallying(), FastClock()
    waits = composer.sequence("a", composer.wait(3600), "a")
    (id,) = await started(store, 1, waits)
    store.holding.clear()
    again = await begun(store, {"a": {"n": 1}}, clock=clock)
    await again.until(lambda: store.loaded)

    assert await again.engine.recovery.found(id) is not None
    await again.until(lambda: id not in again.engine._parts.runs)  # it waits for an hour
    store.holding.set()
    await again.settle()

    assert again.hands.names == ["a"]
    assert again.engine.gauges()["timers"] == 1
    (fiber,) = (await again.engine.recovery.found(id)).execution.fibers.values()
    assert isinstance(fiber.wait, Sleeping)
    await again.kill()


async def test_timers_that_were_due_are_in_turn_with_executions():
    store = Tallying()
    made = await begun(store, {"a": HELD})
    await of(made, GUEST, recovery.PART)
    due = await of(made, GUEST, 3, composer.sequence(composer.wait(60)))
    await made.until(lambda: len(made.hands.done) == recovery.PART)
    await made.settle()

    again = await restarted(made, 61)
    await again.settle()

    assert sorted(store.loaded.index(id) for id in due) == [0, 2, 4]
    for id in due:
        assert await again.result(id) == {}
    await again.kill()


async def test_a_history_longer_than_its_tail_is_read_to_its_end():
    store = MemoryStore()
    made = await begun(store, {"a": HELD})
    count = TAIL_LISTS + 8
    await made.put(a=None, main=composer.parallel(*[composer.sequence("a", "a")] * count))
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == count)
    for activation in list(made.hands.done):
        made.hands.finish(activation, {"n": 1})
        await made.settle()  # a commit and a list of entries each
    await made.kill()
    (saved,) = (await store.standing(of=[id])).saved
    assert len(saved.tail) == TAIL_LISTS

    again = await begun(store, {"a": {"n": 2}})

    assert await again.result(id) == {"value": [{"n": 2}] * count}
    assert again.hands.names == ["a"] * count
    await again.kill()
