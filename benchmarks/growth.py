"""Growth: 100,000 executions under way, 1,000,000 records, and retention beside a load."""

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
from xingqiao.actions import ActivationRow, ExecutionRow, Query
from xingqiao.infra.service import Embedded, open_service
from xingqiao.infra.settings import Settings

from .engine import MEGABYTE, nothing
from .figures import Figure, percentile, run_load
from .grown import GUEST
from .recovery import gauge, operator
from .server import API, LITERAL, Server, composition_of, deploy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

LISTED = 200  # records of one list
LOOKS = 20  # lists of each kind
LOAD_S = 20.0
KEPT_S = 1.0
DAY_S = 86_400
LISTS = {
    "list": lambda records: records.activations(Query(namespace=GUEST, limit=LISTED), whole=False),
    "list_rare_status": lambda records: records.activations(
        Query(namespace=GUEST, status=1, limit=LISTED), whole=False
    ),
    "executions": lambda records: records.executions(Query(namespace=GUEST, limit=LISTED)),
    "executions_rare_status": lambda records: records.executions(
        Query(namespace=GUEST, status="failed", limit=LISTED)
    ),
}


def growths(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Measures what grows: executions under way, records, and records that are dropped."""
    yield _under_way(floor, max(200, int(100_000 * scale)))
    yield _records(floor, max(2_000, int(1_000_000 * scale)))
    yield _retention(floor, max(4.0, LOAD_S * scale))


async def _filled(what: str, directory: str, n: int) -> None:
    """Has another process fill a store, and die as by `kill -9`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"{__package__}.grown", what, directory, str(n)
    )
    assert await process.wait() == 0, what


# --- under way ---------------------------------------------------------------------------------


async def _under_way(floor: dict[str, float], n: int) -> Figure:
    """A server takes up executions that each have a step under way."""
    with tempfile.TemporaryDirectory() as directory:
        idle = await _idle(f"{directory}/empty")
        data = f"{directory}/data"
        await _filled("under_way", data, n)
        began = time.perf_counter()
        server = Server(data)
        await server.start()
        try:
            deploy(server, literal=composition_of(LITERAL))
            async with server.connection() as connection:
                await connection.post(f"{API}/actions/literal?blocking=true&result=true")
                called_s = time.perf_counter() - began
                took = await _asked_until_taken_up(server, connection)
            all_s = time.perf_counter() - began
            each = (server.resident() - idle) * MEGABYTE / n
        finally:
            await server.stop(signal.SIGKILL)
    return Figure(
        workload="under way", runtime="python:3", n=n, concurrency=1, p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99), steps_per_s=n / all_s, executions_per_s=n / all_s,
        floor=floor,
        more={
            "serves_s": round(server.started_s, 2), "call_s": round(called_s, 2),
            "taken_up_s": round(all_s, 2), "bytes_each": round(each),
            "health_max_ms": round(max(took), 1),
        },
    )  # fmt: skip


async def _idle(data: str) -> float:
    """The resident memory of a server with an empty store, in megabytes."""
    server = Server(data)
    await server.start()
    resident = server.resident()
    await server.stop()
    return resident


async def _asked_until_taken_up(server: Server, connection: Any) -> list[float]:
    """Asks for the server's health until all has been taken up. Returns how long each answer took, in ms."""
    took: list[float] = []
    async with operator(server) as metrics:
        while await gauge(metrics, "recovery_left"):
            for _ in range(10):
                began = time.perf_counter()
                await connection.get("/health")
                took.append((time.perf_counter() - began) * 1000)
                await asyncio.sleep(0.01)
    return took or [0.0]


# --- records -----------------------------------------------------------------------------------


async def _records(floor: dict[str, float], n: int) -> Figure:
    """Lists the newest of many records, and the few with a rare status."""
    with tempfile.TemporaryDirectory() as directory:
        await _filled("records", directory, n)
        await _opened_s(directory)  # after an unclean stop, and cold
        opened_s = await _opened_s(directory)
        async with open_service(Settings(data=Path(directory))) as service:
            took, stalls = {}, {}
            for name, look in LISTS.items():
                took[name], stalls[name] = await _looked(look, service.engine.records)
    size = round(sum(sum(times) for times in took.values()))
    return Figure(
        workload="records", runtime="inline", n=n, concurrency=1,
        p50_ms=percentile(took["list"], 0.5), p99_ms=percentile(took["list"], 0.99),
        steps_per_s=0, executions_per_s=LOOKS * len(took) / (size / 1000 or 1), floor=floor,
        more={
            "opens_s": round(opened_s, 2),
            **{f"{name}_ms": round(percentile(times, 0.5), 2) for name, times in took.items()},
            **{f"{name}_stall_ms": round(stall, 1) for name, stall in stalls.items()},
        },
    )  # fmt: skip


async def _opened_s(directory: str) -> float:
    began = time.perf_counter()
    async with open_service(Settings(data=Path(directory))):
        return time.perf_counter() - began


async def _looked(look: Callable[[Any], Awaitable[Any]], records: Any) -> tuple[list[float], float]:
    """Makes lists. Returns how long each took, and the longest stall of the event loop; in ms."""
    took = []
    async with watched() as stalls:
        for _ in range(LOOKS):
            began = time.perf_counter()
            await look(records)
            took.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.005)
    return took, max(stalls, default=0.0)


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """Notes how much later than asked for a timer of 1 ms fires, in ms."""
    stalls: list[float] = []

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            stalls.append((time.perf_counter() - began) * 1000 - 1)

    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch())
        yield stalls
        watching.cancel()


# --- retention ---------------------------------------------------------------------------------


async def _retention(floor: dict[str, float], seconds: float) -> Figure:
    """Runs executions while records older than a second are dropped."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(data=Path(directory), retention_days=KEPT_S / DAY_S)
        async with open_service(settings) as service:
            embedded = Embedded(service.engine)
            embedded.register(nothing)
            await embedded.deploy("measured", composer.sequence("nothing"))
            until, made = time.perf_counter() + seconds, 0
            took: list[float] = []
            while time.perf_counter() < until:
                times, _ = await run_load(lambda: embedded.invoke("measured"), 32, 320)
                took += times
                made += 2 * len(times)  # the record of the execution, and that of its step
            left = await service.store.count(ActivationRow, Query(namespace=GUEST))
            kept = await service.store.count(ExecutionRow, Query(namespace=GUEST))
        size = sum(entry.stat().st_size for entry in os.scandir(directory) if entry.is_file())
    return Figure(
        workload="retention", runtime="inline", n=made, concurrency=32,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=len(took) / seconds, executions_per_s=len(took) / seconds, floor=floor,
        more={
            "made_a_second": round(made / seconds), "dropped_a_second": round((made - left) / seconds),
            "records_left": left, "executions_left": kept, "megabytes": round(size / MEGABYTE, 1),
        },
    )  # fmt: skip
