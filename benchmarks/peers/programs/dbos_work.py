"""The work as workflows of DBOS, for both of its programs."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from .. import marks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

expected: dict[int, Any] = {}  # handles of executions that wait for a message
LONG_S = 3600.0  # longer than any measurement


@DBOS.step()
async def nothing(payload: dict[str, Any]) -> dict[str, Any]:
    """A step that takes no time."""
    return payload


@DBOS.step()
async def slow(payload: dict[str, Any]) -> dict[str, Any]:
    """A step that takes time, and writes down when it begins and ends."""
    return await marks.main(payload)


@DBOS.workflow()
async def sequence(n: int, payload: dict[str, Any]) -> dict[str, Any]:
    """Runs n steps, one after the other."""
    for _ in range(n):
        payload = await nothing(payload)
    return payload


@DBOS.workflow()
async def fanout(n: int, payload: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs n steps at once."""
    return await asyncio.gather(*[nothing(payload) for _ in range(n)])


@DBOS.workflow()
async def slowly(steps: int, payload: dict[str, Any]) -> dict[str, Any]:
    """Runs the steps of a recovery."""
    for _ in range(steps):
        payload = await slow(payload)
    return payload


@DBOS.workflow()
async def mailbox() -> Any:
    """Waits for a message, and returns its payload."""
    return await DBOS.recv_async("go", timeout_seconds=LONG_S)


WORKFLOWS = {"sequence": sequence, "fanout": fanout}


async def begin(steps: int, payload: dict[str, Any]) -> None:
    """Starts an execution of a recovery. Returns once its start is durable."""
    with SetWorkflowID(f"execution-{payload['execution']}"):
        await DBOS.start_workflow_async(slowly, steps, payload)


async def expect(number: int) -> None:
    """Starts an execution that waits for a message. Returns once its start is durable."""
    with SetWorkflowID(f"mail-{number}"):
        expected[number] = await DBOS.start_workflow_async(mailbox)


async def received(number: int) -> Any:
    """Waits for such an execution with the handle of its start, which does not poll. Returns the payload."""
    return await expected.pop(number).get_result()


async def tell(number: int, payload: Any) -> None:
    """Tells an execution its message. Returns once the message is durable."""
    await DBOS.send_async(f"mail-{number}", payload, "go")


@asynccontextmanager
async def launched(directory: Path) -> AsyncIterator[None]:
    """DBOS on SQLite. With a write-ahead log, which it does not ask for, it is a third faster."""
    file = directory / "dbos.db"
    with sqlite3.connect(
        file
    ) as database:  # a property of the file; synchronous=FULL is SQLite's default
        database.execute("PRAGMA journal_mode = WAL")
    config = DBOSConfig(
        name="peers",
        system_database_url=f"sqlite:///{file}",
        log_level="ERROR",
        run_admin_server=False,
        application_version="1",  # executions are taken up by the version that began them
        executor_id="local",
    )
    DBOS(config=config)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()
