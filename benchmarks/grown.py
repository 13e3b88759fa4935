"""Fills a store for the workload `growth`, and dies as by `kill -9`: `python -m benchmarks.grown WHAT DIRECTORY N`.

`under_way`: N executions have a step under way that does not end, as the engine stores them. `records`: N
executions have ended, with their records.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from xingqiao import composer
from xingqiao.actions import Action, ActivationRow, Call, ExecutionRow, Query, Write
from xingqiao.composer import Name
from xingqiao.infra.clock import RandomIds, SystemClock
from xingqiao.infra.engine import Engine, EngineSettings, Pacing
from xingqiao.infra.service.keys import sealed
from xingqiao.infra.settings import Settings
from xingqiao.infra.stores import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from xingqiao.actions import Completion, Invocation, Store

GUEST = "guest"
HOUR = "import time\n\ndef main(params):\n    time.sleep(3600)\n"
AT_ONCE = 1_000
RARE = 100_000
PATIENT = EngineSettings(pacing=Pacing(commit_deadline_s=600))


class Held:
    """An invoker whose steps never end."""

    kinds = frozenset({"python:3"})

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        pass

    def cancel(self, activation: str) -> None:
        pass


@asynccontextmanager
async def _engine(directory: Path) -> AsyncIterator[tuple[Store, Engine]]:
    """An engine over a store that is encrypted as a server's."""
    async with SqliteStore(directory, synchronous="OFF") as durable:  # only to fill it
        store = await sealed(durable, Settings(data=directory))
        engine = Engine(
            store, {"python:3": Held()}, clock=SystemClock(), ids=RandomIds(),
            settings=PATIENT, secret=bytes(32),
        )  # fmt: skip
        await engine.__aenter__()
        await _put(engine, "hour", {"exec": {"kind": "python:3", "code": HOUR}})
        yield store, engine


async def under_way(directory: Path, n: int) -> None:
    """Starts `n` executions of two steps, and dies when all are durable."""
    async with _engine(directory) as (_, engine):
        steps = composer.sequence("hour", "hour").to_json()
        await _put(engine, "measured", {"exec": {"kind": "composition", "composition": steps}})
        call = Call(name=Name(GUEST, None, "measured"), params={"n": 1}, namespace=GUEST)
        for at in range(0, n, AT_ONCE):
            await asyncio.gather(*(engine.invoke(call) for _ in range(min(AT_ONCE, n - at))))
        os._exit(0)


async def records(directory: Path, n: int) -> None:
    """Stores `n` copies of an execution that has ended and of its record; one in 100,000 has failed."""
    async with _engine(directory) as (store, engine):
        literal = composer.literal({"ok": True}).to_json()
        await _put(engine, "measured", {"exec": {"kind": "composition", "composition": literal}})
        call = Call(name=Name(GUEST, None, "measured"), params={"n": 1}, namespace=GUEST)
        await engine.invoke(call, wait_s=60)
        await engine.endings.done()
        everything = Query(namespace=GUEST, limit=10)
        (execution,) = await store.find(ExecutionRow, everything)
        (activation,) = await store.find(ActivationRow, everything)
        for at in range(0, n, AT_ONCE):
            write = Write()
            for number in range(at, min(n, at + AT_ONCE)):
                began_ms = execution.started_ms - n + number
                place = {"id": f"{began_ms:012x}{number:020x}", "started_ms": began_ms}
                failed = number % RARE == RARE // 2
                status = "failed" if failed else "succeeded"
                write.executions.append(
                    execution._replace(**place, status=status, ended_ms=began_ms)
                )
                write.activations.append(activation._replace(**place, status=int(failed)))
            await store.commit([write])
        os._exit(0)


async def _put(engine: Engine, name: str, document: dict[str, Any]) -> None:
    await engine.registry.put(Action, Name(GUEST, None, name), document, overwrite=True)


FILLS = {"under_way": under_way, "records": records}


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(FILLS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))
