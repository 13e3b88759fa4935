"""The figures of a workload, and their output as JSON and as a table."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table.

    n: the number of steps, branches or executions, as the workload defines it.
    floor: commits per second of this machine at the same durability, of one row and of 50 rows.
    """

    workload: str
    runtime: str
    n: int
    concurrency: int
    p50_ms: float
    p99_ms: float
    steps_per_s: float
    executions_per_s: float
    floor: dict[str, float]
    more: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """The figure as one line of JSON."""
        doc = asdict(self)
        return json.dumps({**doc, **doc.pop("more")})


HEADER = (
    "| workload | runtime | n | concurrency | p50 ms | p99 ms | steps/s | executions/s | |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def row(figure: Figure) -> str:
    """A figure as a row of a Markdown table."""
    more = ", ".join(f"{name} {value}" for name, value in figure.more.items())
    return (
        f"| {figure.workload} | {figure.runtime} | {figure.n:,} | {figure.concurrency} "
        f"| {figure.p50_ms:,.2f} | {figure.p99_ms:,.2f} | {figure.steps_per_s:,.0f} "
        f"| {figure.executions_per_s:,.0f} | {more} |"
    )


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def run_load(
    once: Callable[[], Awaitable[object]], concurrency: int, count: int
) -> tuple[list[float], float]:
    """Runs an operation `count` times, `concurrency` at a time. Returns each duration in ms, and the total in s."""
    took: list[float] = []
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            began = time.perf_counter()
            await once()
            took.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return took, time.perf_counter() - began
