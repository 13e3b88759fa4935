"""Transactions of one store on the real engine, in random order, with an engine that dies at any commit.

Each number below is a seed; a failing one replays as far as the event loop allows.
"""

from __future__ import annotations

import os

import pytest

from tests.kit.engine.engines import Hands, PromptHands
from tests.kit.faults.checker import check_lists
from tests.kit.faults.schedules import Schedule, protocol
from xingqiao.transactions.locks import Lock

pytestmark = pytest.mark.no_cover

MORE = int(os.environ.get("MORE", "1"))  # times as many schedules: nightly


async def wrong(schedule):
    """What is wrong with the history of a schedule, or with what it leaves."""
    history = await schedule.run()
    found = [*check_lists(history), *await schedule.locked()]
    committed = sum(txn.status == "committed" for txn in history)
    await schedule.world.kill()
    return found, committed


@pytest.mark.parametrize("hands", [Hands, PromptHands])
@pytest.mark.parametrize("seed", range(15 * MORE))
async def test_histories_are_serializable_in_real_time(seed, hands):
    found, committed = await wrong(Schedule(seed, hands=hands))

    assert found == []
    assert committed > 5


@pytest.mark.parametrize("hands", [Hands, PromptHands])
@pytest.mark.parametrize("seed", range(20 * MORE))
async def test_histories_are_serializable_though_the_engine_dies_twice(seed, hands):
    found, _ = await wrong(Schedule(1_000 + seed, deaths=2, hands=hands))

    assert found == []


@pytest.mark.parametrize("seed", range(10 * MORE))
async def test_so_are_those_of_the_protocol(seed):
    found, _ = await wrong(Schedule(2_000 + seed, deaths=1, settings=protocol()))

    assert found == []


async def test_without_locks_it_is_seen(monkeypatch):
    def everybody(lock, claim):
        lock.take(claim)
        return "granted"

    monkeypatch.setattr(Lock, "ask", everybody)

    seen = []
    for seed in range(12):
        found, _ = await wrong(Schedule(seed))
        seen += found
    assert seen
