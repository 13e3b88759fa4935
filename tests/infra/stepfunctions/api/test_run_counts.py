"""Runs of distributed Maps: how their items and children are counted."""

from __future__ import annotations

from tests.kit.stepfunctions.map_runs import ASK, begun, counts, nested


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
