"""Runs of distributed Maps: what a history says of them, and other bounds while they run."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import lowered, machine
from xingqiao.composer import (
    Completed,
    Execution,
    Failed,
    Failure,
    Limits,
    Rebound,
    Success,
)
from xingqiao.composer.languages.asl.running.view import machine_frames

ASKS = {"Type": "Task", "Resource": "ask", "End": True}
CONFIG = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
NO = Failure("X", {"Error": "Mine"})


def begun(items, **fields):
    """An execution whose Map has begun, and what the history says so far."""
    processor = machine({"I": ASKS}, ProcessorConfig=CONFIG)
    state = {"Type": "Map", "ItemProcessor": processor, "End": True, **fields}
    execution = Execution("e" * 32, lowered(machine({"M": state})), Limits())
    return execution, execution.begin(items, 0, frames=machine_frames({}))


def children(execution):
    return sorted(name for name in execution.fibers if "/" in name)


def counts(changes):
    return [entry.detail for entry in changes.entries if entry.kind == "ChildrenEnded"]


def answered(execution, index, failure=None):
    """What comes of the answer to a child's task."""
    event = Completed(1, {}) if failure is None else Failed(1, failure)
    return execution.deliver(f"0/1.{index}", event, 1)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, {"concurrency": 0, "tolerated": 0}),
        ({"MaxConcurrency": 2, "ToleratedFailureCount": 1}, {"concurrency": 2, "tolerated": 1}),
        ({"ToleratedFailurePercentage": 40}, {"concurrency": 0, "tolerated": 2}),
        (
            {"ItemBatcher": {"MaxItemsPerBatch": 2}},
            {"concurrency": 0, "tolerated": 0, "sizes": [[2, 2], [1, 1]]},
        ),
    ],
)
def test_a_run_says_its_bounds_and_what_its_children_have(fields, told):
    _, changes = begun([1, 2, 3, 4, 5], **fields)

    (forked,) = [entry.detail for entry in changes.entries if entry.kind == "Forked"]
    assert {name: forked[name] for name in told} == told
    assert forked.keys() - told.keys() == {"path", "width"}


def test_a_run_that_has_ended_counts_its_children():
    execution, _ = begun([1, 2, 3], ToleratedFailureCount=1)
    answered(execution, 0)
    answered(execution, 1, NO)

    changes = answered(execution, 2)

    assert counts(changes) == [{"succeeded": 2, "failed": 1, "aborted": 0}]
    assert isinstance(changes.outcome, Success)


def test_a_run_in_which_too_much_fails_counts_those_that_are_cut_off():
    execution, _ = begun([1, 2, 3])

    changes = answered(execution, 1, NO)

    assert counts(changes) == [{"succeeded": 0, "failed": 1, "aborted": 2}]
    assert changes.outcome.error["Error"] == "States.ExceedToleratedFailureThreshold"


def test_a_run_that_is_stopped_counts_its_children():
    execution, _ = begun([1, 2, 3])
    answered(execution, 0)

    changes = execution.terminate(2)

    assert counts(changes) == [{"succeeded": 1, "failed": 0, "aborted": 2}]


def test_a_map_that_is_no_run_counts_nothing():
    processor = machine({"I": ASKS})
    state = {"Type": "Map", "ItemProcessor": processor, "End": True}
    execution = Execution("e" * 32, lowered(machine({"M": state})), Limits())
    begun = execution.begin([1], 0, frames=machine_frames({}))

    (forked,) = [entry.detail for entry in begun.entries if entry.kind == "Forked"]
    assert forked == {"path": forked["path"], "width": 1}
    assert counts(execution.deliver("0/1.0", Completed(1, {}), 1)) == []


# --- other bounds ------------------------------------------------------------------------------


def rebound(execution, turn=1, **bounds):
    return execution.deliver("0", Rebound(turn, bounds, {"asked": 1}), 1)


def test_more_children_run_at_once_when_more_may():
    execution, _ = begun([1, 2, 3, 4], MaxConcurrency=1)
    assert children(execution) == ["0/1.0"]

    changes = rebound(execution, concurrency=3)
    execution.proceed(1)

    assert children(execution) == ["0/1.0", "0/1.1", "0/1.2"]
    assert changes.fibers["0"].value["concurrency"] == 3
    assert [entry.detail for entry in changes.entries] == [{"asked": 1}]
    answered(execution, 0)
    execution.proceed(1)
    assert children(execution) == ["0/1.1", "0/1.2", "0/1.3"]


def test_fewer_run_when_fewer_may_as_soon_as_some_have_ended():
    execution, _ = begun([1, 2, 3, 4], MaxConcurrency=3)
    rebound(execution, concurrency=1)
    answered(execution, 0)
    answered(execution, 1)
    assert children(execution) == ["0/1.2"]

    answered(execution, 2)
    execution.proceed(1)

    assert children(execution) == ["0/1.3"]


def test_any_number_may_run():
    execution, _ = begun([1, 2, 3], MaxConcurrency=1)

    rebound(execution, concurrency=0)

    assert len(children(execution)) == 3


def test_more_may_fail():
    execution, _ = begun([1, 2])
    rebound(execution, tolerated=1)

    assert answered(execution, 0, NO).outcome is None
    assert isinstance(answered(execution, 1).outcome, Success)


def test_a_run_in_which_more_has_failed_than_may_now_fails():
    execution, _ = begun([1, 2, 3], ToleratedFailureCount=2)
    answered(execution, 0, NO)

    changes = rebound(execution, tolerated=0)

    assert changes.outcome.error["Error"] == "States.ExceedToleratedFailureThreshold"
    assert counts(changes) == [{"succeeded": 0, "failed": 1, "aborted": 2}]


def test_bounds_are_those_of_the_run_after_a_restart():
    execution, _ = begun([1, 2, 3], MaxConcurrency=1)
    rebound(execution, concurrency=2)
    execution.proceed(1)
    fibers = list(execution.fibers.values())

    again = Execution.restore(execution.id, execution.program, fibers, Limits())
    answered(again, 0)
    again.proceed(1)

    assert children(again) == ["0/1.1", "0/1.2"]


@pytest.mark.parametrize(("turn", "fiber"), [(2, "0"), (1, "0/1.0")])
def test_what_is_no_run_has_no_bounds(turn, fiber):
    execution, _ = begun([1])

    assert execution.deliver(fiber, Rebound(turn, {}, {}), 1).stale


def test_a_run_that_is_decided_stays_so():
    execution, _ = begun([1, 2], MaxConcurrency=2)
    join = execution._forks.joins["0"]
    join.cancel()

    rebound(execution, concurrency=5)

    assert children(execution) == ["0/1.0", "0/1.1"]
