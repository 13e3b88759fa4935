"""Tasks: what is invoked, what its result and its errors become, and which events tell of it."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

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
from xingqiao.composer import Accepted, Execution, Limits
from xingqiao.composer.languages.asl.running.task_tokens import task_token, token_place
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.testing import Fail, Never, Slow

CALLBACK = f"{INVOKE}.waitForTaskToken"
THROWN = {"errorMessage": "no", "errorType": "TypeError", "stackTrace": []}


def request_of(run):
    """The id of the run's first request, as Lambda writes it."""
    return str(UUID(run.invocations[0].activation))


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


@pytest.mark.parametrize(("resource", "told"), [(f"{START}.sync", [7]), (FN, [])])
def test_what_is_asked_after_is_submitted_where_its_end_is_waited_for(resource, told):
    execution = Execution("e" * 32, lowered(machine({"T": task(resource, End=True)})), Limits())
    execution.begin({}, 0, frames=machine_frames({}))

    changes = execution.deliver("0", Accepted(1, {"result": 7}, polled=True), 1)

    assert [entry.value for entry in changes.entries if "events" in entry.detail] == told


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "error", "cause"),
    [
        (Fail("ApplicationError", THROWN), "TypeError", json.dumps(THROWN, separators=(",", ":"))),
        (Fail("ApplicationError", "no luck"), "States.TaskFailed", "no luck"),
        (Fail("ApplicationError", [1]), "States.TaskFailed", "[1]"),
        (Fail("X", {"Error": "Mine", "Cause": "why"}), "Mine", "why"),
        (Fail("X", {"Cause": "why"}), None, "why"),
        (Fail("States.TaskFailed", {}), None, None),
        (Fail("Timeout"), "States.Timeout", None),
        (Fail("Lost"), "Lost", "simulated"),
        (Fail("ApplicationError", {"code": "Busy", "message": "later"}), "Busy", "later"),
        (
            Fail("ApplicationError", {"type": "Odd", "n": 1}),
            "Odd",
            '{"error":{"type":"Odd","n":1}}',
        ),
    ],
)
def test_a_failure_has_the_name_that_aws_gives_it(failure, error, cause):
    run = ran(task(), actions={"/_/fn": failure})

    assert (run.error.get("Error"), run.error.get("Cause")) == (error, cause)
    kind = "TimedOut" if error == "States.Timeout" else "Failed"
    assert types(run)[4:] == [f"LambdaFunction{kind}", "ExecutionFailed"]


@pytest.mark.parametrize(
    "state",
    [
        task(),
        task("fn"),
        task(INVOKE, Parameters={"FunctionName": "fn"}),
        task(INVOKE, Parameters={"FunctionName": FN}),
    ],
)
def test_a_function_that_is_not_there_is_told_as_lambda_does(state):
    run = ran(state, actions={"/_/fn": Fail("NotFound")})

    told = f"(Service: Lambda, Status Code: 404, Request ID: {request_of(run)})"
    assert run.error == {
        "Error": "Lambda.ResourceNotFoundException",
        "Cause": f"Function not found: {FN}:$LATEST {told}",
    }


def test_a_version_that_is_not_there_is_named_as_it_was_asked_for():
    run = ran(task(f"{FN}:live"), actions={"/_/fn": Fail("NotFound")})

    assert "function:fn:live (Service" in run.error["Cause"]


def test_an_integrations_failure_is_its_own():
    failed = Fail("NotFound", {"message": "gone"})
    run = ran(task(START), actions={"/whisk.system/states/integration": failed})

    assert run.error == {"Error": "States.TaskFailed", "Cause": "gone"}


@pytest.mark.parametrize(("size", "fits"), [(262_142, True), (262_143, False)])
def test_a_result_is_as_large_as_aws_takes(size, fits):
    run = ran(task(), actions={"/_/fn": "x" * size})

    if fits:
        assert len(run.outcome.value) == size
    else:
        assert run.error["Error"] == "States.DataLimitExceeded"
        assert f"'{FN}' returned a result with a size exceeding" in run.error["Cause"]
        assert types(run)[-2] == "LambdaFunctionFailed"


@pytest.mark.parametrize(("size", "fits"), [(131_071, True), (131_072, False)])
def test_a_results_size_is_that_of_its_text_in_utf_8(size, fits):
    run = ran(task(), actions={"/_/fn": "é" * size})

    assert (
        (run.outcome.value == "é" * size)
        if fits
        else run.error["Error"] == "States.DataLimitExceeded"
    )


@pytest.mark.parametrize(("resource", "name"), [(FN, FN), (INVOKE, "lambda"), (START, "states")])
def test_a_result_that_its_runner_holds_back_is_too_large(resource, name):
    actions = dict.fromkeys(("/_/fn", "/whisk.system/states/integration"), Fail("PayloadTooLarge"))
    run = ran(task(resource, Parameters={"FunctionName": "fn"}), actions=actions)

    assert run.error == {
        "Error": "States.DataLimitExceeded",
        "Cause": f"The state/task '{name}' returned a result with a size exceeding the maximum number of bytes "
        "service limit.",
    }


@pytest.mark.parametrize(("size", "fits"), [(262_142, True), (262_143, False)])
def test_an_output_is_as_large_as_aws_takes(size, fits):
    text = "é" * (size // 2) + "x" * (size % 2)
    run = ran({"Type": "Pass", "Result": text})

    assert (run.outcome.value == text) if fits else run.error["Error"] == "States.DataLimitExceeded"


def test_parameters_are_bounded_too():
    large = {"Type": "Pass", "Result": "x" * 200_000, "ResultPath": "$.a", "Next": "B"}
    run = ran(machine({
        "A": large,
        "B": task(Parameters={"one.$": "$.a", "two.$": "$.a"}, End=True),
    }))  # fmt: skip

    assert run.error["Error"] == "States.DataLimitExceeded"


# --- time --------------------------------------------------------------------------------------


def test_a_task_that_takes_too_long_times_out():
    run = ran(task(TimeoutSeconds=5), actions={"/_/fn": Never()})

    assert run.error == {"Error": "States.Timeout"}
    assert run.elapsed == 5
    assert types(run)[2:] == [
        "LambdaFunctionScheduled", "LambdaFunctionStarted", "LambdaFunctionTimedOut", "ExecutionFailed",
    ]  # fmt: skip
    assert events(run)[2][3] == {"resource": FN, "timeoutInSeconds": 5}


def test_a_missed_heartbeat_is_a_timeout():
    arguments = {"FunctionName": "fn"}
    run = ran(
        task(CALLBACK, Parameters=arguments, HeartbeatSeconds=3, TimeoutSeconds=9),
        actions={"/_/fn": Never()},
    )

    assert (run.error, run.elapsed) == ({"Error": "States.Timeout"}, 3)
    assert events(run)[-2][3]["error"] == "States.Timeout"
    about = events(run)[2][3]
    assert (about["heartbeatInSeconds"], about["timeoutInSeconds"]) == (3, 9)


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


def test_a_task_that_answers_in_time_leaves_no_deadline():
    states = {
        "A": task(TimeoutSeconds=5, Next="B"),
        "B": {"Type": "Wait", "Seconds": 60, "End": True},
    }
    run = ran(machine(states), actions={"/_/fn": Slow(4, {})})

    assert (run.outcome.value, run.elapsed) == ({}, 64)


def test_a_machine_that_is_cancelled_is_aborted():
    run = ran(task(), actions={"/_/fn": Never()}, cancel_at=2)

    assert run.outcome.code == "Cancelled"
    assert types(run)[-1] == "ExecutionAborted"


def test_a_missed_heartbeat_is_caught_by_its_own_name():
    caught = [{"ErrorEquals": ["States.HeartbeatTimeout"], "Next": "B"}]
    states = {
        "A": task(ACTIVITY, HeartbeatSeconds=3, Catch=caught, End=True),
        "B": {"Type": "Pass", "End": True},
    }
    run = ran(machine(states), actions={"/whisk.system/states/activity": Never()})

    assert run.outcome.value == {"Error": "States.Timeout", "Cause": ""}


@pytest.mark.parametrize("failing", [{"Type": "Fail", "Error": "Cancelled"}, task()])
def test_an_error_that_is_called_as_ours_is_a_failure_and_nothing_else(failing):
    failure = Fail("X", {"Error": "Cancelled"})
    run = ran(failing, actions={"/_/fn": failure})

    assert run.error == {"Error": "Cancelled"}
    assert types(run)[-1] == "ExecutionFailed"
