"""What a task comes to: a result, a failure by its name, a deadline."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.asked_of_tasks import CALLBACK, request_of
from tests.kit.asl.machines import (
    ACTIVITY,
    FN,
    INVOKE,
    START,
    events,
    lowered,
    machine,
    ran,
    task,
    types,
)
from xingqiao.composer import Accepted, Execution, Limits
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.testing import Fail, Never, Slow

THROWN = {"errorMessage": "no", "errorType": "TypeError", "stackTrace": []}


@pytest.mark.parametrize(("resource", "told"), [(f"{START}.sync", [7]), (FN, [])])
def test_what_is_asked_after_is_submitted_where_its_end_is_waited_for(resource, told):
    execution = Execution("e" * 32, lowered(machine({"T": task(resource, End=True)})), Limits())
    execution.begin({}, 0, frames=machine_frames({}))

    changes = execution.deliver("0", Accepted(1, {"result": 7}, polled=True), 1)

    assert [entry.value for entry in changes.entries if "events" in entry.detail] == told


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


def test_a_task_that_answers_in_time_leaves_no_deadline():
    states = {
        "A": task(TimeoutSeconds=5, Next="B"),
        "B": {"Type": "Wait", "Seconds": 60, "End": True},
    }
    run = ran(machine(states), actions={"/_/fn": Slow(4, {})})

    assert (run.outcome.value, run.elapsed) == ({}, 64)


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
