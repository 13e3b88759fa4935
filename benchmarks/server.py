"""Workloads on a real server over HTTP: starts of executions, and recovery after kill -9."""

from __future__ import annotations

import asyncio
import json
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
SLOW = "import time\n\ndef main(params):\n    time.sleep({seconds})\n    return params\n"
LITERAL = composer.literal({"ok": True})


class Server:
    """A server process on a free port."""

    def __init__(self, directory: str, workers: int = 16) -> None:
        self.directory, self._workers = directory, workers
        self._process: asyncio.subprocess.Process
        self.url = ""
        self.started_s = 0.0

    async def start(self) -> None:
        began = time.perf_counter()
        self._process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("xingqiao"), "serve", "--port", "0",
            "--data", self.directory, "--auth", AUTH, "--workers", str(self._workers),
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
        started = Server(directory, workers)
        await started.start()
        try:
            yield started
        finally:
            await started.stop()


def _deploy(server: Server, **documents: Any) -> None:
    with server.client() as client:
        for name, document in documents.items():
            client.put_action(name, document, overwrite=True)


def _composition(composition: composer.Composition) -> dict[str, Any]:
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
        _deploy(started, nothing=NOTHING_DOC, measured=_composition(composer.sequence("nothing")))
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


def recoveries(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Kills a server that runs executions of ten steps, starts it again, and measures the recovery."""
    yield _recovery(floor, max(10, int(100 * scale)), 0.1)
    yield _recovery(floor, max(500, int(1_000 * scale)), 0.01)


async def _recovery(floor: dict[str, float], n: int, seconds: float) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        first = Server(directory)
        await first.start()
        slow = {"exec": {"kind": "python:3", "code": SLOW.format(seconds=seconds)}}
        _deploy(first, slow=slow, measured=_composition(composer.sequence(*["slow"] * 10)))
        async with first.connection() as connection:
            for _ in range(n):
                await connection.post(f"{API}/actions/measured")
        await asyncio.sleep(0.5)
        await first.stop(signal.SIGKILL)
        began = time.time()
        second = Server(directory)
        await second.start()
        async with second.connection() as connection:
            served_s = time.time() - began
            first_s = await _first_step(connection, began)
            while await _running(connection):  # noqa: ASYNC110  another process ends
                await asyncio.sleep(0.2)
            all_s = time.time() - began
        await second.stop()
    return Figure(
        workload="recovery", runtime="python:3", n=n, concurrency=16,
        p50_ms=first_s * 1000, p99_ms=all_s * 1000, steps_per_s=n * 10 / all_s,
        executions_per_s=n / all_s, floor=floor,
        more={"serves_s": round(served_s, 2), "first_step_s": round(first_s, 2), "all_s": round(all_s, 2)},
    )  # fmt: skip


async def _first_step(connection: Connection, began: float) -> float:
    """Seconds from the start of the server to the start of the first step that has run since.

    On a busy machine all executions may have ended before the kill: then until that is seen.
    """
    since = int(began * 1000)
    while True:
        _, body = await connection.get(f"{API}/activations?since={since}&limit=200")
        found = [doc for doc in json.loads(body) if doc["name"] == "slow"]
        if found:
            return min(doc["start"] for doc in found) / 1000 - began
        if not await _running(connection):
            return time.time() - began
        await asyncio.sleep(0.02)


async def _running(connection: Connection) -> bool:
    _, body = await connection.get(f"{API}/executions?status=running&limit=1")
    return bool(json.loads(body))
