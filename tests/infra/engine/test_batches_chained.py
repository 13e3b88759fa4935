"""Batches take a chain of runs for one execution, also one that continues meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.engine.batching import (
    counts,
    create,
    furnished,
    started,
    statuses,
    time_passes,
)
from tests.kit.engine.engines import GUEST, DyingStore
from tests.kit.engine.mail import tell, undelivered
from xingqiao import composer
from xingqiao.actions import NotFoundError
from xingqiao.composer import continue_as_new, path, receive
from xingqiao.infra.stores import MemoryStore, SqliteStore

LOOPS = composer.sequence(receive("go"), continue_as_new({}))
OPEN = "action = 'loops' and status = 'running'"


async def looping(store=None, *, clock=None):
    made = await furnished(store, clock=clock)
    await made.put(loops=LOOPS)
    return made


@pytest.fixture
async def made():
    made = await looping()
    yield made
    await made.kill()


async def goes_on(made, id, times=1):
    """The chain of a run continues so many times. Returns its newest run."""
    for _ in range(times):
        await tell(made, id, "go")
        await made.settle()
        made.clock.ms += 1
    return await made.engine.chains.newest(id)


def meanwhile(part, method, does):
    """Has a part of the engine do something before its method is called for the first time."""
    operation, waits = getattr(part, method), [does]

    async def first(*args, **options):
        if waits:
            await waits.pop()()
        return await operation(*args, **options)

    setattr(part, method, first)


async def test_an_operation_is_carried_out_once_for_a_chain(made):
    (id,) = await started(made, "loops", 1)
    newest = await goes_on(made, id, 3)

    batch = await create(made, "tell", "action = 'loops'", **{"with": {"name": "hi"}})

    assert await counts(made, batch) == (1, 0, 0, 0)
    assert len(await undelivered(made, newest)) == 1
    assert (await made.engine.batches.get(GUEST, batch))["matched"] == 1
    assert await made.engine.batches.count(
        GUEST, {"do": "cancel", "where": "action = 'loops'"}
    ) == {"matched": 1}


async def test_each_run_of_a_chain_that_has_ended_is_deleted(made):
    (id,) = await started(made, "loops", 1)
    newest = await goes_on(made, id, 2)
    where = {"do": "delete", "where": "action = 'loops'"}

    batch = await create(made, **where)
    assert await counts(made, batch) == (0, 3, 0, 0)
    await made.engine.cancel(GUEST, newest)
    await made.settle()

    assert await made.engine.batches.count(GUEST, where) == {"matched": 3}
    assert await counts(made, await create(made, **where)) == (3, 0, 0, 0)


@pytest.mark.parametrize(
    ("do", "where", "ends"),
    [("terminate", OPEN, "cancelled"), ("pause", "action = 'loops'", "paused")],
)
async def test_a_chain_that_continues_behind_its_place_on_the_page_has_its_turn(
    made, do, where, ends
):
    first, second = await started(made, "loops", 2)

    async def both_go_on():
        for id in (first, second):
            await goes_on(made, id, 2)

    items = made.engine.batches._items
    part, method = (made.engine.pauses, "pause") if do == "pause" else (items, "cancel")
    meanwhile(part, method, both_go_on)

    batch = await create(made, do, where)

    assert await counts(made, batch) == (2, 0, 0, 0)
    newest = [await made.engine.chains.newest(id) for id in (first, second)]
    assert await statuses(made, newest) == [ends, ends]


@pytest.mark.parametrize("durable", [False, True])
async def test_a_chain_that_continues_before_its_page_has_its_turn_once(durable, tmp_path):
    async with AsyncExitStack() as stack:
        opened = SqliteStore(tmp_path / "chains.db")
        made = await looping(await stack.enter_async_context(opened) if durable else None)
        ids = await started(made, "loops", 3)
        made.clock.ms += 10
        batch = await create(made, "pause", OPEN, per_second=0.1)  # a page has one execution
        await made.settle()
        await goes_on(made, ids[0], 2)
        await goes_on(made, ids[1], 3)

        passing = asyncio.ensure_future(time_passes(made))
        assert await counts(made, batch) == (3, 0, 0, 0)
        passing.cancel()
        newest = [await made.engine.chains.newest(id) for id in ids]
        assert await statuses(made, newest) == ["paused"] * 3
        assert newest[2] == ids[2], "its turn was first"
        await made.kill()


async def test_a_chain_whose_newest_run_does_not_fit_is_left_alone(made):
    await made.put(
        ends=composer.when(path("$.last").exists(), "a", composer.sequence(receive("go"), continue_as_new({"last": 1})))
    )  # fmt: skip
    _, other = await started(made, "ends", 2)
    fits = await started(made, "loops", 1)
    made.clock.ms += 10

    async def others_end():
        for row in await made.executions():
            if row.name == "ends":
                await goes_on(made, row.id)

    meanwhile(made.engine.pauses, "pause", others_end)

    batch = await create(made, "pause", "status = 'running' and action in ('loops', 'ends')")

    assert await counts(made, batch) == (1, 0, 2, 0)
    assert await statuses(made, [*fits, other]) == ["paused", "continued"]


async def test_the_newest_run_is_reset(made):
    await made.put(
        chain=composer.when(path("$.last").exists(), composer.sequence(receive("end")), composer.sequence(receive("go"), continue_as_new({"last": 1})))
    )  # fmt: skip
    waits, id = await started(made, "chain", 2)
    made.clock.ms += 10

    async def the_other_goes_on():
        await goes_on(made, waits)

    meanwhile(made.engine.resets, "reset", the_other_goes_on)

    batch = await create(made, "reset", "action = 'chain'", **{"with": {"to": "first"}})

    assert await counts(made, batch) == (2, 0, 0, 0)
    assert await statuses(made, [waits, id]) == ["continued", "cancelled"]


async def test_a_chain_that_is_deleted_meanwhile_is_gone(made):
    first, second = await started(made, "loops", 2)

    async def one_goes():
        raise NotFoundError

    meanwhile(made.engine.pauses, "pause", one_goes)

    assert await counts(made, await create(made, "pause", OPEN)) == (1, 0, 0, 1)
    assert await statuses(made, [first, second]) == ["paused", "running"]


@given(
    before=st.lists(st.integers(0, 2), min_size=1, max_size=4),
    meantime=st.lists(st.integers(0, 2), min_size=4, max_size=4),
)
def test_each_chain_has_its_turn_once_however_often_it_continues(before, meantime):
    async def law():
        made = await looping()
        ids = await started(made, "loops", len(before))
        for id, times in zip(ids, before, strict=True):
            await goes_on(made, id, times)
        made.clock.ms += 1
        tells = made.engine.messages.tell
        left = [*zip(ids, meantime[: len(ids)], strict=True)]

        async def while_it_tells(*args, **options):
            while left:
                id, times = left.pop()
                for _ in range(times):
                    await tells(GUEST, id, "go", None, "")
                    await made.settle()
            return await tells(*args, **options)

        made.engine.batches._items.messages.tell = while_it_tells
        batch = await create(made, "tell", OPEN, **{"with": {"name": "hi"}})
        assert await counts(made, batch) == (len(ids), 0, 0, 0)
        made.engine.batches._items.messages.tell = tells
        for id in ids:
            assert await undelivered(made, id) == [None]
        await made.kill()

    asyncio.run(law())


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_any_commit_tells_a_chain_once(when):
    at, died = 0, True
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await looping(store)
        ids = await started(made, "loops", 2)
        await goes_on(made, ids[0])
        store.armed = True

        async def drive(made=made, ids=ids):
            batch = await create(made, "tell", OPEN, id="once", **{"with": {"name": "hi"}})
            await goes_on(made, ids[1])
            await counts(made, batch)

        driving = asyncio.ensure_future(drive())
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait({driving, dead}, return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (driving, dead):
            task.cancel()
        await asyncio.wait({driving, dead})
        await made.kill()

        again = await looping(kept, clock=made.clock)
        await again.settle()
        batches = [row.id for row in await again.executions() if row.name == "xingqiao.batch"]
        for batch in batches:
            assert (await counts(again, batch))[0] == 2
        for id in ids:
            assert await undelivered(again, id) == [None] * len(batches)
        await again.kill()
        at += 1
    assert at >= 3
