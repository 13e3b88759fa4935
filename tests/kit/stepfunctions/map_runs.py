"""Runs of distributed Maps, begun for tests."""

from __future__ import annotations

import json

import anyio.lowlevel

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


def nested(name, state):
    """A distributed Map of children that are one state of this name."""
    config = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    processor = {"ProcessorConfig": config, "StartAt": name, "States": {name: state}}
    return {"Type": "Map", "ItemProcessor": processor}
