"""Schedules that are all due in the same second: how late each of their runs starts, and ends."""

from __future__ import annotations

import asyncio
import tempfile
import time
from typing import TYPE_CHECKING, Any

from xingqiao.infra.service import embedded

from .engine import nothing
from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xingqiao.infra.service import Embedded

CREATING = 500  # at a time
AHEAD_S = 3.0  # from the last creation to the time that all wait for
CREATED_S = 0.002  # that a creation may take


def schedules(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Has 10,000 schedules due in the same second."""
    yield _due_together(floor, max(100, int(10_000 * scale)))


async def _due_together(floor: dict[str, float], n: int) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        async with embedded(directory, actions=[nothing]) as engine:
            due_s = int(time.time() + AHEAD_S + n * CREATED_S)
            creation_s = await _created(engine, n, due_s)
            assert time.time() < due_s, "they were not created in time"
            started, ended = await _met(engine, n, due_s)
    last_s = max(ended)
    return Figure(
        workload="schedules due together", runtime="inline", n=n, concurrency=n,
        p50_ms=percentile(started, 0.5) * 1000, p99_ms=percentile(started, 0.99) * 1000,
        steps_per_s=n / last_s, executions_per_s=n / max(started), floor=floor,
        more={
            "last_started_s": round(max(started), 2), "last_ended_s": round(last_s, 2),
            "created_per_s": round(n / creation_s),
        },
    )  # fmt: skip


async def _created(engine: Embedded, n: int, due_s: int) -> float:
    """Creates the schedules. Returns the seconds that it took."""
    names = iter(range(n))
    daily = {"every": "1d", "offset": due_s % 86_400}
    document = {"spec": {"intervals": [daily]}, "do": {"action": "nothing"}}

    async def create() -> None:
        await engine.schedule(f"s{next(names)}").create(document)

    _, seconds = await run_load(create, CREATING, n)
    return seconds


async def _met(engine: Embedded, n: int, due_s: int) -> tuple[list[float], list[float]]:
    """The seconds after which each run has started, and ended."""
    schedules = [engine.schedule(f"s{number}") for number in range(n)]
    await asyncio.sleep(due_s - time.time())
    while engine.engine.counters.succeeded < n:  # noqa: ASYNC110  nothing else tells
        await asyncio.sleep(0.05)
    started, ended = [], []
    for schedule in schedules:
        while (run := (await schedule.describe())["last"][0])["ended"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        started.append(run["started"] / 1000 - due_s)
        ended.append(run["ended"] / 1000 - due_s)
    return started, ended
