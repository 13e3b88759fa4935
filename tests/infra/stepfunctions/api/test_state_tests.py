"""TestState over AWS' API."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.recorded import cases, checker
from tests.kit.stepfunctions.clients import Aws

ROLE = "arn:aws:iam::111111111111:role/sfn"
FUNCTION = "arn:aws:lambda:us-east-1:111111111111:function:"
PASS = {"Type": "Pass", "End": True}


@pytest.fixture
def aws(world):
    return Aws(world)


async def tried(aws, state, input=None, **given):
    given = {"roleArn": ROLE, **given}
    if input is not None:
        given["input"] = json.dumps(input)
    return await aws("TestState", definition=json.dumps(state), **given)


async def refused(aws, state, **given):
    return await aws.refused("TestState", definition=json.dumps(state), **given)


def call(name, **fields):
    return {"Type": "Task", "Resource": FUNCTION + name, "End": True, **fields}


def asked(case):
    """The request, as AWS' client sends it."""
    given = {
        name: value if isinstance(value, (str, bool)) or name in ("mock", "stateConfiguration") else json.dumps(value)
        for name, value in case["request"].items()
    }  # fmt: skip
    if case["input"] is not None:
        given["input"] = json.dumps(case["input"])
    return {**given, "definition": json.dumps(case["definition"]), "roleArn": ROLE}


async def test_all_that_was_recorded_on_aws_is_answered_so(aws):
    for case in cases("test_state"):
        expected = case["expect"]
        if not case["raises"]:
            got = await aws("TestState", **asked(case))
            assert checker().agrees(expected, got, case["wild"]), case["id"]
            continue
        code, message = await aws.refused("TestState", **asked(case))
        assert code == "ValidationException", case["id"]
        told = expected.get("Error", {}).get("Message") or expected["exception_value"]
        if expected.get("exception_typename") != "ParamValidationError":  # that is its client's
            assert message == told.split("operation: ", 1)[-1], case["id"]


async def test_a_task_is_done(world, aws):
    await world.put("work", "echo")
    state = call("work", Parameters={"a.$": "$.b"}, ResultPath="$.r", TimeoutSeconds=60)

    answer = await tried(aws, state, {"b": 1}, inspectionLevel="DEBUG")

    assert json.loads(answer["output"]) == {"b": 1, "r": {"a": 1}}
    assert json.loads(answer["inspectionData"]["result"]) == {"a": 1}


async def test_a_task_fails(world, aws):
    await world.put("work", "fail")
    catch = [{"ErrorEquals": ["States.TaskFailed"], "Next": "B"}]

    answer = await tried(aws, call("work", Catch=catch), {})

    assert answer == {
        "status": "CAUGHT_ERROR",
        "error": "States.TaskFailed",
        "cause": "no luck",
        "output": '{"Error":"States.TaskFailed","Cause":"no luck"}',
        "nextState": "B",
    }


async def test_a_task_that_takes_too_long_is_stopped(world, aws):
    world.api.longest_s = 0.05
    await world.put("work", "hold")

    answer = await tried(aws, call("work"), {})

    assert answer == {"status": "FAILED", "error": "States.Timeout"}


async def test_a_test_has_names(aws):
    state = {**PASS, "Parameters": {"c.$": "$$"}}
    answer = await tried(aws, state, [1])

    context = json.loads(answer["output"])["c"]
    name, machine = context["Execution"]["Name"], context["StateMachine"]["Name"]
    assert name != machine
    assert context["Execution"] == {
        "Id": f"arn:aws:states:us-east-1:111111111111:express:{machine}:{name}",
        "Input": [1],
        "Name": name,
        "RoleArn": ROLE,
        "StartTime": context["State"]["EnteredTime"],
    }
    assert context["State"]["Name"] == "StateName"
    assert (
        context["StateMachine"]["Id"]
        == f"arn:aws:states:us-east-1:111111111111:stateMachine:{machine}"
    )


async def test_a_mock_needs_no_role_and_must_be_as_the_answer(aws):
    state = {**call("work"), "Resource": "arn:aws:states:::sns:publish", "Parameters": {}}
    answer = await aws(
        "TestState", definition=json.dumps(state), mock={"result": '{"MessageId":"m"}'}
    )
    assert answer == {"status": "SUCCEEDED", "output": '{"MessageId":"m"}'}
    assert await refused(aws, state, mock={"result": '{"MessageId":1}'}) == (
        "ValidationException",
        "Mock result schema validation error: Field 'MessageId' must be a string",
    )


async def test_what_is_refused_has_its_code(aws):
    code, message = await refused(aws, {"Type": "Pass"})
    assert code == "InvalidDefinition"
    assert message.endswith("only one of the following fields: [Next, End] at /'")
    assert (await refused(aws, PASS, input="{"))[0] == "InvalidExecutionInput"
    code, message = await refused(aws, PASS, stateName="")
    assert code == "ValidationException"
    assert message.endswith("Member must have length greater than or equal to 1")
