"""The frame of a system that runs in one process with its load: reads what to do, does it, prints one line of JSON.

    python -m benchmarks.peers.programs.xingqiao_inside '{"do": "measure", "directory": ..., "load": ...}'

`do` is "measure", "receive" (messages), "begin" (start the executions of a recovery, say so, and run until killed) or "resume" (open the
directory again, and run until killed).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import uvloop

from .. import mail
from ..load import measure
from ..work import ONE_STEP, Load, Mail, Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from ..work import Work


class Opened(Protocol):
    """A system that is open in this process."""

    async def ask(self, work: Work) -> Any:
        """Runs one execution durably. Returns its result."""

    async def begin(self, recovery: Recovery, number: int) -> None:
        """Starts one execution of slow steps. Returns once its start is durable."""

    async def expect(self, number: int) -> None:
        """See `mail.Mailboxes`."""

    async def received(self, number: int) -> Any:
        """See `mail.Mailboxes`."""

    async def tell(self, number: int, payload: Any) -> None:
        """See `mail.Mailboxes`."""


def main(
    opened: Callable[[Path, Sequence[Work], Recovery], AbstractAsyncContextManager[Opened]],
) -> None:
    """Does what the command line asks for."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_do(opened, json.loads(sys.argv[1])))


async def _do(
    opened: Callable[[Path, Sequence[Work], Recovery], AbstractAsyncContextManager[Opened]],
    command: dict[str, Any],
) -> None:
    directory = Path(command["directory"])
    if command["do"] == "measure":
        load = Load.from_json(command["load"])
        async with opened(directory, (ONE_STEP, load.work), Recovery()) as system:
            print(json.dumps(await measure(system.ask, load)), flush=True)
        return
    if command["do"] == "receive":
        async with opened(directory, (), Recovery()) as system:
            print(json.dumps(await mail.measure(system, Mail(**command["mail"]))), flush=True)
        return
    recovery = Recovery(**command["recovery"])
    async with opened(directory, (), recovery) as system:
        if command["do"] == "begin":
            async with asyncio.TaskGroup() as group:
                for number in range(recovery.executions):
                    group.create_task(system.begin(recovery, number))
            print(json.dumps({"begun": recovery.executions}), flush=True)
        await asyncio.Event().wait()
