"""The types of programs that are written for `Xingqiao`: mypy checks this file; nothing in it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_type

if TYPE_CHECKING:
    from xingqiao.client import (
        BlockingBatch,
        BlockingClient,
        BlockingExecution,
        BlockingSchedule,
        Client,
        Listing,
        RemoteBatch,
        RemoteEntity,
        RemoteExecution,
        RemoteSchedule,
        Xingqiao,
        connect,
    )
    from xingqiao.composer import JSON
    from xingqiao.embedded import (
        BatchHandle,
        Embedded,
        EntityHandle,
        ExecutionHandle,
        ScheduleHandle,
    )
    from xingqiao.infra.handles import Batch, Entity, Execution, Schedule

    async def program(x: Xingqiao) -> JSON:
        """A program that does not say where it runs."""
        async for found in x.executions(status="failed"):
            await found.redrive()
        return await (await x.start("order", {"n": 1}, id="order-7")).result(timeout=3600)

    async def run(client: Client, engine: Embedded) -> None:
        """Both are a `Xingqiao`."""
        await program(client)
        await program(engine)

    def executions(one: RemoteExecution, other: ExecutionHandle) -> tuple[Execution, Execution]:
        """Both are an `Execution`."""
        return one, other

    def entities(one: RemoteEntity, other: EntityHandle) -> tuple[Entity, Entity]:
        """Both are an `Entity`."""
        return one, other

    def schedules(one: RemoteSchedule, other: ScheduleHandle) -> tuple[Schedule, Schedule]:
        """Both are a `Schedule`."""
        return one, other

    def batches(one: RemoteBatch, other: BatchHandle) -> tuple[Batch, Batch]:
        """Both are a `Batch`."""
        return one, other

    async def started(x: Xingqiao) -> None:
        """The arguments of a start are checked by name and by type."""
        await x.start("order", attributes={"customer": "anna"}, memo=[1], run_timeout=60)
        await x.invoke("order", execution_timeout="long")  # type: ignore[arg-type]
        await x.run("order", colour="red")  # type: ignore[call-arg]

    async def asynchronous() -> None:
        """What `async with` opens."""
        async with connect() as x:
            assert_type(x, Client)
            assert_type(x.executions(), Listing[RemoteExecution])

    def synchronous() -> None:
        """What `with` opens."""
        with connect() as x:
            assert_type(x, BlockingClient)
            assert_type(x.start("order"), BlockingExecution)
            assert_type(x.invoke("order"), JSON)
            x.start("order", colour="red")  # type: ignore[call-arg]
            assert_type(x.schedule("daily"), BlockingSchedule)
            assert_type(x.start_batch("status = 'failed'", "redrive", per_second=2), BlockingBatch)
            x.start_batch("status = 'failed'", "tell", detail={})  # type: ignore[call-arg]
            assert_type(x.send_event("order.placed", {"n": 1}, source="/shop"), str)
            x.send_event("order.placed", {"n": 1})  # type: ignore[call-arg]
            for found in x.executions("status = 'failed'", name="order"):
                assert_type(found, BlockingExecution)


def test_mypy_checks_this_file():
    """The table of modules that mypy checks names it."""
    from pathlib import Path

    root = Path(__file__).parents[3]
    assert f'"tests.infra.handles.{Path(__file__).stem}"' in (root / "pyproject.toml").read_text()
