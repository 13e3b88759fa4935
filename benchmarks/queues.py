"""Task queues over HTTP: a worker that waits, and many workers at once."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from .figures import Figure, percentile
from .server import API, deploy, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .http import Connection

COMPLETIONS = "/api/v1/completions"
QUEUED = {"exec": {"kind": "queue", "queue": "measured"}}
WORKERS = 16
CALLERS = 32
POLL = b'{"worker": "one", "wait": 20}'
NO_CONTENT = 204


def queues(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Measures tasks of a queue: one caller and one worker, then 32 callers and 16 workers."""
    yield _measured(floor, callers=1, workers=1, count=max(20, int(2_000 * scale)))
    yield _measured(
        floor, callers=CALLERS, workers=WORKERS, count=max(CALLERS, int(10_000 * scale))
    )


async def _measured(floor: dict[str, float], *, callers: int, workers: int, count: int) -> Figure:
    """Callers wait for their results. `poll_ms` is from the start of a call until a waiting worker has its task."""
    async with server(1) as started, AsyncExitStack() as stack:
        deploy(started, measured=QUEUED)
        begun: dict[int, float] = {}
        reached: list[float] = []
        took: list[float] = []
        working = [
            asyncio.ensure_future(
                _work(await stack.enter_async_context(started.connection()), begun, reached)
            )
            for _ in range(workers)
        ]
        connections = [
            await stack.enter_async_context(started.connection()) for _ in range(callers)
        ]
        left = iter(range(count))

        async def call(connection: Connection) -> None:
            for n in left:
                begun[n] = time.perf_counter()
                path = f"{API}/actions/measured?blocking=true&result=true"
                status, _ = await connection.post(path, json.dumps({"n": n}).encode())
                assert status == 200, status
                took.append((time.perf_counter() - begun[n]) * 1000)

        began = time.perf_counter()
        await asyncio.gather(*map(call, connections))
        seconds = time.perf_counter() - began
        for worker in working:
            worker.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return Figure(
        workload="queues", runtime="outside", n=workers, concurrency=callers,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=count / seconds, executions_per_s=count / seconds, floor=floor,
        more={
            "poll_p50_ms": round(percentile(reached, 0.5), 2),
            "poll_p99_ms": round(percentile(reached, 0.99), 2),
        },
    )  # fmt: skip


async def _work(connection: Connection, begun: dict[int, float], reached: list[float]) -> None:
    """Takes tasks and answers them, until it is cancelled."""
    while True:
        status, body = await connection.post(f"{API}/queues/measured/take", POLL)
        if status == NO_CONTENT:
            continue
        task = json.loads(body)
        reached.append((time.perf_counter() - begun[task["params"]["n"]]) * 1000)
        status, _ = await connection.post(f"{COMPLETIONS}/{task['token']}", b'{"ok": true}')
        assert status == 202, status
