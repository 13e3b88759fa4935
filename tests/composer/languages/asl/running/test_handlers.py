"""Retry and Catch: which errors, how often, how long between, and what is handed on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.kit.asl.catching import MINE, caught
from tests.kit.asl.machines import events, jsonata, machine, ran, task, types
from xingqiao.composer.languages.asl.state_errors import covers
from xingqiao.composer.testing import Fail, Never

OTHER = Fail("X", {"Error": "Other", "Cause": "else"})


def retried(answers, *retriers, state=None):
    first = task(
        Retry=list(retriers), Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}], End=True
    )
    states = {"A": state} if state else {"A": first, "B": {"Type": "Pass", "End": True}}
    return ran(machine(states), {"n": 1}, actions={"/_/fn": answers})


def delays(run):
    times = [invocation.at for invocation in run.invocations]
    return [after - before for before, after in pairwise(times)]


def test_a_retrier_waits_longer_each_time_and_the_task_is_asked_again_without_an_entry():
    run = retried([MINE, MINE, MINE, {"ok": 1}], {"ErrorEquals": ["Mine"], "IntervalSeconds": 2})

    assert run.outcome.value == {"ok": 1}
    assert delays(run) == [2, 4, 8]
    assert types(run).count("TaskStateEntered") == 1
    assert types(run).count("LambdaFunctionScheduled") == 4


def test_a_retrier_without_anything_tries_three_times_more():
    run = retried([MINE] * 4, {"ErrorEquals": ["Mine"]})

    assert delays(run) == [1, 2, 4]
    assert run.outcome.value == {"Error": "Mine", "Cause": "why"}


def test_delays_are_bounded():
    run = retried([MINE] * 4, {"ErrorEquals": ["Mine"], "BackoffRate": 10, "MaxDelaySeconds": 5})

    assert delays(run) == [1, 5, 5]


def test_a_rate_that_grows_beyond_numbers_waits_a_year():
    run = retried([MINE] * 4, {"ErrorEquals": ["Mine"], "BackoffRate": 1e200})

    assert delays(run)[2] == 31_622_400


def test_jitter_takes_any_part_of_a_delay():
    run = retried(
        [MINE] * 4, {"ErrorEquals": ["Mine"], "IntervalSeconds": 100, "JitterStrategy": "FULL"}
    )

    for waited, most in zip(delays(run), (100, 200, 400), strict=True):
        assert 0 <= waited < most


def test_no_attempts_means_none():
    run = retried([MINE], {"ErrorEquals": ["Mine"], "MaxAttempts": 0})

    assert run.outcome.value["Error"] == "Mine"


def test_each_retrier_counts_for_itself_and_the_first_that_covers_decides():
    run = retried(
        [MINE, OTHER, MINE, OTHER, OTHER],
        {"ErrorEquals": ["Mine"], "MaxAttempts": 2, "IntervalSeconds": 1},
        {"ErrorEquals": ["Other"], "MaxAttempts": 2, "IntervalSeconds": 10},
        {"ErrorEquals": ["States.ALL"], "MaxAttempts": 9},
    )

    assert delays(run) == [1, 10, 2, 20]
    assert run.outcome.value["Error"] == "Other"


def test_an_attempt_sees_how_often_it_was_tried_again():
    attempts = task(
        Parameters={"n.$": "$$.State.RetryCount"}, Retry=[{"ErrorEquals": ["Mine"]}], End=True
    )
    run = retried([MINE, MINE, 1], state=attempts)

    assert run.calls("/_/fn") == [{"n": 0}, {"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("names", "error", "covered"),
    [
        (["Mine"], "Mine", True),
        (["Mine"], "Other", False),
        ([], "Mine", False),
        (["States.ALL"], "States.Timeout", True),
        (["States.ALL"], "States.DataLimitExceeded", True),
        (["States.ALL"], "States.Runtime", False),
        (["States.Runtime"], "States.Runtime", True),
        (["States.TaskFailed"], "Mine", True),
        (["States.TaskFailed"], "States.Timeout", False),
        (["States.TaskFailed"], "States.HeartbeatTimeout", False),
        (["States.Timeout"], "States.HeartbeatTimeout", True),
        (["Other", "States.Timeout"], "States.Timeout", True),
    ],
)
def test_names_cover_errors_as_aws_has_it(names, error, covered):
    assert covers(names, error) is covered


# --- catchers ----------------------------------------------------------------------------------


def test_a_catcher_assigns_variables():
    run = caught({"ErrorEquals": ["Mine"], "Next": "C", "Assign": {"v.$": "$.Cause"}})

    assert run.outcome.value == {"seen": "why"}


def test_a_catcher_of_jsonata_sees_the_error():
    run = caught(
        {
            "ErrorEquals": ["States.ALL"], "Next": "C",
            "Assign": {"v": "{% $states.errorOutput.Error %}"},
            "Output": "{% $states.errorOutput.Cause & $string($states.input.n) %}",
        },
        made=jsonata,
    )  # fmt: skip

    assert run.outcome.value == {"seen": "Mine"}
    assert events(run)[5][3]["assignedVariables"] == {"v": '"Mine"'}


def test_an_error_without_a_cause_has_an_empty_one():
    run = caught({"ErrorEquals": ["States.Timeout"], "Next": "B"}, answer=Never(), TimeoutSeconds=1)

    assert run.outcome.value == {"Error": "States.Timeout", "Cause": ""}


def test_what_is_not_covered_goes_on():
    run = caught({"ErrorEquals": ["Other"], "Next": "B"})

    assert run.error == {"Error": "Mine", "Cause": "why"}


def test_a_runtime_error_is_caught_by_its_own_name_only():
    runtime = {"Parameters": {"x.$": "$.missing"}}
    wild = caught({"ErrorEquals": ["States.ALL"], "Next": "B"}, **runtime)
    named = caught({"ErrorEquals": ["States.Runtime"], "Next": "B"}, **runtime)

    assert wild.error["Error"] == "States.Runtime"
    assert named.outcome.value["Error"] == "States.Runtime"
