"""Machines that start machines, and ask this API for other things."""

from __future__ import annotations

import json
import re

import anyio.lowlevel
import pytest

from tests.infra.stepfunctions.conftest import Machines
from tests.kit.http.worlds import world as opened
from tests.kit.stepfunctions.clients import MODEL
from xingqiao.composer import Success
from xingqiao.infra.aws.integrations import Integration, IntegrationRequest
from xingqiao.infra.stepfunctions.api import operations
from xingqiao.infra.stepfunctions.integrations.sfn import OPERATIONS

START = "arn:aws:states:::states:startExecution"
SDK = "arn:aws:states:::aws-sdk:sfn:"
PASS = {"Type": "Pass", "Result": {"Arg1": "argument1"}, "End": True}
WAIT = {"Type": "Wait", "Seconds": 60, "End": True}
FAIL = {"Type": "Fail", "Error": "SomeFailure", "Cause": "it fails"}


async def asking(aws, resource, parameters, **more):
    """An execution of a machine that asks for something."""
    task = {"Type": "Task", "Resource": resource, "Parameters": parameters, "End": True, **more}
    return await aws.start(await aws.machine("parent", T=task))


async def asked(aws, resource, parameters, **more):
    """What has come of asking."""
    return await aws.ended(await asking(aws, resource, parameters, **more))


def test_every_operation_can_be_asked_for():
    assert sorted(OPERATIONS) == sorted(n[0].lower() + n[1:] for n in MODEL.operation_names)


async def test_a_machine_starts_another(aws):
    child = await aws.machine(P=PASS)

    found = await asked(aws, START, {"StateMachineArn": child, "Input": {"a": 1}, "Name": "c1"})

    output = json.loads(found["output"])
    arn = child.replace("stateMachine", "execution") + ":c1"
    assert output["ExecutionArn"] == arn
    assert list(output) == ["ExecutionArn", "SdkHttpMetadata", "SdkResponseMetadata", "StartDate"]
    told, request = output["SdkHttpMetadata"], output["SdkResponseMetadata"]["RequestId"]
    assert told["HttpStatusCode"] == 200
    assert list(told["AllHttpHeaders"]) == [
        "x-amzn-RequestId",
        "connection",
        "Content-Length",
        "Date",
        "Content-Type",
    ]
    assert list(told["HttpHeaders"]) == [
        "connection",
        "Content-Length",
        "Content-Type",
        "Date",
        "x-amzn-RequestId",
    ]
    assert told["AllHttpHeaders"] == {name: [text] for name, text in told["HttpHeaders"].items()}
    assert told["HttpHeaders"]["x-amzn-RequestId"] == request
    assert int(told["HttpHeaders"]["Content-Length"]) > len(arn)
    assert told["HttpHeaders"]["Date"].endswith(" GMT")
    begun = await aws.ended(arn)
    assert output["StartDate"] == round(begun["startDate"] * 1000)
    assert begun["input"] == '{"a":1}'


@pytest.mark.parametrize("input", [None, "{}"])
async def test_a_machine_starts_another_with_nothing(aws, input):
    found = await asked(aws, START, {"StateMachineArn": await aws.machine(P=PASS), "Input": input})

    begun = await aws.ended(json.loads(found["output"])["ExecutionArn"])
    assert begun["input"] == "{}"


@pytest.mark.parametrize(
    ("pattern", "output"),
    [(".sync", '{"Arg1":"argument1"}'), (".sync:2", {"Arg1": "argument1"})],
)
async def test_a_machine_waits_for_another(aws, pattern, output):
    child = await aws.machine(P=PASS)

    arn = await asking(aws, START + pattern, {"StateMachineArn": child, "Name": "c1"})

    found = await aws.ended(arn)
    told = json.loads(found["output"])
    begun = await aws.ended(child.replace("stateMachine", "execution") + ":c1")
    assert list(told) == sorted(told)
    assert told == {
        "ExecutionArn": begun["executionArn"], "Input": {} if pattern == ".sync:2" else "{}",
        "InputDetails": {"Included": True}, "Name": "c1", "Output": output,
        "OutputDetails": {"Included": True}, "RedriveCount": 0,
        "RedriveStatus": "NOT_REDRIVABLE",
        "RedriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
        "StartDate": round(begun["startDate"] * 1000), "StateMachineArn": child,
        "Status": "SUCCEEDED", "StopDate": round(begun["stopDate"] * 1000),
    }  # fmt: skip
    assert [event["type"] for event in await aws.events(arn)] == [
        "ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted",
        "TaskSucceeded", "TaskStateExited", "ExecutionSucceeded",
    ]  # fmt: skip
    submitted = (await aws.events(arn))[4]["taskSubmittedEventDetails"]
    assert json.loads(submitted["output"])["ExecutionArn"] == begun["executionArn"]


@pytest.mark.parametrize("pattern", [".sync", ".sync:2"])
async def test_what_a_machine_waits_for_fails(aws, pattern):
    child = await aws.machine(F=FAIL)

    found = await asked(aws, START + pattern, {"StateMachineArn": child, "Name": "c1"})

    assert (found["status"], found["error"]) == ("FAILED", "States.TaskFailed")
    cause = json.loads(found["cause"])
    assert (cause["Status"], cause["Error"], cause["Cause"]) == (
        "FAILED",
        "SomeFailure",
        "it fails",
    )
    assert cause["RedriveStatus"] == "REDRIVABLE"
    assert found["cause"].startswith('{"Cause":"it fails","Error":"SomeFailure","ExecutionArn":')


async def test_a_machine_that_is_stopped_stops_what_it_waits_for(aws):
    child = await aws.machine(W=WAIT)
    arn = await asking(aws, f"{START}.sync", {"StateMachineArn": child, "Name": "c1"})
    started = child.replace("stateMachine", "execution") + ":c1"
    await _until(aws, arn, "TaskSubmitted")

    await aws("StopExecution", executionArn=arn)

    assert (await aws.ended(started))["status"] == "ABORTED"


async def _until(aws, arn, type):
    for _ in range(1000):
        await anyio.lowlevel.checkpoint()
        if type in [event["type"] for event in await aws.events(arn)]:
            return
    raise AssertionError(type)


async def test_a_child_that_is_stopped_fails_its_parent(aws):
    child = await aws.machine(W=WAIT)
    arn = await asking(aws, f"{START}.sync:2", {"StateMachineArn": child, "Name": "c1"})
    await _until(aws, arn, "TaskSubmitted")

    started = child.replace("stateMachine", "execution") + ":c1"
    await aws("StopExecution", executionArn=started, error="Mine")

    found = await aws.ended(arn)
    assert json.loads(found["cause"])["Status"] == "ABORTED"


async def test_a_child_ends_while_its_parents_server_is_down_or_just_after():
    async with opened() as world:
        aws = Machines(world)
        activity = (await aws("CreateActivity", name="work"))["activityArn"]
        child = await aws.machine(T={"Type": "Task", "Resource": activity, "End": True})
        arn = await asking(aws, f"{START}.sync:2", {"StateMachineArn": child})
        await _until(aws, arn, "TaskSubmitted")
        store = world.store
    async with opened(store) as again:
        aws = Machines(again)
        task = await aws("GetActivityTask", activityArn=activity)
        await aws("SendTaskSuccess", taskToken=task["taskToken"], output="7")

        assert json.loads((await aws.ended(arn))["output"])["Output"] == 7
        listed = await aws("ListExecutions", stateMachineArn=child)
        assert len(listed["executions"]) == 1


@pytest.mark.parametrize("name", [None, "c1"])
async def test_a_start_that_is_asked_for_again_after_a_crash_is_the_same(aws, world, name):
    child = await aws.machine(P=PASS)
    call = operations(world.api)
    params = {"stateMachineArn": child, "name": name or "r"}
    first = await call("guest", "request", "StartExecution", params)
    await aws.ended(first["executionArn"])

    assert await call("guest", "request", "StartExecution", params) == first


async def test_errors_have_the_names_that_aws_gives_them(aws):
    missing = "arn:aws:states:us-east-1:111111111111:stateMachine:nobody"

    ours = await asked(aws, START, {"StateMachineArn": missing})

    assert ours["error"] == "StepFunctions.StateMachineDoesNotExistException"
    assert re.fullmatch(
        rf"State Machine Does Not Exist: '{missing}' \(Service: AWSStepFunctions; "
        r"Status Code: 400; Error Code: StateMachineDoesNotExist; Request ID: [0-9a-f-]{36}; "
        r"Proxy: null\)",
        ours["cause"],
    )


@pytest.mark.parametrize(
    ("operation", "parameters", "error"),
    [
        ("sendTaskSuccess", {"TaskToken": "x", "Output": {"a": 1}}, "Sfn.InvalidTokenException"),
        ("describeStateMachine", {"StateMachineArn": "x"}, "Sfn.InvalidArnException"),
        ("startExecution", {}, "Sfn.ValidationException"),
        ("startExecution", "text", "Sfn.ValidationException"),
    ],
)
async def test_errors_by_way_of_the_sdk_have_others(aws, operation, parameters, error):
    task = {"Type": "Task", "Resource": SDK + operation, "End": True}
    task |= {"Parameters": parameters} if isinstance(parameters, dict) else {"InputPath": "$.text"}
    arn = await aws.start(await aws.machine("parent", T=task), input='{"text": "text"}')

    found = await aws.ended(arn)

    assert found["error"] == error
    assert re.search(
        r"\(Service: Sfn, Status Code: 400, Request ID: [0-9a-f-]{36}\)$", found["cause"]
    )


async def test_operations_are_asked_for_by_way_of_the_sdk(aws):
    child = await aws.machine(P=PASS)
    await aws.ended(await aws.start(child, name="c1"))

    found = await asked(aws, f"{SDK}listExecutions", {"StateMachineArn": child})

    (listed,) = json.loads(found["output"])["Executions"]
    assert (listed["Name"], listed["Status"]) == ("c1", "SUCCEEDED")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", listed["StartDate"])


async def test_a_machine_answers_the_task_of_another(aws):
    activity = (await aws("CreateActivity", name="work"))["activityArn"]
    arn = await aws.start(await aws.machine(T={"Type": "Task", "Resource": activity, "End": True}))
    token = (await aws("GetActivityTask", activityArn=activity))["taskToken"]

    answer = await asked(aws, f"{SDK}sendTaskSuccess", {"TaskToken": token, "Output": {"a": 1}})

    assert answer["output"] == "{}"
    assert (await aws.ended(arn))["output"] == '{"a":1}'


async def test_a_machine_that_starts_another_may_be_answered_by_that(aws):
    answers = {
        "Type": "Task", "Resource": f"{SDK}sendTaskSuccess", "End": True,
        "Parameters": {"TaskToken.$": "$.token", "Output": {"from": "child"}},
    }  # fmt: skip
    child = await aws.machine(T=answers)

    found = await asked(
        aws, f"{START}.waitForTaskToken",
        {"StateMachineArn": child, "Input": {"token.$": "$$.Task.Token"}},
    )  # fmt: skip

    assert found["output"] == '{"from":"child"}'


async def test_a_deployments_own_integration_is_known_to_definitions():
    async def ask(asked):
        return {"asked": asked.parameters}

    async with opened(more={("jobs", "run"): Integration(ask)}) as world:
        aws = Machines(world)

        found = await asked(aws, "arn:aws:states:::jobs:run", {"a": 1})

        assert found["output"] == '{"asked":{"a":1}}'
        other = {"T": {"Type": "Task", "Resource": "arn:aws:states:::jobs:stop", "End": True}}
        code, _ = await aws.refused(
            "CreateStateMachine", name="other", roleArn="arn:aws:iam::111111111111:role/a",
            definition=json.dumps({"StartAt": "T", "States": other}),
        )  # fmt: skip
        assert code == "InvalidDefinition"


# --- functions that are not waited for -----------------------------------------------------------

INVOKE = "arn:aws:states:::lambda:invoke"


async def test_a_function_that_is_invoked_as_an_event_runs_by_itself(aws, world):
    await world.put("work", "hold")

    found = await asked(
        aws, INVOKE, {"FunctionName": "work", "Payload": {"n": 1}, "InvocationType": "Event"}
    )

    output = json.loads(found["output"])
    assert (output["StatusCode"], "Payload" in output, "ExecutedVersion" in output) == (
        202,
        False,
        False,
    )
    assert output["SdkHttpMetadata"]["HttpStatusCode"] == 202
    assert list(output["SdkHttpMetadata"]["AllHttpHeaders"]) == [
        "x-amzn-Remapped-Content-Length", "Connection", "x-amzn-RequestId", "Content-Length", "Date", "X-Amzn-Trace-Id",
    ]  # fmt: skip
    name = output["SdkResponseMetadata"]["RequestId"]
    run = await world.hands.held.get()
    assert run.params == {"n": 1}
    begun = await world.engine.executions.found("guest", "work", name)
    world.hands.answer(run.activation, Success("done"))
    assert await world.engine.wait("guest", begun.id, 20)


async def test_an_event_is_begun_once_however_often_it_is_asked_for(aws, world):
    await world.put("work", "echo")
    integration = world.api.integrations.registry.get(("lambda", "invoke"))
    parameters = {"FunctionName": "work", "Payload": {}, "InvocationType": "Event"}
    asked_for = IntegrationRequest(
        service="lambda", operation="invoke", pattern="", parameters=parameters, namespace="guest", execution="",
        activation="5" * 32,
    )  # fmt: skip

    answers = [await integration.ask(asked_for) for _ in range(3)]

    assert [answer["StatusCode"] for answer in answers] == [202] * 3
    listed = (await world.client.get("/executions", params={"name": "work"})).json()
    assert len(listed) == 1


async def test_a_dry_run_runs_nothing(aws, world):
    await world.put("work", "hold")

    found = await asked(aws, INVOKE, {"FunctionName": "work", "InvocationType": "DryRun"})

    assert json.loads(found["output"])["StatusCode"] == 204
    assert (await world.client.get("/executions", params={"name": "work"})).json() == []


@pytest.mark.parametrize("how", ["Event", "DryRun"])
async def test_a_function_that_is_not_there_is_told_so(aws, how):
    found = await asked(aws, INVOKE, {"FunctionName": "none", "InvocationType": how})

    assert found["error"] == "Lambda.ResourceNotFoundException"
    assert "function:none:$LATEST (Service: Lambda, Status Code: 404, Request ID:" in found["cause"]
