"""Runs of distributed Maps as AWS' clients list, describe and update them."""

from __future__ import annotations

import anyio.lowlevel

from tests.infra.stepfunctions.conftest import Machines
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.map_runs import begun, counts, nested
from xingqiao.composer import Success

MISSING = "arn:aws:states:us-east-1:111111111111:mapRun:main/L:00000000-0000-0000-0000-000000000000"


async def until(aws, run, condition):
    """How the run stands, as soon as it does so."""
    for _ in range(1000):
        await anyio.lowlevel.checkpoint()
        found = await aws("DescribeMapRun", mapRunArn=run)
        if condition(found):
            return found
    raise AssertionError(found)


async def test_a_run_under_way(aws, world):
    arn, run = await begun(aws, world, "hold", [{}] * 4, MaxConcurrency=2)
    await until(aws, run, lambda found: found["executionCounts"]["running"] == 2)
    world.hands.answer(world.hands.held.get_nowait().activation, Success({}))

    found = await until(aws, run, lambda found: found["executionCounts"]["succeeded"])

    assert found["status"] == "RUNNING"
    assert "stopDate" not in found
    assert found["executionCounts"] == counts(pending=1, running=2, succeeded=1)
    await aws("StopExecution", executionArn=arn)
    found = await aws("DescribeMapRun", mapRunArn=run)
    assert (found["status"], found["executionCounts"]) == (
        "ABORTED",
        counts(succeeded=1, aborted=2),
    )


async def test_a_run_has_other_bounds_while_it_runs(aws, world):
    arn, run = await begun(aws, world, "hold", [{}] * 4, MaxConcurrency=1)

    assert await aws("UpdateMapRun", mapRunArn=run, maxConcurrency=3) == {}
    found = await until(aws, run, lambda found: found["executionCounts"]["running"] == 3)
    assert found["maxConcurrency"] == 3

    await aws("UpdateMapRun", mapRunArn=run, toleratedFailurePercentage=50, toleratedFailureCount=3)
    found = await aws("DescribeMapRun", mapRunArn=run)
    assert (found["toleratedFailureCount"], found["toleratedFailurePercentage"]) == (3, 50.0)
    execution = await world.engine.executions.found("guest", "main", arn.rpartition(":")[2])
    (parent,) = [f for f in world.engine._parts.runs[execution.id].execution.fibers.values() if f.id == "0"]  # fmt: skip
    assert parent.value["tolerated"] == 2

    await aws("StopExecution", executionArn=arn)
    assert await aws("UpdateMapRun", mapRunArn=run, maxConcurrency=9) == {}
    assert (await aws("DescribeMapRun", mapRunArn=run))["maxConcurrency"] == 3


async def test_a_run_is_the_same_after_a_restart():
    async with opened() as world:
        aws = Machines(world)
        arn, run = await begun(aws, world, "hold", [{}] * 3, MaxConcurrency=1)
        await aws("UpdateMapRun", mapRunArn=run, maxConcurrency=2)
        await until(aws, run, lambda found: found["executionCounts"]["running"] == 2)
        store = world.store
    async with opened(store) as again:
        aws = Machines(again)
        found = await aws("DescribeMapRun", mapRunArn=run)
        assert (found["maxConcurrency"], found["executionCounts"]) == (
            2,
            counts(pending=1, running=2),
        )
        for _ in range(3):
            again.hands.answer((await again.hands.held.get()).activation, Success({}))

        assert (await aws.ended(arn))["status"] == "SUCCEEDED"
        found = await aws("DescribeMapRun", mapRunArn=run)
        assert found["executionCounts"] == counts(succeeded=3)


async def test_runs_are_listed_a_page_at_a_time(aws):
    passes = {"Type": "Pass", "End": True}
    arn = await aws.start(
        await aws.machine(
            M={**nested("A", passes), "Next": "N"},
            N={**nested("B", passes), "Next": "O"},
            O={**nested("C", passes), "End": True},
        ),
        input="[1]",
    )
    await aws.ended(arn)

    first = await aws("ListMapRuns", executionArn=arn, maxResults=2)
    second = await aws("ListMapRuns", executionArn=arn, nextToken=first["nextToken"])

    assert len({run["mapRunArn"] for run in (*first["mapRuns"], *second["mapRuns"])}) == 3
    assert len(second["mapRuns"]) == 1


async def test_there_must_be_such_a_run(aws, world):
    missing = ("ResourceNotFound", f"Resource not found: '{MISSING}'")
    assert await aws.refused("DescribeMapRun", mapRunArn=MISSING) == missing
    assert await aws.refused("UpdateMapRun", mapRunArn=MISSING, maxConcurrency=1) == missing
    _, run = await begun(aws, world, "hold", [1])
    other = run.replace("/L:", "/M:")
    assert (await aws.refused("DescribeMapRun", mapRunArn=other))[0] == "ResourceNotFound"
    assert (await aws.refused("DescribeMapRun", mapRunArn="x"))[0] == "InvalidArn"
    assert (await aws.refused("UpdateMapRun", mapRunArn=run))[0] == "ValidationException"
    assert (await aws.refused("ListExecutions", mapRunArn=run))[0] == "ValidationException"
