"""The cost of OpenWhisk's own features: sequences, conductor actions, cold starts, lists of activations."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xingqiao.actions import Query
from xingqiao.composer import Name
from xingqiao.infra.service import Embedded, open_service
from xingqiao.infra.settings import Settings

from .figures import Figure, percentile, run_load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PARTS = 5
CODE = {
    "python:3": "def main(params):\n    return params\n",
    "nodejs:20": "function main(params) { return params }",
}
LEADING = {
    "python:3": (
        "def main(params):\n"
        "    n = params.get('n', 0)\n"
        "    if n == 5:\n        return {'params': {}}\n"
        "    return {'action': '/_/part', 'params': {}, 'state': {'n': n + 1}}\n"
    ),
    "nodejs:20": (
        "function main(params) { const n = params.n || 0; if (n === 5) return { params: {} }\n"
        "return { action: '/_/part', params: {}, state: { n: n + 1 } } }"
    ),
}
CONDUCTS = [{"key": "conductor", "value": True}]


@asynccontextmanager
async def platform(**settings: Any) -> AsyncIterator[Embedded]:
    """An engine with workers, durable on SQLite."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        async with open_service(Settings(data=home, **settings)) as service:
            yield Embedded(service.engine)


def _code(kind: str, text: str) -> dict[str, Any]:
    return {"exec": {"kind": kind, "code": text}}


def sequences(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs a sequence of five actions, and a conductor action that names five, in warm workers."""
    for kind in CODE:
        for workload in ("sequence of 5", "conductor action of 5"):
            for concurrency in (1, 32):
                count = max(concurrency, int((4_000 if concurrency > 1 else 1_000) * scale / PARTS))
                yield _led(floor, workload, kind, (concurrency, count))


async def _led(floor: dict[str, float], workload: str, kind: str, shape: tuple[int, int]) -> Figure:
    concurrency, count = shape
    async with platform(workers=4) as embedded:
        await embedded.put("part", _code(kind, CODE[kind]))
        if workload.startswith("sequence"):
            await embedded.put(
                "led", {"exec": {"kind": "sequence", "components": ["/_/part"] * PARTS}}
            )
        else:
            await embedded.put("led", {**_code(kind, LEADING[kind]), "annotations": CONDUCTS})

        async def once() -> None:
            await embedded.invoke("led")

        await run_load(once, concurrency, max(concurrency * 2, count // 5))
        took, seconds = await run_load(once, concurrency, count)
    middle = percentile(took, 0.5)
    return Figure(
        workload=workload, runtime=kind, n=PARTS, concurrency=concurrency, p50_ms=middle,
        p99_ms=percentile(took, 0.99), steps_per_s=PARTS * count / seconds,
        executions_per_s=count / seconds, floor=floor,
        more={"ms_a_component": round(middle / PARTS, 2)} if concurrency == 1 else {},
    )  # fmt: skip


def colds(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Runs actions for the first time: in a worker started for them, and in a worker that waits."""
    for kind in CODE:
        for prewarmed in (0, 1):
            yield _cold(floor, kind, prewarmed, max(3, int(20 * scale)))


async def _cold(floor: dict[str, float], kind: str, prewarmed: int, count: int) -> Figure:
    took = []
    async with platform(workers=2 * count + 2, prewarmed=prewarmed) as embedded:
        await embedded.put("first", _code(kind, CODE[kind]))
        await embedded.invoke("first")  # from now on the kind is in use
        for number in range(count):
            await embedded.put(f"cold{number}", _code(kind, f"{CODE[kind]}\n// {number}\n"
                               if kind == "nodejs:20" else f"{CODE[kind]}\n# {number}\n"))  # fmt: skip
            await asyncio.sleep(0.3)
            began = time.perf_counter()
            await embedded.invoke(f"cold{number}")
            took.append((time.perf_counter() - began) * 1000)
    name = "prewarmed start" if prewarmed else "cold start"
    return Figure(
        workload=name, runtime=kind, n=1, concurrency=1, p50_ms=percentile(took, 0.5),
        p99_ms=percentile(took, 0.99), steps_per_s=1000 / percentile(took, 0.5),
        executions_per_s=1000 / percentile(took, 0.5), floor=floor,
    )  # fmt: skip


def lists(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Lists 200 of many activations, by each filter."""
    yield _listed(floor, max(300, int(10_000 * scale)))


async def _listed(floor: dict[str, float], n: int) -> Figure:
    async with platform() as embedded:
        embedded.engine.register(_name("even"), lambda params: params)
        embedded.engine.register(_name("odd"), lambda _: {"error": "odd"})

        async def once() -> None:
            for name in ("even", "odd"):
                await embedded.run(name)

        await run_load(once, 32, n // 2)
        records, took = embedded.engine.records, {}
        for title, query in {
            "all": {},
            "name": {"name": "odd"},
            "status": {"status": 1},
            "kind": {"kind": "inline"},
            "since": {"since_ms": int(time.time() * 1000) - 60_000},
            "nothing": {"name": "nobody", "kind": "sequence"},
        }.items():
            request = Query(namespace="guest", limit=200, **query)  # type: ignore[arg-type]
            began = time.perf_counter()
            await records.activations(request, whole=False)
            took[title] = round((time.perf_counter() - began) * 1000, 1)
    slowest = max(took.values())
    return Figure(
        workload="list activations", runtime="inline", n=n, concurrency=1, p50_ms=slowest,
        p99_ms=slowest, steps_per_s=0, executions_per_s=1000 / slowest, floor=floor, more=took,
    )  # fmt: skip


def _name(name: str) -> Any:
    return Name("guest", None, name)
