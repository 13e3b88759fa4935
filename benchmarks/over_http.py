"""Compositions of several steps over HTTP, on a real server: the way of most users."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from xingqiao import composer

from .engine import NOTHING_DOC
from .figures import Figure, percentile, run_load
from .server import API, server

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 4  # as for the rows of `sequence`
CONCURRENCY = 32


def sequences(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs sequences of 5 and 50 steps in workers, 32 at once; each caller waits for its result."""
    for n in (5, 50):
        yield _sequence(floor, n, max(CONCURRENCY, int(8_000 * scale / (n + 1))))


async def _sequence(floor: dict[str, float], n: int, count: int) -> Figure:
    async with server(WORKERS) as started, AsyncExitStack() as stack:
        composition = composer.sequence(*["nothing"] * n).to_json()
        with started.client() as client:
            client.put_action("nothing", NOTHING_DOC, overwrite=True)
            body = {"exec": {"kind": "composition", "composition": composition}}
            client.put_action("measured", body, overwrite=True)
        free = [await stack.enter_async_context(started.connection()) for _ in range(CONCURRENCY)]

        async def once() -> None:
            connection = free.pop()
            status, body = await connection.post(
                f"{API}/actions/measured?blocking=true&result=true", b'{"a": 1}'
            )
            assert status == 200, (status, body)
            free.append(connection)

        await run_load(once, CONCURRENCY, max(CONCURRENCY, count // 10))
        took, seconds = await run_load(once, CONCURRENCY, count)
    return Figure(
        workload="http", runtime="python:3", n=n, concurrency=CONCURRENCY,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=n * count / seconds, executions_per_s=count / seconds, floor=floor,
    )  # fmt: skip
