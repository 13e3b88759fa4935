"""Lambda functions as others see them: state machines, and OpenWhisk's clients."""

from __future__ import annotations

import base64
import json

import pytest

from tests.kit.lambdas.clients import ROLE, client_of


def test_a_task_of_a_state_machine_gets_its_result_or_its_error(aws, server, deployed):
    deployed("echo")
    deployed("fails", "handler.odd")
    states = client_of(server, "stepfunctions")
    catch = {"ErrorEquals": ["Odd"], "Next": "Caught"}
    definition = {
        "StartAt": "Echo",
        "States": {
            "Echo": {
                "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:111111111111:function:echo",
                "ResultPath": "$.echoed", "Next": "Fails",
            },
            "Fails": {
                "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
                "Parameters": {"FunctionName": "fails", "Payload": [1]}, "Catch": [catch], "End": True,
            },
            "Caught": {"Type": "Pass", "End": True},
        },
    }  # fmt: skip
    machine = states.create_state_machine(
        name="tasks", definition=json.dumps(definition), roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]

    ended = states.start_sync_execution(stateMachineArn=machine, input='{"n": [1]}')
    assert ended["status"] == "SUCCEEDED"
    caught = json.loads(ended["output"])
    assert caught["Error"] == "Odd"
    cause = json.loads(caught["Cause"])
    assert list(cause) == ["errorMessage", "errorType", "requestId", "stackTrace"]
    assert cause["errorMessage"] == "odd one"


INVOKE = "arn:aws:states:::lambda:invoke"
FUNCTION = "arn:aws:lambda:us-east-1:111111111111:function:"


def done(server, task, input):
    """What comes of a machine that is one Task."""
    states = client_of(server, "stepfunctions")
    definition = json.dumps(
        {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True, **task}}}
    )
    machine = states.create_state_machine(
        name="one-task", definition=definition, roleArn=ROLE, type="EXPRESS"
    )["stateMachineArn"]
    ended = states.start_sync_execution(stateMachineArn=machine, input=json.dumps(input))
    states.delete_state_machine(stateMachineArn=machine)
    return ended


@pytest.mark.parametrize(
    ("payload", "event", "length"),
    [("0", 0, "1"), ("0.0", 0.0, "3"), ('"HelloWorld"', "HelloWorld", "12"), ('{"a":[1]}', {"a": [1]}, "10"), (None, {}, "2")],
)  # fmt: skip
def test_a_machines_payload_is_the_requests_text(server, deployed, payload, event, length):
    deployed("echo")

    ended = done(server, {"Resource": INVOKE}, {"FunctionName": "echo", "Payload": payload})
    output = json.loads(ended["output"])
    assert output["Payload"] == event
    assert output["SdkHttpMetadata"]["HttpHeaders"]["Content-Length"] == length


def test_a_machine_is_told_the_end_of_the_log_if_it_asks(server, deployed):
    deployed("echo")

    parameters = {"FunctionName": "echo", "Payload": {"n": 1}, "LogType": "Tail"}
    output = json.loads(done(server, {"Resource": INVOKE}, parameters)["output"])
    request = output["SdkResponseMetadata"]["RequestId"]
    lines = base64.b64decode(output["LogResult"]).decode().splitlines()
    assert lines[:3] == [f"START RequestId: {request} Version: $LATEST", 'asked {"n": 1}', f"END RequestId: {request}"]  # fmt: skip
    assert output["SdkHttpMetadata"]["HttpHeaders"]["X-Amz-Log-Result"] == output["LogResult"]


@pytest.mark.parametrize("resource", [INVOKE, f"{FUNCTION}fails"])
def test_a_machines_error_says_where_in_the_functions_files_it_was_raised(
    server, deployed, resource
):
    deployed("fails", "handler.odd")

    ended = done(server, {"Resource": resource}, {"FunctionName": "fails"})
    assert ended["error"] == "Odd"
    trace = json.loads(ended["cause"])["stackTrace"]
    assert [line.split(",")[0] for line in trace] == ['  File "/var/task/handler.py"'] * 2


@pytest.mark.parametrize(
    ("size", "fits"), [(262_142, True), (262_143, False), (1 << 20, False), (3 << 20, False)]
)
def test_bytes_are_a_result_as_large_as_any_other(server, deployed, size, fits):
    deployed("large", "handler.large")

    ended = done(server, {"Resource": f"{FUNCTION}large"}, size)
    if fits:
        assert ended["output"] == '"' + "a" * size + '"'
    else:
        told = f"The state/task '{FUNCTION}large' returned a result with a size exceeding the maximum number of bytes service limit."  # fmt: skip
        assert (ended["error"], ended["cause"]) == ("States.DataLimitExceeded", told)


def test_openwhisks_clients_can_invoke_it(aws, server, deployed):
    deployed("echo")

    with server.client() as client:
        url = "/actions/echo?blocking=true&result=true"
        assert client.post(url, json={"n": 1}).json() == {"n": 1}
