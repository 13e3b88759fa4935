"""Tasks are answered over AWS' API, and activities' work is asked for."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.infra.stepfunctions.conftest import Machines
from tests.kit.http.worlds import world as opened

INVALID = ("InvalidToken", "Invalid Token: 'Invalid token'")
OVER = ("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")


async def work(aws, activity):
    return await aws("GetActivityTask", activityArn=activity, workerName="somebody")


async def test_a_worker_takes_work_and_answers(aws, machine, activity):
    arn = await aws.start(machine, input='{"n": [1]}')

    task = await work(aws, activity)
    assert task["input"] == '{"n":[1]}'
    await aws("SendTaskHeartbeat", taskToken=task["taskToken"])
    await aws("SendTaskSuccess", taskToken=task["taskToken"], output='"done"')

    assert (await aws.ended(arn))["output"] == '"done"'
    events = await aws.events(arn)
    assert [event["type"] for event in events] == [
        "ExecutionStarted", "TaskStateEntered", "ActivityScheduled", "ActivityStarted",
        "ActivitySucceeded", "TaskStateExited", "ExecutionSucceeded",
    ]  # fmt: skip
    scheduled, started, succeeded = events[2:5]
    assert scheduled["activityScheduledEventDetails"] == {
        "resource": activity, "heartbeatInSeconds": 10, "input": '{"n":[1]}',
        "inputDetails": {"truncated": False},
    }  # fmt: skip
    assert started["activityStartedEventDetails"] == {"workerName": "somebody"}
    assert succeeded["activitySucceededEventDetails"]["output"] == '"done"'


@pytest.mark.parametrize("told", [{"error": "Mine", "cause": "no"}, {"error": "Mine"}, {"cause": "no"}, {}])  # fmt: skip
async def test_a_worker_fails(aws, machine, activity, told):
    arn = await aws.start(machine)
    task = await work(aws, activity)

    await aws("SendTaskFailure", taskToken=task["taskToken"], **told)

    found = await aws.ended(arn)
    assert {name: found[name] for name in ("error", "cause") if name in found} == told
    failed = next(e for e in await aws.events(arn) if e["type"] == "ActivityFailed")
    assert failed["activityFailedEventDetails"] == told


async def test_an_output_that_is_no_json_is_refused(aws, machine, activity):
    await aws.start(machine)
    task = await work(aws, activity)

    refused = await aws.refused("SendTaskSuccess", taskToken=task["taskToken"], output="not")

    assert refused[0] == "InvalidOutput"
    assert refused[1].startswith("Invalid Output: 'Unrecognized token 'not': was expecting")


async def test_who_answers_must_know_a_token_and_come_in_time(aws, machine, activity):
    arn = await aws.start(machine)
    token = (await work(aws, activity))["taskToken"]
    answers = (
        ("SendTaskSuccess", {"output": "1"}), ("SendTaskFailure", {}), ("SendTaskHeartbeat", {}),
    )  # fmt: skip

    for operation, params in answers:
        assert await aws.refused(operation, taskToken="x", **params) == INVALID
    await aws("StopExecution", executionArn=arn)
    for operation, params in answers:
        assert await aws.refused(operation, taskToken=token, **params) == OVER


async def test_a_namespace_does_not_answer_the_tasks_of_another(aws, machine, activity, world):
    await aws.start(machine)
    token = (await work(aws, activity))["taskToken"]
    other = Machines(world, *(await world.api.namespaces.create("other", {})).split(":"))

    assert await other.refused("SendTaskSuccess", taskToken=token, output="1") == INVALID
    missing = ("ActivityDoesNotExist", f"Activity Does Not Exist: '{activity}'")
    assert await other.refused("GetActivityTask", activityArn=activity) == missing


async def test_a_heartbeat_puts_the_end_off(aws, machine, activity, world):
    arn = await aws.start(machine)
    token = (await work(aws, activity))["taskToken"]
    execution = await world.engine.executions.found("guest", "main", arn.rpartition(":")[2])
    world.clock.ms += 8000
    await aws("SendTaskHeartbeat", taskToken=token)
    world.clock.ms += 8000
    world.engine._passed(execution.id, ("0", 0, 0))
    assert (await aws("DescribeExecution", executionArn=arn))["status"] == "RUNNING"
    world.clock.ms += 3000
    world.engine._passed(execution.id, ("0", 0, 0))

    found = await aws.ended(arn)

    assert (found["status"], found["error"]) == ("FAILED", "States.Timeout")
    assert "ActivityTimedOut" in [event["type"] for event in await aws.events(arn)]


async def test_a_task_that_nobody_takes_is_not_late(aws, machine, activity, world):
    arn = await aws.start(machine)
    execution = await world.engine.executions.found("guest", "main", arn.rpartition(":")[2])
    world.clock.ms += 60_000
    world.engine._passed(execution.id, ("0", 0, 0))

    token = (await work(aws, activity))["taskToken"]
    world.clock.ms += 8000
    world.engine._passed(execution.id, ("0", 0, 0))
    await aws("SendTaskSuccess", taskToken=token, output="1")

    assert (await aws.ended(arn))["output"] == "1"


async def test_who_waits_for_work_is_answered_when_there_is_some(aws, machine, activity, world):
    world.api.activities._poll_s = 20
    asked = asyncio.ensure_future(work(aws, activity))
    await aws("DescribeActivity", activityArn=activity)

    await aws.start(machine, input="1")

    assert (await asked)["input"] == "1"


async def test_a_task_of_an_activity_that_is_gone_fails(aws, machine, activity):
    await aws("DeleteActivity", activityArn=activity)

    found = await aws.ended(await aws.start(machine))

    assert found["error"] == "States.Runtime"
    assert f"The activity {activity} does not exist." in found["cause"]


# --- callbacks ---------------------------------------------------------------------------------


async def test_a_callback_is_answered_by_the_token_that_the_action_was_given(aws, world):
    await world.put("ask", "hold")
    parameters = {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}}
    arn = await aws.start(
        await aws.machine(
            T={
                "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
                "Parameters": parameters, "End": True,
            }
        )
    )  # fmt: skip
    token = (await world.hands.held.get()).params["token"]

    await aws("SendTaskSuccess", taskToken=token, output=json.dumps({"a": 1}))

    assert (await aws.ended(arn))["output"] == '{"a":1}'


async def test_an_activity_outlives_the_server_with_its_work():
    async with opened() as world:
        aws = Machines(world)
        activity = (await aws("CreateActivity", name="work"))["activityArn"]
        machine = await aws.machine(T={"Type": "Task", "Resource": activity, "End": True})
        arn = await aws.start(machine, input="1")
        store = world.store
    async with opened(store) as again:
        aws = Machines(again)
        while (task := await work(aws, activity))["taskToken"] is None:
            pass  # a poll may end before the execution is taken up
        await aws("SendTaskSuccess", taskToken=task["taskToken"], output="2")

        assert (await aws.ended(arn))["output"] == "2"
