"""Workloads on the engine itself, in this process, durable on SQLite."""

from __future__ import annotations

import asyncio
import resource
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xingqiao import composer
from xingqiao.composer import path
from xingqiao.infra.service import Embedded, open_service
from xingqiao.infra.settings import Settings

from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from xingqiao.composer import Composition

NOTHING = "def main(params):\n    return params\n"
NOTHING_DOC = {"exec": {"kind": "python:3", "code": NOTHING}}
MEGABYTE = 1 << 20


@composer.action
def nothing(params: dict[str, Any]) -> dict[str, Any]:
    """A step that takes no time."""
    return params


@composer.action
async def never(params: dict[str, Any]) -> dict[str, Any]:
    """A step that ends after the benchmark."""
    await asyncio.Event().wait()
    return params


@asynccontextmanager
async def engine(directory: str, runtime: str = "inline") -> AsyncIterator[Embedded]:
    """An engine with the action `nothing`, in this process or in four workers."""
    async with open_service(Settings(data=Path(directory), workers=4)) as service:
        embedded = Embedded(service.engine)
        if runtime == "inline":
            embedded.register(nothing)
            embedded.register(never)
        else:
            await embedded.put("nothing", NOTHING_DOC)
        yield embedded


async def run(
    name: str, composition: Composition, shape: dict[str, Any], params: dict[str, Any] | None = None
) -> Figure:
    """Measures one composition. `shape` holds runtime, n, concurrency, count, steps and floor."""
    runtime, concurrency, count = shape["runtime"], shape["concurrency"], shape["count"]
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory, runtime) as embedded:
            await embedded.deploy("measured", composition)

            async def once() -> None:
                await embedded.invoke("measured", params)

            await run_load(once, concurrency, max(concurrency, count // 10))
            took, seconds = await run_load(once, concurrency, count)
    return Figure(
        workload=name,
        runtime=runtime,
        n=shape["n"],
        concurrency=concurrency,
        p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99),
        steps_per_s=shape["steps"] * count / seconds,
        executions_per_s=count / seconds,
        floor=shape["floor"],
    )


def sequences(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs sequences of 1, 5 and 50 steps, alone and 32 at once; and of 10,000, where a step costs the same."""
    for runtime in ("inline", "python:3"):
        for n in (1, 5, 50):
            for concurrency in (1, 32):
                budget = (20_000 if concurrency > 1 else 3_000) * scale
                budget *= 1.0 if runtime == "inline" else 0.4
                count = max(concurrency, int(budget / (n + 1)))
                parts = composer.sequence(*["nothing"] * n)
                yield run("sequence", parts, _shape(runtime, n, concurrency, count, n, floor))
    n = int(10_000 * min(1, scale * 2))
    parts = composer.sequence(*["nothing"] * n)
    yield run("sequence", parts, _shape("inline", n, 1, 2, n, floor))


def fanouts(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs a fork of 10 to 10,000 branches, and their join."""
    for runtime in ("inline", "python:3"):
        for n in (10, 100, 1_000, 10_000):
            if runtime != "inline" and n > 1_000:
                continue
            count = max(2, int(20_000 * scale / n))
            each = composer.map("nothing", items=path("$.items"))
            shape = _shape(runtime, n, 1, count, n, floor)
            yield run("fanout", each, shape, {"items": list(range(n))})


def payloads(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Passes 256 KiB through five steps."""
    for runtime in ("inline", "python:3"):
        shape = _shape(runtime, 5, 1, max(5, int(100 * scale)), 5, floor)
        parts = composer.sequence(*["nothing"] * 5)
        yield run("payload", parts, shape, {"text": "x" * (256 << 10)})


def _shape(  # noqa: PLR0913, PLR0917  a shape has as many sides
    runtime: str, n: int, concurrency: int, count: int, steps: int, floor: dict[str, float]
) -> dict[str, Any]:
    return {
        "runtime": runtime, "n": n, "concurrency": concurrency, "count": count, "steps": steps,
        "floor": floor,
    }  # fmt: skip


def waiting(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Measures executions that wait for a timer: their memory, and their cost for other executions."""
    yield _waiting(floor, int(100_000 * scale))


async def _waiting(floor: dict[str, float], n: int) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        async with engine(directory) as embedded:
            await embedded.deploy("long", composer.sequence(composer.wait(86_400), "nothing"))
            await embedded.deploy("measured", composer.sequence(*["nothing"] * 5))

            async def once() -> None:
                await embedded.invoke("measured")

            await run_load(once, 32, 500)
            before, _ = await run_load(once, 1, 300)
            resident = _resident()
            await run_load(lambda: embedded.start("long"), 256, n)
            grown = (_resident() - resident) / MEGABYTE
            took, seconds = await run_load(once, 1, 300)
    return Figure(
        workload="waiting", runtime="inline", n=n, concurrency=1,
        p50_ms=percentile(took, 0.5), p99_ms=percentile(took, 0.99),
        steps_per_s=1500 / seconds, executions_per_s=300 / seconds, floor=floor,
        more={"p50_ms_before": round(percentile(before, 0.5), 2), "megabytes": round(grown, 1)},
    )  # fmt: skip


def _resident() -> int:
    """The resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()
