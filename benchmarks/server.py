"""Workloads on a real server over HTTP: starts of executions."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xingqiao import composer
from xingqiao.infra.cli.client import Client

from .engine import MEGABYTE, NOTHING_DOC
from .figures import Figure, percentile, run_load
from .http import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

AUTH = "00000000-0000-4000-8000-000000000000:benchmark-benchmark"
API = "/api/v1/namespaces/_"
LITERAL = composer.literal({"ok": True})


class Server:
    """A server process on a free port, with further options of `xingqiao serve`."""

    def __init__(self, directory: str, *options: str, workers: int = 16) -> None:
        self.directory, self._options, self._workers = directory, options, workers
        self._process: asyncio.subprocess.Process
        self.url = ""
        self.started_s = 0.0

    async def start(self) -> None:
        began = time.perf_counter()
        self._process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("xingqiao"), "serve", "--port", "0",
            "--data", self.directory, "--auth", AUTH, "--workers", str(self._workers),
            *self._options,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        self.url = line.split()[-1]
        async with self.connection() as connection:
            await connection.get("/health")
        self.started_s = time.perf_counter() - began

    def connection(self) -> Connection:
        return Connection(self.url, AUTH)

    def client(self) -> Client:
        return Client(self.url, AUTH)

    def resident(self) -> float:
        """The resident memory of the server without its workers, in megabytes."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / MEGABYTE

    async def stop(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        await self._process.wait()


@asynccontextmanager
async def server(workers: int = 16) -> AsyncIterator[Server]:
    """A server with an empty store."""
    with tempfile.TemporaryDirectory() as directory:
        started = Server(directory, workers=workers)
        await started.start()
        try:
            yield started
        finally:
            await started.stop()


def deploy(server: Server, **documents: Any) -> None:
    """Creates or updates actions."""
    with server.client() as client:
        for name, document in documents.items():
            client.put_action(name, document, overwrite=True)


def composition_of(composition: composer.Composition) -> dict[str, Any]:
    """The document of an action that is a composition."""
    return {"exec": {"kind": "composition", "composition": composition.to_json()}}


def starts(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Starts compositions of one step over HTTP, blocking and not blocking."""
    for concurrency in (1, 32):
        yield _start(floor, "start", concurrency, int(8_000 * scale), blocking=True)
    yield _start(floor, "accept", 32, int(8_000 * scale), blocking=False)


async def _start(
    floor: dict[str, float], workload: str, concurrency: int, count: int, *, blocking: bool
) -> Figure:
    count = max(concurrency, count if concurrency > 1 else count // 8)
    async with server() as started:
        idle = round(started.resident(), 1)
        deploy(started, nothing=NOTHING_DOC, measured=composition_of(composer.sequence("nothing")))
        path = f"{API}/actions/measured" + ("?blocking=true&result=true" if blocking else "")
        connections = [started.connection() for _ in range(concurrency)]
        free = [await connection.__aenter__() for connection in connections]

        async def once() -> None:
            connection = free.pop()
            status, _ = await connection.post(path)
            assert status == (200 if blocking else 202), status
            free.append(connection)

        await run_load(once, concurrency, max(concurrency, count // 10))
        took, seconds = await run_load(once, concurrency, count)
        for connection in connections:
            await connection.__aexit__()
    return Figure(
        workload=workload, runtime="python:3", n=1, concurrency=concurrency,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=count / seconds, executions_per_s=count / seconds, floor=floor,
        more={"started_s": round(started.started_s, 2), "idle_megabytes": idle},
    )  # fmt: skip
