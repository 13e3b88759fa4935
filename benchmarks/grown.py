"""Fills a store for the workload `growth`, and dies as by `kill -9`: `python -m benchmarks.grown DIRECTORY N`.

N executions have a step under way that never ends. They are made by the engine itself, in this process.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from xingqiao import composer
from xingqiao.actions import Action, Call
from xingqiao.composer import Name
from xingqiao.infra.clock import RandomIds, SystemClock
from xingqiao.infra.engine import Engine, EngineSettings, Pacing
from xingqiao.infra.service.keys import sealed
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from xingqiao.actions import Completion, Invocation

GUEST = "guest"
HOUR = "import time\n\ndef main(params):\n    time.sleep(3600)\n"
AT_ONCE = 1_000
PATIENT = EngineSettings(pacing=Pacing(commit_deadline_s=600))


class Held:
    """An invoker whose steps never end."""

    kinds = frozenset({"python:3"})

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        pass

    def cancel(self, activation: str) -> None:
        pass


async def fill(directory: Path, n: int) -> None:
    """Starts `n` executions of two steps, and returns when all are durable."""
    async with SqliteStore(directory, synchronous="OFF") as durable:  # only to fill it
        store = await sealed(durable, Settings(data=directory))
        engine = Engine(
            store, {"python:3": Held()}, clock=SystemClock(), ids=RandomIds(),
            settings=PATIENT, secret=bytes(32),
        )  # fmt: skip
        await engine.__aenter__()
        await _put(engine, "hour", {"exec": {"kind": "python:3", "code": HOUR}})
        steps = composer.sequence("hour", "hour").to_json()
        await _put(engine, "measured", {"exec": {"kind": "composition", "composition": steps}})
        call = Call(name=Name(GUEST, None, "measured"), params={"n": 1}, namespace=GUEST)
        for at in range(0, n, AT_ONCE):
            await asyncio.gather(*(engine.invoke(call) for _ in range(min(AT_ONCE, n - at))))
        os._exit(0)


async def _put(engine: Engine, name: str, document: dict[str, Any]) -> None:
    await engine.registry.put(Action, Name(GUEST, None, name), document, overwrite=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fill(Path(sys.argv[1]), int(sys.argv[2])))
