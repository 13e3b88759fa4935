"""Recovery after `kill -9`: how soon a server serves, goes on, and ends what was under way; and what it repeats."""

from __future__ import annotations

import asyncio
import re
import signal
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xingqiao import composer

from .figures import Figure, run_load
from .http import Connection
from .server import API, Server, composition_of, deploy

if TYPE_CHECKING:
    from collections.abc import Iterator

STEPS = 10
CLIENTS = 32
LOOK_S = 0.005
OPEN = ("--isolation", "none")  # the steps write to a file outside
# Writes down when it begins, and its activation, which is the same if the step is repeated.
NOTES = """
import os, time

def main(params):
    line = f"{time.time()} {os.environ['__OW_ACTIVATION_ID']}\\n"
    file = os.open(params["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)
    return params
"""


def recoveries(floor: dict[str, float], scale: float) -> Iterator[Any]:
    """Kills a server that runs executions of ten steps, starts it again, and measures the recovery."""
    yield _recovery(floor, max(20, int(100 * scale)))
    yield _recovery(floor, max(100, int(2_000 * scale)))


async def _recovery(floor: dict[str, float], n: int) -> Figure:
    with tempfile.TemporaryDirectory() as directory:
        runs = Path(directory) / "runs"
        await _killed(f"{directory}/data", runs, n)
        before = _lines(runs)
        began = time.time()
        second = Server(f"{directory}/data", *OPEN)
        await second.start()
        served_s = time.time() - began
        async with operator(second) as connection:
            under_way = await gauge(connection, "live")
            while await gauge(connection, "recovery_left"):  # noqa: ASYNC110  of another process
                await asyncio.sleep(LOOK_S)
            taken_up_s = time.time() - began
            while await gauge(connection, "live"):  # noqa: ASYNC110  of another process
                await asyncio.sleep(LOOK_S)
            all_s = time.time() - began
        await second.stop()
        lines = _lines(runs)
    after = [float(time) for time, _ in lines[len(before) :]]
    first_s = min(after) - began if after else all_s
    ran = {activation for _, activation in lines}
    assert len(ran) == n * STEPS, f"{len(ran)} steps of {n * STEPS} have run"
    return Figure(
        workload="recovery", runtime="python:3", n=n, concurrency=16,
        p50_ms=first_s * 1000, p99_ms=all_s * 1000, steps_per_s=len(after) / all_s,
        executions_per_s=under_way / all_s, floor=floor,
        more={
            "under_way": under_way, "serves_s": round(served_s, 2),
            "first_step_s": round(first_s, 2), "taken_up_s": round(taken_up_s, 2),
            "all_s": round(all_s, 2), "steps_left": n * STEPS - len(before),
            "repeated": len(lines) - len(ran),
        },
    )  # fmt: skip


async def _killed(data: str, runs: Path, n: int) -> None:
    """Starts `n` executions, and kills the server as soon as it has accepted the last."""
    first = Server(data, *OPEN)
    await first.start()
    noting = {"exec": {"kind": "python:3", "code": NOTES}}
    deploy(first, noting=noting, measured=composition_of(composer.sequence(*["noting"] * STEPS)))
    body = b'{"file": "%s"}' % str(runs).encode()
    async with AsyncExitStack() as stack:
        connections = [first.connection() for _ in range(CLIENTS)]
        free = [await stack.enter_async_context(connection) for connection in connections]

        async def once() -> None:
            connection = free.pop()
            status, _ = await connection.post(f"{API}/actions/measured", body)
            assert status == 202, status
            free.append(connection)

        await run_load(once, CLIENTS, n)  # faster than the steps can run
        await first.stop(signal.SIGKILL)


def _lines(runs: Path) -> list[list[str]]:
    return [line.split() for line in runs.read_text().splitlines()] if runs.exists() else []


def operator(server: Server) -> Connection:
    """A connection with the operator's credentials, which may read the metrics of all namespaces."""
    return Connection(server.url, (Path(server.directory) / "operator").read_text().strip())


async def gauge(connection: Connection, name: str) -> int:
    """The value of a metric of the server."""
    _, body = await connection.get("/metrics")
    found = re.search(rf"^xingqiao_{name} (\S+)$", body.decode(), re.MULTILINE)
    assert found is not None, name
    return int(float(found[1]))
