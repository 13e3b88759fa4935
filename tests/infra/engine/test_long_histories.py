"""A history has a limit, on both sides of a restart: a warning at a fifth of it, and an end."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import DyingStore, begun, world
from xingqiao import composer
from xingqiao.composer import Limits
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.stores import MemoryStore

SETTINGS = EngineSettings(limits=Limits(entries=20))
ANSWERS = {"a": {"n": 1}, "b": {"n": 2}}
FITS = 9  # steps of two entries, beside the start and the warning


async def put(made):
    await made.put(
        a=None,
        b=None,
        fits=composer.sequence(*["a"] * FITS),
        beyond=composer.ensure(composer.sequence(*["a"] * (FITS + 1)), "b"),
    )


async def kinds(made, id):
    found = await made.engine.records.history("guest", id, after=0, limit=1000)
    return [entry["type"] for entry in found]


async def test_a_history_may_have_so_many_entries():
    async with world(answers=dict(ANSWERS), settings=SETTINGS) as made:
        await put(made)
        id = await made.start("fits")

        assert await made.result(id) == {"n": 1}
        assert (await kinds(made, id)).count("HistoryLong") == 1


async def test_one_more_step_fails_and_the_finalizer_runs():
    async with world(answers=dict(ANSWERS), settings=SETTINGS) as made:
        await put(made)
        id = await made.start("beyond")

        assert (await made.result(id))["error"]["code"] == "LimitExceeded"
        assert made.hands.names == ["a"] * FITS + ["b"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(FITS + 1))
async def test_it_ends_the_same_when_the_process_dies_at_any_commit(at, when):
    store = MemoryStore()
    dying = DyingStore(store, at, when)
    made = await begun(dying, dict(ANSWERS), settings=SETTINGS)
    await put(made)
    id = await made.start("beyond")
    dying.armed = True
    await made.until(dying.dead.is_set)
    await made.kill()

    async with world(store, dict(ANSWERS), settings=SETTINGS) as again:
        assert (await again.result(id))["error"]["code"] == "LimitExceeded"
        found = await kinds(again, id)
        assert found.count("HistoryLong") == 1
        assert found.count("StepSucceeded") == FITS + 1


async def test_a_redrive_goes_on_once_the_limit_is_higher():
    store = MemoryStore()
    async with world(store, dict(ANSWERS), settings=SETTINGS) as made:
        await made.put(a=None, main=composer.sequence(*["a"] * (FITS + 4)))
        id = await made.start("main")
        assert (await made.result(id))["error"]["code"] == "LimitExceeded"

        await made.engine.redrive("guest", id)
        assert await made.engine.wait("guest", id, 20)
        assert (await made.engine.records.execution("guest", id))["status"] == "failed"

    async with world(store, dict(ANSWERS)) as higher:
        await higher.engine.redrive("guest", id)
        assert await higher.engine.wait("guest", id, 20)

        assert await higher.result(id) == {"n": 1}
        assert (await higher.engine.records.execution("guest", id))["status"] == "succeeded"
