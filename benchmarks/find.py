"""Finding: the first page of filters, and counts, among 1,000,000 executions of which each has three attributes."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xingqiao.actions import ExecutionRow, Indexed, Query, Write, indexed
from xingqiao.infra.service import open_service
from xingqiao.infra.service.keys import sealed
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import SqliteStore

from .figures import Figure, percentile
from .grown import GUEST
from .growth import watched

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKS = 20
AT_ONCE = 20_000
BEGAN_MS = 1_700_000_000_000
BODY = (
    b'{"program":"","action":"/guest/order","version":"0.0.1","kind":"composition","limits":{},'
    b'"generation":0,"depth":0,"solo":false}'
)
DECLARED = {"customer": "text", "region": "text", "amount": "number"}
FILTERS = {  # name: filter, and whether an index answers it
    "all": "",
    "one": "customer = 'c77'",
    "prefix": "starts_with(customer, 'c77')",
    "dense": "region = 'r1'",
    "dense_and_rare": "region = 'r1' and amount > 999990",
    "dense_and_dense": "region = 'r1' and amount > 500000",
    "half": "amount > 500000",
    "either": "customer = 'c77' or amount between 10 and 20",
    "rare_status": "status = 'failed'",
    "status_and_attribute": "status = 'failed' and region = 'r2'",
    "window": "started > '2023-11-14T22:15:00' and region = 'r1'",
    "by_end": "customer in ('c1', 'c2') order by ended",
}
COUNTS = {"count_one": "customer = 'c77'", "count_failed": "status = 'failed'"}


def finds(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Measures filters at a tenth of the size, and at all of it."""
    yield _find(floor, max(1_000, int(100_000 * scale)))
    yield _find(floor, max(2_000, int(1_000_000 * scale)))


async def _find(floor: dict[str, float], n: int) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(data=Path(directory))
        async with open_service(settings) as service:
            for name, type in DECLARED.items():
                await service.engine.annotations.declare(GUEST, name, type)
        await _filled(directory, n)
        async with open_service(settings) as service:
            took, stalls = {}, {}
            for name, where in FILTERS.items():
                took[name], stalls[name] = await _looked(service.engine.finding.page, where)
            for name, where in COUNTS.items():
                took[name], stalls[name] = await _looked(service.engine.finding.count, where)
    pages = [ms for name in FILTERS for ms in took[name]]
    return Figure(
        workload="find", runtime="", n=n, concurrency=1,
        p50_ms=percentile(pages, 0.5), p99_ms=percentile(pages, 0.99),
        steps_per_s=0, executions_per_s=len(pages) / (sum(pages) / 1000), floor=floor,
        more={
            **{f"{name}_ms": round(percentile(times, 0.5), 2) for name, times in took.items()},
            "slowest_ms": round(max(pages), 2), "stall_ms": round(max(stalls.values()), 1),
        },
    )  # fmt: skip


async def _filled(directory: str, n: int) -> None:
    """Fills the store without waiting for the disk: only reads are measured."""
    async with SqliteStore(Path(directory), synchronous="OFF") as durable:
        store = await sealed(durable, Settings(data=Path(directory)))
        for at in range(0, n, AT_ONCE):
            await store.commit([_write(range(at, min(at + AT_ONCE, n)), n)])


def _write(numbers: range, total: int) -> Write:
    """Executions in order of time: one in 1,000 has failed, and each hundred has a customer."""
    write = Write()
    for n in numbers:
        started_ms = BEGAN_MS + n
        id = f"{started_ms:012x}{n:020x}"
        status = "failed" if n % 1_000 == 0 else "succeeded"
        row = ExecutionRow(id, GUEST, "order", status, started_ms, started_ms + 9, BODY)
        write.executions.append(row)
        given = {
            "customer": f"c{n * 7919 % total // 100}",
            "region": f"r{n % 4}",
            "amount": n * 7919 % 1_000_000,
        }
        write.indexed.append(Indexed(id, GUEST, started_ms, indexed(given, DECLARED)))
    return write


async def _looked(ask: Any, where: str) -> tuple[list[float], float]:
    """Asks some times. Returns how long each took, and the longest stall of the event loop; in ms."""
    took = []
    async with watched() as stalls:
        for _ in range(LOOKS):
            began = time.perf_counter()
            await ask(Query(namespace=GUEST, limit=30), where)
            took.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.002)
    return took, max(stalls, default=0.0)
