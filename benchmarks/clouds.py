"""Steps that run elsewhere: the time that the platform adds to a request to a trivial function."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from xingqiao import composer
from xingqiao.infra.service import Embedded, open_service
from xingqiao.infra.settings import Settings

from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

STEPS = 5
_ANSWER = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"ok":true}'
)


@asynccontextmanager
async def _function() -> AsyncIterator[str]:
    """Serves a trivial function over HTTP, in this process. Yields its URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(_ANSWER)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.close()


def clouds(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs five steps that are HTTP functions, and the same requests with httpx alone, without a store."""
    for concurrency in (1, 32):
        count = max(concurrency, int((400 if concurrency == 1 else 2_000) * scale))
        yield _by_httpx(floor, concurrency, count)
        yield _by_platform(floor, concurrency, count)


async def _by_httpx(floor: dict[str, float], concurrency: int, count: int) -> Figure:
    async with _function() as url, httpx.AsyncClient() as client:

        async def once() -> None:
            for _ in range(STEPS):
                (await client.post(url, json={})).json()

        return await _measured("clouds: httpx alone", once, concurrency, count, floor)


async def _by_platform(floor: dict[str, float], concurrency: int, count: int) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(data=Path(directory), workers=1, egress_allow="127.0.0.1")
        async with _function() as url, open_service(settings) as service:
            embedded = Embedded(service.engine)
            step = composer.action("elsewhere", kind="http", function=url)
            await embedded.deploy("measured", composer.sequence(*[step] * STEPS))
            return await _measured(
                "clouds: steps", lambda: embedded.invoke("measured"), concurrency, count, floor
            )


async def _measured(
    name: str, once: Any, concurrency: int, count: int, floor: dict[str, float]
) -> Figure:
    await run_load(once, concurrency, max(concurrency, count // 10))
    took, seconds = await run_load(once, concurrency, count)
    return Figure(
        workload=name,
        runtime="http",
        n=STEPS,
        concurrency=concurrency,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=STEPS * count / seconds,
        executions_per_s=count / seconds,
        floor=floor,
    )
