"""Makes the load, with the same code for every system. Imports only Python's own modules, as `work`."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

from ..figures import percentile, run_load
from .work import ONE_STEP

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .work import Load, Work

    Ask = Callable[[Work], Awaitable[Any]]  # runs one execution, and returns its result

WARM_UP = 64  # executions of one step, 32 at once: workers have started, connections are open


class WrongResultError(Exception):
    """A system has returned something else than the work's result: its figures would mean nothing."""


async def measure(ask: Ask, load: Load) -> dict[str, float]:
    """Warms a system up, checks its result once, and measures.

    Returns p50_ms, p99_ms, executions_per_s and the number of executions.

    Raises:
        WrongResultError: the result is not that of the work.
    """
    await run_load(lambda: ask(ONE_STEP), 32, WARM_UP)
    result = await ask(load.work)
    if result not in (load.work.expected, {"value": load.work.expected}):  # a list may be wrapped
        raise WrongResultError(f"{load.work.name}: the result is {str(result)[:200]}")
    await asyncio.to_thread(
        os.sync
    )  # what was written before is not written during the measurement
    took, seconds = await run_for(lambda: ask(load.work), load.concurrency, load.seconds)
    return {
        "p50_ms": percentile(took, 0.5),
        "p99_ms": percentile(took, 0.99),
        "executions_per_s": len(took) / seconds,
        "executions": len(took),
    }


async def run_for(
    once: Callable[[], Awaitable[object]], concurrency: int, seconds: float
) -> tuple[list[float], float]:
    """Runs an operation again and again, `concurrency` at a time, until the time is over and all have ended.

    Returns each duration in ms, and the total in s, which includes the end of the last. A system that is too
    slow for the time runs each of them once.
    """
    took: list[float] = []
    began = time.perf_counter()

    async def worker() -> None:
        while True:
            before = time.perf_counter()
            await once()
            now = time.perf_counter()
            took.append((now - before) * 1000)
            if now >= began + seconds:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    return took, time.perf_counter() - began
