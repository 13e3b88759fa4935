"""Runs of distributed Maps as AWS' clients list, describe and update them."""

from __future__ import annotations

import json

import anyio.lowlevel

from tests.infra.stepfunctions.conftest import Machines
from tests.kit.http.worlds import world as opened
from xingqiao.composer import Success

MISSING = "arn:aws:states:us-east-1:111111111111:mapRun:main/L:00000000-0000-0000-0000-000000000000"
ASK = {"Type": "Task", "Resource": "ask", "End": True}


def counts(**told):
    names = ("pending", "running", "succeeded", "failed", "timedOut", "aborted")
    made = {name: told.get(name, 0) for name in names}
    return {**made, "total": sum(made.values()), "resultsWritten": made["succeeded"]}


async def begun(aws, world, code, items, **fields):
    """An execution of a Map whose children run this code, and its run's ARN."""
    await world.put("ask", code)
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    processor = {"ProcessorConfig": config, "StartAt": "A", "States": {"A": ASK}}
    state = {"Type": "Map", "Label": "L", "ItemProcessor": processor, "End": True, **fields}
    arn = await aws.start(await aws.machine(M=state), input=json.dumps(items))
    for _ in range(1000):
        await anyio.lowlevel.checkpoint()
        (run,) = (await aws("ListMapRuns", executionArn=arn))["mapRuns"] or [None]
        if run is not None:
            return arn, run["mapRunArn"]
    raise AssertionError(arn)


async def until(aws, run, condition):
    """How the run stands, as soon as it does so."""
    for _ in range(1000):
        await anyio.lowlevel.checkpoint()
        found = await aws("DescribeMapRun", mapRunArn=run)
        if condition(found):
            return found
    raise AssertionError(found)


async def test_a_run_that_has_succeeded(aws, world):
    arn, run = await begun(aws, world, "echo", [{}, {}], MaxConcurrency=1)
    await aws.ended(arn)

    (listed,) = (await aws("ListMapRuns", executionArn=arn))["mapRuns"]
    found = await aws("DescribeMapRun", mapRunArn=run)

    assert listed == {
        "executionArn": arn, "mapRunArn": run, "startDate": found["startDate"],
        "stateMachineArn": "arn:aws:states:us-east-1:111111111111:stateMachine:main/L",
        "stopDate": found["stopDate"],
    }  # fmt: skip
    assert found == {
        "mapRunArn": run, "executionArn": arn, "status": "SUCCEEDED", "maxConcurrency": 1,
        "toleratedFailureCount": 0, "toleratedFailurePercentage": 0.0, "redriveCount": 0,
        "startDate": found["startDate"], "stopDate": found["stopDate"],
        "executionCounts": counts(succeeded=2), "itemCounts": counts(succeeded=2),
    }  # fmt: skip
    started = next(e for e in await aws.events(arn) if e["type"] == "MapRunStarted")
    assert started["mapRunStartedEventDetails"] == {"mapRunArn": run}


async def test_a_run_in_which_some_fail(aws, world):
    arn, run = await begun(aws, world, "fail", [{}, {}, {}], ToleratedFailurePercentage=100)
    await aws.ended(arn)

    found = await aws("DescribeMapRun", mapRunArn=run)

    assert (found["status"], found["executionCounts"]) == ("SUCCEEDED", counts(failed=3))
    assert (found["toleratedFailureCount"], found["toleratedFailurePercentage"]) == (0, 100.0)


async def test_a_run_that_fails(aws, world):
    arn, run = await begun(aws, world, "fail", [{}, {}, {}], MaxConcurrency=1)
    await aws.ended(arn)

    found = await aws("DescribeMapRun", mapRunArn=run)

    assert (found["status"], found["executionCounts"]) == ("FAILED", counts(failed=1))


async def test_batches_are_counted_by_their_items(aws, world):
    batcher = {"MaxItemsPerBatch": 2}
    arn, run = await begun(aws, world, "echo", [1, 2, 3, 4, 5], ItemBatcher=batcher)
    await aws.ended(arn)

    found = await aws("DescribeMapRun", mapRunArn=run)

    assert found["executionCounts"] == counts(succeeded=3)
    assert found["itemCounts"] == counts(succeeded=5)


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


def nested(name, state):
    """A distributed Map of children that are one state of this name."""
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    processor = {"ProcessorConfig": config, "StartAt": name, "States": {name: state}}
    return {"Type": "Map", "ItemProcessor": processor}


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


async def test_a_redriven_run_goes_on(aws, world):
    arn, run = await begun(aws, world, "fail", [{}, {}])
    await aws.ended(arn)
    code = {"exec": {"kind": "python:3", "code": "echo"}}
    await world.client.put("/actions/ask?overwrite=true", json=code)

    await aws("RedriveExecution", executionArn=arn)

    assert (await aws.ended(arn))["status"] == "SUCCEEDED"
    found = await aws("DescribeMapRun", mapRunArn=run)
    assert (found["status"], found["redriveCount"]) == ("SUCCEEDED", 1)
    assert "redriveDate" in found
    assert found["executionCounts"] == counts(succeeded=2)


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


async def test_a_map_inside_a_branch_has_runs_of_its_own(aws, world):
    await world.put("ask", "echo")
    branches = [
        {
            "StartAt": f"M{n}",
            "States": {f"M{n}": {**nested(f"A{n}", ASK), "End": True, "ToleratedFailureCount": n}},
        }
        for n in (1, 2)
    ]
    arn = await aws.start(
        await aws.machine(P={"Type": "Parallel", "Branches": branches, "End": True}),
        input="[{}, {}]",
    )
    await aws.ended(arn)

    runs = (await aws("ListMapRuns", executionArn=arn))["mapRuns"]

    found = [await aws("DescribeMapRun", mapRunArn=run["mapRunArn"]) for run in runs]
    assert sorted(run["toleratedFailureCount"] for run in found) == [1, 2]
    assert [run["executionCounts"] for run in found] == [counts(succeeded=2)] * 2
