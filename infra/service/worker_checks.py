"""Check of `xingqiao doctor` that workers can start: a small action runs in each language."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from ...actions import NODE, PYTHON
from ...actions.runtimes import Bounds, WorkerPool, WorkerSettings, find_languages
from ...composer import Error
from ..clock import SystemClock
from .findings import Finding
from .isolation import open_places, open_sandbox
from .sandbox_probes import run_code

if TYPE_CHECKING:
    from ..settings import Settings

HELLO = {
    PYTHON: "def main(params):\n    return {'hello': True}\n",
    NODE: "function main(params) { return {hello: true} }\n",
}
NAMES = {PYTHON: "Python", NODE: "Node.js"}


def workers(settings: Settings) -> Finding:
    """Runs a small action in a worker of each language that is installed."""
    kinds = [kind for kind in HELLO if kind in find_languages()]
    try:
        took = asyncio.run(_hello(settings, kinds))
    except Error as error:
        fix = "see the checks `isolation` and `limits`, and the free memory of this machine"
        return Finding(check="workers", state="fail", text=f"A worker fails: {error}.", fix=fix)
    told = ", ".join(f"{NAMES[kind]} in {ms:.0f} ms" for kind, ms in took.items())
    return Finding(check="workers", state="ok", text=f"Workers start and run an action: {told}.")


async def _hello(settings: Settings, kinds: list[str]) -> dict[str, float]:
    """Milliseconds from the start of a worker to its first result, by kind."""
    settings, clock = replace(settings, data=None), SystemClock()  # a server may use the directory
    took: dict[str, float] = {}
    with open_places(settings, open_sandbox(settings)) as (sandbox, homes):
        async with WorkerPool(
            sandbox, clock, WorkerSettings(directory=homes), Bounds(size=1)
        ) as pool:
            for kind in kinds:
                began = clock.elapsed_us()
                await run_code(pool, "doctor", HELLO[kind], {}, kind)
                took[kind] = (clock.elapsed_us() - began) / 1000
    return took
