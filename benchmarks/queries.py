"""Queries of executions: in this process, alone and beside work that commits; and over HTTP."""

from __future__ import annotations

import asyncio
import json
import tempfile
from typing import TYPE_CHECKING, Any

from xingqiao import composer
from xingqiao.composer import path, var

from .engine import engine
from .figures import Figure, percentile, run_load
from .server import API, composition_of, deploy, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xingqiao.composer import Composition

PROGRESS = {"left": var("left"), "at": path("$.at", default=None)}
VARIABLES = {"left": 3, "state": "paying"}
BESIDE = 32  # executions at once whose steps commit beside the queries


def queries(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Asks executions: one in memory, one beside others that commit, one in the store; and over HTTP."""
    yield _asked(floor, "query", "never", int(50_000 * scale))
    yield _asked(floor, "query beside", "never", int(20_000 * scale), beside=True)
    yield _asked(floor, "query dormant", composer.wait(86_400), int(10_000 * scale))
    yield _over_http(floor, int(5_000 * scale))


def _waiting(part: str | Composition) -> Composition:
    return composer.queries(composer.let(VARIABLES, part), progress=PROGRESS)


async def _asked(
    floor: dict[str, float],
    workload: str,
    part: str | Composition,
    count: int,
    *,
    beside: bool = False,
) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await embedded.deploy("asked", _waiting(part))
            await embedded.deploy("beside", composer.sequence(*["nothing"] * 5))
            run = embedded.execution(await embedded.start("asked", {"at": 1}))

            async def once() -> None:
                await run.query("progress")

            async def work() -> None:
                while True:
                    await embedded.invoke("beside")

            await run_load(once, 1, 100)
            working = [asyncio.ensure_future(work()) for _ in range(BESIDE if beside else 0)]
            before = embedded.engine.gauges()["commits"]
            concurrency = BESIDE if beside else 1
            took, seconds = await run_load(once, concurrency, max(concurrency, count))
            commits = embedded.engine.gauges()["commits"] - before
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await run.terminate()
    return _figure(workload, floor, concurrency, took, seconds, {"commits": commits})


async def _over_http(floor: dict[str, float], count: int) -> Figure:
    async with server() as started:
        deploy(started, asked=composition_of(_waiting(composer.wait(86_400))))
        async with started.connection() as connection:
            _, body = await connection.post(f"{API}/actions/asked", b'{"at": 1}')
            place = f"{API}/executions/{json.loads(body)['activationId']}/queries/progress"

            async def once() -> None:
                status, body = await connection.get(place)
                assert status == 200, (status, body)

            async def least() -> None:
                await connection.get(f"{API}/limits")

            await run_load(once, 1, 100)
            others, _ = await run_load(least, 1, max(1, count))
            took, seconds = await run_load(once, 1, max(1, count))
    more = {"least_p50_ms": round(percentile(others, 0.5), 2)}  # of a request that reads nothing
    return _figure("query over HTTP", floor, 1, took, seconds, more)


def _figure(  # noqa: PLR0913, PLR0917  a figure has as many sides
    workload: str,
    floor: dict[str, float],
    concurrency: int,
    took: list[float],
    seconds: float,
    more: dict[str, Any],
) -> Figure:
    rate = len(took) / seconds
    return Figure(
        workload=workload, runtime="inline", n=1, concurrency=concurrency,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=0, executions_per_s=0, floor=floor,
        more={"queries_per_s": round(rate), **more},
    )  # fmt: skip
