"""What was under way at a start is counted a page at a time, while the server serves."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, begun
from xingqiao import composer
from xingqiao.actions import ExecutionRow, Query, UnavailableError, Write
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.survivors import PAGE, PAGES_AT_START
from xingqiao.infra.stores import MemoryStore

AT_START = PAGE * PAGES_AT_START
MANY = AT_START + PAGE + 1
MAIN = composer.sequence("a", "a")


class Paged(MemoryStore):
    """Tells the ids of the pages that were read, and holds back those after an id until it may read on."""

    def __init__(self):
        super().__init__()
        self.pages, self.failing = [], 0
        self.may_read_on = asyncio.Event()
        self.may_read_on.set()

    async def standing(self, after="", limit=None, *, of=None):
        if of is None:
            if len(self.pages) >= PAGES_AT_START:
                await self.may_read_on.wait()
            self.pages.append(after)
            if self.failing and len(self.pages) > PAGES_AT_START:
                self.failing -= 1
                raise OSError("slow disk")
        return await super().standing(after, limit, of=of)


async def crowd(store, id, count):
    """Stores copies of an execution, which are older than itself."""
    saved = await store.load(id)
    ids = [f"{n:032x}" for n in range(count)]
    fibers = [row._replace(execution=id) for id in ids for row in saved.fibers]
    history = [
        (id, *lists) for id in ids for lists in await store.history(saved.execution.id, 0, 10)
    ]
    rows = [saved.execution._replace(id=id) for id in ids]
    await store.commit([Write(executions=rows, fibers=fibers, history=history)])
    return ids


async def crowded(count=MANY, main=MAIN, **actions):
    """A store in which so many executions are under way and one more, the newest; and the id of that one."""
    store = Paged()
    made = await begun(store, {"a": HELD})
    await made.put(a=None, **actions)
    await made.put(one=MAIN, main=main)
    one = await made.start("one")
    await made.until(lambda: made.hands.done)
    ids = await crowd(store, one, count - 1)
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == 2)
    await made.kill()
    store.pages.clear()
    return store, [*ids, one], id


def gauge(made, name):
    return made.engine.gauges()[name]


@pytest.mark.parametrize(("count", "left"), [(AT_START - 1, AT_START), (AT_START, AT_START)])
async def test_so_many_are_counted_before_the_server_serves(count, left):
    store, _, _ = await crowded(count)
    store.may_read_on.clear()

    again = await begun(store, {"a": HELD}, paused=True)

    assert gauge(again, "recovery_left") == gauge(again, "live") == left
    assert len(store.pages) == PAGES_AT_START
    store.may_read_on.set()
    await again.engine.recovery.counted()
    assert gauge(again, "recovery_left") == gauge(again, "live") == count + 1
    await again.kill()


async def test_calls_are_answered_before_all_are_counted_and_each_is_counted_once():
    store, _, _ = await crowded()
    store.may_read_on.clear()
    again = await begun(store, {"a": HELD})
    assert gauge(again, "recovery_left") == AT_START
    begun_meanwhile = [await again.start("one") for _ in range(3)]
    await again.until(lambda: len(again.hands.done) == 3)
    assert {call.transaction for call in again.hands.invoked} == set(begun_meanwhile)

    store.may_read_on.set()
    await again.settle()

    assert gauge(again, "live") == MANY + 1 + 3
    assert gauge(again, "recovery_left") == 0
    assert again.engine.counters.recovered == MANY + 1
    assert len({call.activation for call in again.hands.invoked}) == MANY + 1 + 3
    assert len(again.hands.invoked) == MANY + 1 + 3
    await again.kill()


async def test_an_execution_that_begins_and_waits_while_others_are_counted_is_not_recovered():
    store, _, _ = await crowded()
    store.may_read_on.clear()
    again = await begun(store, {"a": HELD})
    await again.put(waits=composer.sequence(composer.wait(3600), "a"))
    id = await again.start("waits")
    await again.until(lambda: id not in again.engine._parts.runs)  # it is in the store only

    store.may_read_on.set()
    await again.settle()

    assert gauge(again, "live") == MANY + 2
    assert gauge(again, "timers") == 1
    assert again.engine.counters.recovered == MANY + 1
    await again.kill()


async def test_a_request_for_an_execution_that_is_not_counted_yet_is_answered_when_it_is():
    store, _, id = await crowded()
    store.may_read_on.clear()
    again = await begun(store, {"a": HELD})
    cancelling = asyncio.ensure_future(again.engine.cancel(GUEST, id))
    for _ in range(20):
        await asyncio.to_thread(lambda: None)
    assert not cancelling.done()

    store.may_read_on.set()
    await cancelling

    assert (await again.engine.records.execution(GUEST, id))["status"] == "cancelled"
    await again.settle()
    assert gauge(again, "live") == MANY
    await again.kill()


async def test_a_family_is_counted_whose_members_are_on_the_last_page():
    store, _, id = await crowded(main=composer.parallel("inner"), inner=MAIN)
    store.may_read_on.clear()
    again = await begun(store, {"a": HELD}, paused=True)
    ending = asyncio.ensure_future(again.engine.endings.terminate_all(id))

    store.may_read_on.set()

    assert await ending == 1
    assert gauge(again, "live") == MANY
    ended = await store.find(ExecutionRow, Query(namespace=GUEST, status="cancelled"))
    assert sorted(row.name for row in ended) == ["inner", "main"]
    await again.kill()


async def test_a_page_that_cannot_be_read_is_read_again():
    store, _, _ = await crowded()
    store.failing = 2

    again = await begun(
        store, {"a": HELD}, settings=EngineSettings(pacing=Pacing(recovery_retry_s=0))
    )
    await again.settle()

    assert again.engine.counters.recovered == MANY + 1
    assert store.failing == 0
    await again.kill()


async def test_a_server_that_stops_before_all_are_counted_says_so_to_those_who_wait():
    store, _, id = await crowded()
    store.may_read_on.clear()
    again = await begun(store, {"a": HELD})
    cancelling = asyncio.ensure_future(again.engine.cancel(GUEST, id))
    await asyncio.to_thread(lambda: None)

    again.engine.recovery.stop()
    store.may_read_on.set()

    with pytest.raises(UnavailableError, match="The server stops"):
        await cancelling
    await again.kill()
    assert again.hands.invoked == []
    third = await begun(store, {"a": HELD})
    await third.settle()
    assert third.engine.counters.recovered == MANY + 1
    await third.kill()


async def test_damaged_rows_are_counted_too():
    store, ids, _ = await crowded(count=3)
    saved = await store.load(ids[0])
    await store.commit([Write(executions=[saved.execution._replace(body=b"{")])])

    again = await begun(store, {"a": HELD}, paused=True)

    assert gauge(again, "live") == 4
    await again.kill()
