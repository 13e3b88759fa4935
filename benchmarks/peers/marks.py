"""What the slow steps of a recovery write down: their beginnings and ends, in one file for all processes.

The text of this module is also the code of Xingqiao's action, so that all systems run the same step.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

STARTED = ".started"  # the end of the name of a file that says that all executions have started


def mark(payload: dict[str, Any], word: str) -> None:
    """Appends a line: execution, step, began or ended, and the time in ns. One write is never mixed with another."""
    line = f"{payload['execution']} {payload['step']} {word} {time.time_ns()}\n"
    file = os.open(payload["marks"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


async def main(payload: dict[str, Any]) -> dict[str, Any]:
    """The slow step. Returns its payload for the next step.

    No step begins before all executions have started: otherwise a system that starts them slowly would have
    ended some before it is killed, and would have less to recover.
    """
    while not os.path.exists(payload["marks"] + STARTED):  # noqa: PTH110, ASYNC110, ASYNC240
        await asyncio.sleep(0.01)
    mark(payload, "began")
    await asyncio.sleep(payload["ms"] / 1000)
    mark(payload, "ended")
    return {**payload, "step": payload["step"] + 1}
