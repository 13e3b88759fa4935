"""Schedules of an embedded engine."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from xingqiao import composer
from xingqiao.actions import ConflictError, InvalidError, NotFoundError
from xingqiao.embedded import embedded

DAILY = {"spec": {"cron": "@daily"}, "do": {"action": "double", "input": {"n": 2}}}


@composer.action
def double(params):
    return {"n": params["n"] * 2}


async def runs(schedule, count):
    """The runs of a schedule, as soon as so many have ended."""
    while True:
        found = (await schedule.describe())["last"]
        if len([run for run in found if run["ended"]]) >= count:
            return found
        await anyio.lowlevel.checkpoint()


async def test_a_schedule_is_created_triggered_filled_back_and_deleted():
    async with embedded(actions=[double]) as engine:
        daily = engine.schedule("daily")
        made = await daily.create(DAILY)
        with pytest.raises(ConflictError):
            await daily.create(DAILY)
        assert (made["status"], made["open"]) == ("active", 0)
        assert await daily.get() == DAILY
        assert (await daily.pause())["status"] == "paused"
        await daily.trigger(overlap="allow_all")
        await daily.backfill("2026-01-01", "2026-01-02")
        found = await runs(daily, 3)
        assert {run["status"] for run in found} == {"succeeded"}
        assert await engine.execution(found[0]["activationId"]).wait() == {"n": 4}
        assert (await daily.resume())["status"] == "active"
        over = await daily.create({**DAILY, "note": "n"}, overwrite=True)
        assert over["note"] == "n"
        for ask in (daily.trigger(overlap="x"), daily.backfill("soon", "2026-01-02")):
            with pytest.raises(InvalidError):
                await ask
        await daily.delete()
        with pytest.raises(NotFoundError):
            await daily.describe()


async def test_a_schedule_goes_on_when_its_directory_is_opened_again(tmp_path):
    async with embedded(tmp_path, actions=[double]) as engine:
        await engine.schedule("daily").create(DAILY)
    async with embedded(tmp_path, actions=[double]) as engine:
        await engine.schedule("daily").trigger()
        (run,) = await runs(engine.schedule("daily"), 1)
        assert run["status"] == "succeeded"
