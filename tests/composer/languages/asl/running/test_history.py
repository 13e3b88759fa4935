"""AWS' events: how an execution ends, and what a history keeps of its beginning."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import events, machine, ran, task, types
from xingqiao.composer import Failure, Success
from xingqiao.composer.languages.asl.running.history import about, ended, error_details, started
from xingqiao.composer.languages.asl.running.view import machine_frames

CONTEXT = {
    "Execution": {"Id": "arn:e", "Input": {"n": 1}, "RoleArn": "arn:r"},
    "StateMachine": {"Id": "arn:m"},
}


@pytest.mark.parametrize(
    ("outcome", "type", "details"),
    [
        (Success({"n": 1}), "ExecutionSucceeded", {}),
        (Failure("ApplicationError", {"Error": "E", "Cause": "why"}), "ExecutionFailed", {"error": "E", "cause": "why"}),
        (Failure("ApplicationError", {"Error": "E"}), "ExecutionFailed", {"error": "E"}),
        (Failure("Timeout", {"Error": "States.Timeout", "Status": "TIMED_OUT"}), "ExecutionTimedOut", {"error": "States.Timeout"}),
        (Failure("Cancelled", {"Error": "E", "Cause": "why"}), "ExecutionAborted", {"error": "E", "cause": "why"}),
    ],
)  # fmt: skip
def test_an_execution_ends_with_one_event(outcome, type, details):
    assert ended(outcome) == (type, details)


def test_an_error_without_a_cause_has_no_text_for_it():
    assert error_details(Failure("X", {"Error": "E", "Cause": None})) == {"error": "E"}


def test_a_history_keeps_the_context_without_the_input():
    frames = machine_frames(CONTEXT)

    kept = about(frames)["context"]
    assert kept["Execution"] == {"Id": "arn:e", "RoleArn": "arn:r"}
    assert kept["StateMachine"] == CONTEXT["StateMachine"]
    assert CONTEXT["Execution"]["Input"] == {"n": 1}
    assert started(frames) == {"roleArn": "arn:r"}


def test_what_is_no_machine_keeps_nothing():
    assert about(()) == started(()) == {}


def test_a_state_is_entered_and_left_and_says_what_it_assigned():
    run = ran(machine({"A": {"Type": "Pass", "Assign": {"x": [1, "ü"]}, "End": True}}), {"n": 1})

    assert types(run)[-3:-1] == ["PassStateEntered", "PassStateExited"]
    (left,) = [event[3] for event in events(run) if event[2] == "PassStateExited"]
    assert left["assignedVariables"] == {"x": '[1,"ü"]'}
    assert left["assignedVariablesDetails"] == {"truncated": False}


def test_a_task_is_scheduled_with_its_own_bounds_and_starts():
    run = ran(
        machine({"A": task(TimeoutSeconds=60, HeartbeatSeconds=9, End=True)}),
        {},
        actions={"fn": {}},
    )

    (scheduled,) = [event[3] for event in events(run) if event[2].endswith("Scheduled")]
    assert (scheduled["timeoutInSeconds"], scheduled["heartbeatInSeconds"]) == (60, 9)
    assert types(run)[2:4] == ["LambdaFunctionScheduled", "LambdaFunctionStarted"]


def test_a_failed_evaluation_names_the_state_and_its_event():
    run = ran(machine({"A": {"Type": "Pass", "InputPath": "$.no", "End": True}}), {})

    assert "the state 'A' (entered at the event id #2)" in run.outcome.error["Cause"]
