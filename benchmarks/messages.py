"""Messages: told to executions that wait for them, in this process, durable on SQLite."""

from __future__ import annotations

import resource
import tempfile
import time
from typing import TYPE_CHECKING, Any

from xingqiao import composer

from .engine import engine
from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xingqiao.infra.service import Embedded

ACTS = composer.sequence(composer.receive("go"), "nothing")
LISTENS = composer.loop(composer.select({"value": True}), composer.receive("go"))
MEGABYTE = 1 << 20


def messages(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Tells executions messages: until one has acted on it, then to executions that go on listening."""
    for concurrency in (1, 64):
        count = max(concurrency, int((3_000 if concurrency == 1 else 30_000) * scale))
        yield _acted_on(concurrency, count, floor)
        yield _accepted(concurrency, count, floor)
    yield _waiting(int(100_000 * scale), floor)


async def _acted_on(concurrency: int, count: int, floor: dict[str, float]) -> Figure:
    """From the message to the end of an execution that has waited for it and runs one step."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await embedded.deploy("measured", ACTS)
            ids = [await embedded.start("measured") for _ in range(count)]
            await embedded.engine.endings.done()
            before, left = embedded.engine.gauges()["commits"], iter(ids)

            async def once() -> None:
                execution = embedded.execution(next(left))
                await execution.tell("go", {"by": "anna"})
                await execution.wait()

            took, seconds = await run_load(once, concurrency, count)
            commits = embedded.engine.gauges()["commits"] - before
    return _figure("messages, acted on", (concurrency, count), took, seconds, floor, commits)


async def _accepted(concurrency: int, count: int, floor: dict[str, float]) -> Figure:
    """Messages to executions that receive them for ever: each is heard in the commit that takes it."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await embedded.deploy("measured", LISTENS)
            ids = [await embedded.start("measured") for _ in range(concurrency)]
            await embedded.engine.endings.done()
            before, number = embedded.engine.gauges()["commits"], iter(range(count))

            async def once() -> None:
                await embedded.execution(ids[next(number) % concurrency]).tell("go", {"n": 1})

            took, seconds = await run_load(once, concurrency, count)
            commits = embedded.engine.gauges()["commits"] - before
    return _figure("messages, accepted", (concurrency, count), took, seconds, floor, commits)


def _figure(  # noqa: PLR0913, PLR0917  a row has as many columns
    name: str,
    shape: tuple[int, int],
    took: list[float],
    seconds: float,
    floor: dict[str, float],
    commits: int,
) -> Figure:
    concurrency, count = shape
    return Figure(
        workload=name,
        runtime="inline",
        n=1,
        concurrency=concurrency,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=count / seconds,
        executions_per_s=count / seconds,
        floor=floor,
        more={"commits_each": round(commits / count, 2)},
    )


async def _waiting(count: int, floor: dict[str, float]) -> Figure:
    """Executions that wait for a message: the memory that they add, and the time of one that is told."""
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await embedded.deploy("measured", ACTS)
            before = _megabytes()
            began = time.perf_counter()
            ids = await _started(embedded, count)
            seconds = time.perf_counter() - began
            await embedded.engine.endings.done()
            megabytes = _megabytes() - before

            left = iter(ids)

            async def once() -> None:
                execution = embedded.execution(next(left))
                await execution.tell("go")
                await execution.wait()

            took, _ = await run_load(once, 1, min(count, 500))
    return Figure(
        workload="messages, waiting",
        runtime="inline",
        n=count,
        concurrency=1,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=0,
        executions_per_s=count / seconds,
        floor=floor,
        more={"megabytes": round(megabytes, 1)},
    )


async def _started(embedded: Embedded, count: int) -> list[str]:
    ids: list[str] = []

    async def once() -> None:
        ids.append(await embedded.start("measured"))

    await run_load(once, 64, count)
    return ids


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
