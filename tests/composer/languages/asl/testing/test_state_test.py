"""A test of one state: what it asks for, and what becomes of an error."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import FN, task
from tests.kit.asl.single_states import CALL, begun, read, tried
from xingqiao.composer import asl
from xingqiao.composer.values import Failure, Success


def test_at_the_least_level_nothing_of_the_way_is_told():
    state = {"Type": "Pass", "Result": 1, "Next": "B"}
    assert tried(state, inspectionLevel=None) == {
        "status": "SUCCEEDED", "output": 1, "nextState": "B",
    }  # fmt: skip


def test_a_test_ends_after_five_minutes():
    answer = tried({"Type": "Wait", "Seconds": 301, "End": True}, inspectionLevel="INFO")
    assert answer == {"status": "FAILED", "error": "States.Timeout"}


def test_variables_are_as_they_are_afterwards():
    state = {
        "Type": "Pass",
        "Assign": {"b.$": "$a", "a": 2},
        "Parameters": {"v.$": "$a"},
        "End": True,
    }
    answer = tried(state, variables={"a": 1, "c": 3})
    assert answer["output"] == {"v": 1}
    assert answer["inspectionData"]["variables"] == {"a": 2, "b": 1, "c": 3}


def test_a_state_draws_by_its_test():
    state = {"Type": "Pass", "Parameters": {"u.$": "States.UUID()"}, "End": True}
    assert tried(state) == tried(state)


def test_a_task_without_a_mock_is_asked_for():
    test = begun(
        task(FN, Parameters={"p.$": "$.x"}, TimeoutSeconds=7, ResultPath="$.r", Next="B"), {"x": 1}
    )

    assert test.task == asl.TaskRequest(FN, {"p": 1}, 7)
    answer = read(test.finish(Success({"y": 2})))
    assert (answer["output"], answer["nextState"]) == ({"x": 1, "r": {"y": 2}}, "B")


def test_a_task_that_is_performed_may_fail():
    test = begun(CALL)
    answer = read(test.finish(Failure("E", {"Error": "E", "Cause": "C"})))
    assert answer == {
        "status": "FAILED",
        "error": "E",
        "cause": "C",
        "inspectionData": {"input": {}, "afterInputPath": {}, "afterParameters": {}},
    }


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (Failure("States.Timeout", {"Error": "States.Timeout", "Status": "TIMED_OUT"}), {"Error": "States.Timeout", "Cause": ""}),
        (Failure("LimitExceeded", "too much"), {"Error": "LimitExceeded", "Cause": ""}),
    ],
)  # fmt: skip
def test_only_the_error_and_its_cause_are_handed_on(failure, told):
    state = task(FN, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}], End=True)
    assert read(begun(state).finish(failure))["output"] == told


def test_a_result_can_be_too_large():
    answer = read(begun(CALL, inspectionLevel="INFO").finish(Success("x" * 263_000)))
    assert (answer["status"], answer["error"]) == ("FAILED", "States.DataLimitExceeded")


HANDLED = task(
    FN,
    Retry=[
        {"ErrorEquals": ["Other"]},
        {"ErrorEquals": ["E"], "IntervalSeconds": 3, "BackoffRate": 2, "MaxAttempts": 2},
    ],
    Catch=[
        {"ErrorEquals": ["Other"], "Next": "C"},
        {"ErrorEquals": ["States.ALL"], "Next": "D", "ResultPath": "$.e", "Assign": {"v": 1}},
    ],
    End=True,
)


def test_an_error_may_be_retried():
    answer = tried(HANDLED, error={"error": "E"}, stateConfiguration={"retrierRetryCount": 1})
    assert answer == {
        "status": "RETRIABLE",
        "error": "E",
        "inspectionData": {
            "input": {},
            "afterInputPath": {},
            "afterParameters": {},
            "errorDetails": {"retryIndex": 1, "retryBackoffIntervalSeconds": 6},
        },
    }


def test_an_error_is_caught_when_it_was_retried_often_enough():
    answer = tried(
        HANDLED, {"x": 1}, error={"error": "E", "cause": "C"}, stateConfiguration={"retrierRetryCount": 2},
    )  # fmt: skip
    shown = answer.pop("inspectionData")
    assert answer == {
        "status": "CAUGHT_ERROR",
        "error": "E",
        "cause": "C",
        "output": {"x": 1, "e": {"Error": "E", "Cause": "C"}},
        "nextState": "D",
    }
    assert shown["errorDetails"] == {"retryIndex": 1, "catchIndex": 1}
    assert shown["variables"] == {"v": 1}


def test_how_often_it_was_retried_is_in_the_context_object():
    state = {**HANDLED, "Parameters": {"n.$": "$$.State.RetryCount"}}
    answer = tried(state, error={"error": "E"}, stateConfiguration={"retrierRetryCount": 1})
    assert answer["inspectionData"]["afterParameters"] == {"n": 1}


def test_an_error_that_is_for_nobody_fails():
    answer = tried(task(FN, End=True), error={"error": "E"}, inspectionLevel="INFO")
    assert answer == {"status": "FAILED", "error": "E"}


def test_what_a_catcher_makes_of_an_error_may_fail_too():
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "C", "ResultPath": "$.a.b"}]
    answer = tried(task(FN, Catch=catch, End=True), [1], error={"error": "E"})
    assert (answer["status"], answer["error"]) == ("FAILED", "States.ReferencePathConflict")


def test_an_evaluation_that_fails_can_be_caught():
    state = task(
        FN, QueryLanguage="JSONata", Arguments={"a": "{% $states.input.no %}"},
        Catch=[{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "C"}], End=True,
    )  # fmt: skip
    answer = tried(state, {}, result=1)
    assert (answer["status"], answer["nextState"]) == ("CAUGHT_ERROR", "C")
