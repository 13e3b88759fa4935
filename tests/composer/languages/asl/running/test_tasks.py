"""Tasks: what is invoked, what its result and its errors become, and which events tell of it."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked_of_tasks import CALLBACK, request_of
from tests.kit.asl.machines import (
    ACTIVITY,
    FN,
    INVOKE,
    START,
    events,
    jsonata,
    lowered,
    machine,
    ran,
    task,
    types,
)
from xingqiao.composer import Execution, Limits
from xingqiao.composer.languages.asl.running.task_tokens import task_token, token_place
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.testing import Never


@pytest.mark.parametrize(
    ("resource", "action"),
    [
        (FN, "/_/fn"),
        (f"{FN}:live", "/_/fn"),
        (f"{FN}:live", "/_/fn@live"),
        (f"{FN}:$LATEST", "/_/fn"),
        ("fn", "/_/fn"),
        ("/other/package/fn", "/other/package/fn"),
    ],
)
@pytest.mark.parametrize("result", [{"a": 1}, [1], "text", None, {"error": "is a result, too"}])
def test_a_function_is_given_the_input_and_its_result_is_the_output(resource, action, result):
    run = ran(task(resource), [1, 2], actions={action: lambda _: result})

    assert run.outcome.value == result
    assert run.calls(action) == [[1, 2]]
    assert types(run)[1:-1] == [
        "TaskStateEntered", "LambdaFunctionScheduled", "LambdaFunctionStarted",
        "LambdaFunctionSucceeded", "TaskStateExited",
    ]  # fmt: skip
    assert events(run)[2][3] == {"resource": resource}


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"FunctionName": "fn:live"}, "/_/fn@live"),
        ({"FunctionName": f"{FN}:live"}, "/_/fn@live"),
        ({"FunctionName": "fn", "Qualifier": "live"}, "/_/fn@live"),
        ({"FunctionName": FN, "Qualifier": "7"}, "/_/fn@7"),
        ({"FunctionName": FN, "Qualifier": "$LATEST"}, "/_/fn"),
        ({"FunctionName": FN, "Qualifier": 7}, "/_/fn"),
    ],
)
def test_lambda_invoke_runs_the_version_or_the_alias_that_it_names(given, action):
    run = ran(task(INVOKE, Parameters={**given, "Payload": 1}), actions={action: lambda _: "done"})

    assert run.calls(action) == [1]


def test_an_arn_that_is_not_a_functions_is_not_found():
    run = ran(task(INVOKE, Parameters={"FunctionName": "arn:aws:sqs:us-east-1:111111111111:fn"}))

    assert run.error["Error"] == "Lambda.ResourceNotFoundException"


def test_lambda_invoke_tells_what_lambda_answers():
    arguments = {"FunctionName": FN, "Payload.$": "$.order"}
    run = ran(task(INVOKE, Parameters=arguments), {"order": 7}, actions={"/_/fn": {"ok": True}})

    assert run.calls("/_/fn") == [7]
    output = run.outcome.value
    assert output["Payload"] == {"ok": True}
    assert (output["StatusCode"], output["ExecutedVersion"]) == (200, "$LATEST")
    assert output["SdkResponseMetadata"]["RequestId"] == request_of(run)
    assert types(run)[2:5] == ["TaskScheduled", "TaskStarted", "TaskSucceeded"]
    assert events(run)[2][3] == {
        "resourceType": "lambda", "resource": "invoke", "region": "us-east-1",
    }  # fmt: skip


def test_lambda_invoke_without_a_payload_gives_an_empty_one():
    run = ran(task(INVOKE, Parameters={"FunctionName": "fn"}), actions={"/_/fn": 1})

    assert run.calls("/_/fn") == [{}]


@pytest.mark.parametrize("parameters", [{"FunctionName": 5}, {"Payload": 1}])
def test_lambda_invoke_needs_a_function(parameters):
    run = ran(task(INVOKE, Parameters=parameters))

    assert run.error["Error"] == "States.Runtime"
    assert "FunctionName" in run.error["Cause"]


def test_a_function_with_a_name_that_is_none_is_not_found():
    run = ran(task(INVOKE, Parameters={"FunctionName": "a//b"}))

    assert run.error["Error"] == "Lambda.ResourceNotFoundException"


def test_an_integration_is_handed_over_with_what_it_is_asked():
    run = ran(
        task(f"{START}.sync:2", Parameters={"StateMachineArn": "arn"}),
        actions={"/whisk.system/states/integration": {"Status": "SUCCEEDED"}},
    )

    (given,) = run.calls("/whisk.system/states/integration")
    assert given["service"], given["operation"] == ("states", "startExecution")
    assert (given["pattern"], given["parameters"]) == (".sync:2", {"StateMachineArn": "arn"})
    assert given["execution"].endswith(":execution:machine:simulation")
    assert events(run)[2][3]["resource"] == "startExecution.sync:2"


def test_an_activity_starts_when_it_is_taken():
    run = ran(task(ACTIVITY), 1, actions={"/whisk.system/states/activity": {"done": 1}})

    assert run.calls("/whisk.system/states/activity") == [{"arn": ACTIVITY, "input": 1}]
    assert types(run)[2:5] == ["ActivityScheduled", "ActivityStarted", "ActivitySucceeded"]


@pytest.mark.parametrize(
    ("context", "region"),
    [
        ({"Execution": {"Id": "arn:aws:states:eu-west-1:1:execution:m:e"}}, "eu-west-1"),
        ({}, "us-east-1"),
    ],
)
def test_events_are_of_the_region_of_their_execution(context, region):
    execution = Execution("e" * 32, lowered(machine({"T": task(START, End=True)})), Limits())

    changes = execution.begin({}, 0, frames=machine_frames(context))

    told = [event for entry in changes.entries for event in entry.detail.get("events", ())]
    (scheduled,) = [about for _, _, type, about, *_ in told if type == "TaskScheduled"]
    assert scheduled["region"] == region


# --- tokens ------------------------------------------------------------------------------------


def test_a_task_with_a_token_is_submitted_and_ends_with_what_the_token_brings():
    arguments = {"FunctionName": "fn", "Payload": {"token.$": "$$.Task.Token"}}
    run = ran(task(CALLBACK, Parameters=arguments), actions={"/_/fn": {"answer": 42}})

    (given,) = run.calls("/_/fn")
    assert token_place(given["token"])[1:] == ("0", 1)
    assert run.outcome.value == {"answer": 42}
    assert types(run)[2:6] == ["TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskSucceeded"]
    submitted = next(entry for entry in run.history if entry.kind == "StepAccepted")
    assert submitted.value["StatusCode"] == 200


@pytest.mark.parametrize("token", ["", "!", "eA", "YXxifGM", "YXxi", "w7w", "YXxifMKy", "_w", "é"])
def test_a_text_that_is_no_token_has_no_place(token):
    assert token_place(token) is None


def test_a_token_says_its_place():
    assert token_place(task_token("e" * 32, "0/1.2", 30)) == ("e" * 32, "0/1.2", 30)


def test_a_signed_token_says_its_place_to_whoever_has_the_key():
    token = task_token("e" * 32, "0/1.2", 30, b"key")

    assert token_place(token, b"key") == ("e" * 32, "0/1.2", 30)
    assert token_place(token, b"other") is None
    assert token_place(token) is None
    assert token_place(task_token("e" * 32, "0/1.2", 30), b"key") is None
    assert token_place("w7w", b"key") is None


def test_an_execution_signs_its_tokens_with_the_key_that_it_is_given():
    arguments = {"FunctionName": "fn", "Payload": {"token.$": "$$.Task.Token"}}
    program = lowered(machine({"T": task(CALLBACK, Parameters=arguments, End=True)}))
    changes = Execution("e" * 32, program, Limits(signing=b"key")).begin(
        {}, 0, frames=machine_frames({})
    )

    ((_, command),) = changes.commands
    assert token_place(command.params["token"], b"key") == ("e" * 32, "0", 1)
    assert b"key" not in repr(Limits(signing=b"key")).encode()


def test_seconds_come_from_paths_and_expressions():
    paths = task(TimeoutSecondsPath="$.t", HeartbeatSecondsPath="$.h")
    one = ran(paths, {"t": 9, "h": 2}, actions={"/_/fn": Never()})
    other = ran(
        jsonata({"A": task(TimeoutSeconds="{% $states.input.t %}", End=True)}),
        {"t": 4}, actions={"/_/fn": Never()},
    )  # fmt: skip

    assert (one.elapsed, other.elapsed) == (2, 4)


@pytest.mark.parametrize(
    ("value", "why"), [(0, "is zero: 0"), (-1, "is a negative value: -1"), (1.5, "long value: 1.5")]
)
def test_seconds_that_are_none_fail(value, why):
    run = ran(
        jsonata({"A": task(TimeoutSeconds="{% $states.input %}", End=True)}),
        value, actions={"/_/fn": 1},
    )  # fmt: skip

    assert why in run.error["Cause"]


def test_a_machine_that_takes_too_long_has_timed_out():
    run = ran(
        machine({"A": {"Type": "Wait", "Seconds": 100, "End": True}}, TimeoutSeconds=7),
    )

    assert run.error == {"Error": "States.Timeout", "Status": "TIMED_OUT"}
    assert (run.elapsed, types(run)[-1]) == (7, "ExecutionTimedOut")


def test_a_machine_that_is_cancelled_is_aborted():
    run = ran(task(), actions={"/_/fn": Never()}, cancel_at=2)

    assert run.outcome.code == "Cancelled"
    assert types(run)[-1] == "ExecutionAborted"
