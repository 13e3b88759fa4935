"""Executions are ended with all they have started, also while nothing runs, and after a crash."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from xingqiao import composer
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore, StoreError

INNER = composer.do(composer.ensure("a", "finalizer"), "sorry")
MAIN = composer.sequence(
    composer.asynchronous("inner"), composer.parallel("inner", composer.sequence("inner", "b"))
)
HOUR = composer.sequence(composer.wait(3600), "inner")


async def deploy(made, main=MAIN):
    await made.put(a=None, b=None, finalizer=None, sorry=None, inner=INNER, main=main)


async def statuses(made):
    return {row.status for row in await made.executions()}


async def test_all_below_an_execution_ends_with_it_and_nobody_hears_of_it():
    async with world(answers={"a": HELD}) as made:
        await deploy(made)
        id = await made.start("main")
        await made.until(lambda: len(made.hands.done) == 3)

        await made.engine.cancel(GUEST, id, terminate=True)
        await made.engine.endings.done()

        assert await statuses(made) == {"cancelled"}
        assert len(await made.executions()) == 5  # itself, what is beside it, and three in those
        assert made.hands.names == ["a"] * 3  # no finalizer, no handler, nothing that comes after
        assert len(made.hands.cancelled) == 3
        assert made.engine.gauges()["live"] == 0


async def test_what_an_execution_has_left_behind_can_be_ended_after_it():
    async with world(answers={"a": HELD, "b": {}}) as made:
        await deploy(made, composer.sequence(composer.asynchronous("inner"), "b"))
        id = await made.start("main")
        await made.result(id)
        await made.until(lambda: made.hands.done)

        await made.engine.cancel(GUEST, id, terminate=True)
        await made.engine.endings.done()

        assert made.engine.gauges()["live"] == 0
        with pytest.raises(ConflictError, match="has ended"):
            await made.engine.cancel(GUEST, id, terminate=True)
        with pytest.raises(NotFoundError):
            await made.engine.cancel("other", id, terminate=True)


async def stood_still(main=MAIN, steps=3, store=None):
    """A store whose server has died while steps were under way, and the execution they are of."""
    store = store or MemoryStore()
    made = await begun(store, {"a": HELD})
    await deploy(made, main)
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == steps)
    await made.settle()
    await made.kill()
    return store, id


async def test_nothing_goes_on_while_an_engine_is_paused():
    store, id = await stood_still()
    paused = await begun(store, {"a": {}, "b": {}, "finalizer": {}}, paused=True)

    found = await paused.engine.records.execution(GUEST, id)
    await paused.engine._tick.settled()

    assert found["status"] == "running"
    assert paused.hands.invoked == []
    assert paused.engine.gauges()["recovery_left"] == 5
    paused.engine.recovery.begin()
    await paused.result(id)
    assert paused.hands.names.count("a") == 3
    await paused.settle()
    assert paused.engine.gauges()["recovery_left"] == paused.engine.gauges()["live"] == 0
    await paused.kill()


async def test_executions_are_ended_while_an_engine_is_paused_and_their_steps_with_a_record():
    store, id = await stood_still()
    paused = await begun(store, paused=True)
    child = next(row.id for row in await paused.executions() if row.id != id)

    with pytest.raises(ConflictError, match=f"is a part of {id}"):
        await paused.engine.cancel(GUEST, child, terminate=True)
    assert await paused.engine.endings.terminate_all(id) == 4

    assert await statuses(paused) == {"cancelled"}
    assert paused.hands.invoked == []
    records = [row.name for row in await paused.activations()]
    assert sorted(records) == ["a"] * 3 + ["inner"] * 3 + ["main"] * 2
    assert not (await store.standing()).active
    await paused.kill()


async def test_what_was_looked_at_while_an_engine_was_paused_goes_on_like_all_else():
    store, id = await stood_still()
    paused = await begun(store, {"a": {}, "b": {}, "finalizer": {}}, paused=True)
    assert await paused.engine.recovery.found(id) is not None
    counted = paused.engine.gauges()["live"]

    paused.engine.recovery.begin()
    await paused.result(id)
    await paused.settle()

    assert counted == 5 + 2  # its branches are known since it was looked at
    assert paused.engine.gauges()["live"] == 0
    await paused.kill()


async def test_an_execution_that_only_waits_is_ended_too():
    store, id = await stood_still(HOUR, steps=0)
    paused = await begun(store, paused=True)

    assert await paused.engine.endings.terminate_all(id) == 0

    assert await statuses(paused) == {"cancelled"}
    with pytest.raises(NotFoundError, match="There is no execution"):
        await paused.engine.endings.terminate_all("0" * 32)
    await paused.kill()


@pytest.mark.parametrize("terminate", [True, False])
async def test_children_of_an_execution_whose_end_was_the_last_that_was_committed_end_too(
    terminate,
):
    kept = MemoryStore()
    store = DyingStore(kept, 0, "after")
    made = await begun(store, {"a": HELD})
    await deploy(made, composer.sequence("inner"))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)
    await made.settle()
    store.armed = True
    asking = asyncio.ensure_future(made.engine.cancel(GUEST, id, terminate=terminate))
    await store.dead.wait()
    await made.kill()
    asking.cancel()

    again = await begun(kept, {"finalizer": {}})
    await again.until(lambda: again.engine.gauges()["live"] == 0)
    await again.settle()

    assert await statuses(again) == {"cancelled"}
    assert again.hands.names == ([] if terminate else ["finalizer"])
    await again.kill()


async def test_nothing_is_started_below_an_execution_that_was_ended():
    many = composer.map("inner", items=composer.path("$.items"))
    async with world(answers={"a": HELD}) as made:
        await deploy(made, many)
        id = await made.start("main", {"items": [{}] * 200})
        await made.until(lambda: made.hands.done)
        begun_by_then = made.engine.counters.started

        await made.engine.cancel(GUEST, id, terminate=True)
        await made.engine.endings.done()

        assert made.engine.counters.started <= begun_by_then + 64
        assert made.engine.gauges()["live"] == 0


class Unreadable(MemoryStore):
    """Fails to load some executions, once each."""

    def __init__(self):
        super().__init__()
        self.failing = set()

    async def standing(self, after="", limit=None, *, of=None):
        return await super().standing(after, limit, of=of and [*{*of} - self.failing])

    async def load(self, execution):
        if execution in self.failing:
            self.failing.discard(execution)
            raise StoreError("the disk does not answer")
        return await super().load(execution)


async def test_what_cannot_be_read_just_now_is_ended_all_the_same():
    at_once = EngineSettings(pacing=Pacing(visit_retry_s=0))
    store, id = await stood_still(store=Unreadable())
    again = await begun(store, {"a": HELD}, paused=True, settings=at_once)
    assert await again.engine.recovery.found(id) is not None
    store.failing = {row.id for row in await again.executions() if row.id != id}

    await again.engine.cancel(GUEST, id, terminate=True)
    await again.until(lambda: again.engine.gauges()["live"] == 0)
    await again.engine.endings.done()

    assert await statuses(again) == {"cancelled"}
    assert store.failing == set()
    await again.kill()
