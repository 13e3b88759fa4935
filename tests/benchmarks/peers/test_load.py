"""The load: warm, checked, and for a time."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.peers.load import WARM_UP, WrongResultError, measure, run_for
from benchmarks.peers.work import KIBIBYTE, ONE_STEP, Load, Recovery, Work

FIVE = Work(shape="sequence", n=5)
WIDE = Work(shape="fanout", n=3)


async def test_a_system_is_warmed_up_and_asked_once_before_it_is_measured():
    asked = []

    async def ask(work):
        asked.append(work)
        return work.expected

    figures = await measure(ask, Load(work=FIVE, concurrency=2, seconds=0.001))

    assert asked[:WARM_UP] == [ONE_STEP] * WARM_UP
    assert set(asked[WARM_UP:]) == {FIVE}
    assert figures["executions"] == len(asked) - WARM_UP - 1
    assert figures["executions"] >= 2
    assert 0 <= figures["p50_ms"] <= figures["p99_ms"]


async def test_a_wrong_result_is_no_figure():
    async def ask(work):
        return work.expected if work == ONE_STEP else [{}]

    with pytest.raises(WrongResultError, match=r"fanout-3: the result is \[\{\}\]"):
        await measure(ask, Load(work=WIDE, concurrency=1, seconds=1))


async def test_a_list_may_come_in_an_object():
    async def ask(work):
        return {"value": work.expected}

    assert await measure(ask, Load(work=WIDE, concurrency=1, seconds=0.001))


async def test_a_slow_system_runs_each_once_and_its_end_counts():
    """The time is over before the first has ended: all that have begun are waited for."""
    under_way, most, gate = 0, 0, asyncio.Event()

    async def once():
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 4:
            gate.set()
        await gate.wait()

    took, seconds = await run_for(once, 4, 1e-9)

    assert (len(took), most) == (4, 4)
    assert seconds * 1000 >= max(took)


def test_what_a_program_is_told_is_what_was_meant():
    load = Load(
        work=Work(shape="sequence", n=5, text_bytes=KIBIBYTE), concurrency=2, seconds=0.5
    )  # fmt: skip

    assert Load.from_json(load.to_json()) == load
    assert Recovery(**Recovery(marks="m").to_json()) == Recovery(marks="m")


def test_payloads_and_results():
    large = Work(shape="sequence", n=5, text_bytes=KIBIBYTE)

    assert len(large.payload["text"]) == KIBIBYTE
    assert large.expected == large.payload
    assert WIDE.expected == [WIDE.payload] * 3
