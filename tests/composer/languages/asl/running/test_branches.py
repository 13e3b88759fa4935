"""Parallel and Map: what branches start with and see, and what becomes of them together."""

from __future__ import annotations

from tests.kit.asl.machines import events, jsonata, machine, ran, task, types
from tests.kit.asl.maps import MINE, PASS, mapped
from xingqiao.composer import Limits
from xingqiao.composer.testing import Never, Slow


def parallel(*branches, **fields):
    return {"Type": "Parallel", "Branches": [machine(branch) for branch in branches], **fields}


# --- Parallel ----------------------------------------------------------------------------------


def test_branches_start_with_the_effective_input_and_their_results_are_a_list():
    one, two = {"I": PASS}, {"J": {"Type": "Pass", "Result": 2, "End": True}}
    run = ran(parallel(one, two, Parameters={"a.$": "$.x"}), {"x": 1})

    assert run.outcome.value == [{"a": 1}, 2]
    assert types(run)[1:3] == ["ParallelStateEntered", "ParallelStateStarted"]
    assert types(run)[-3:-1] == ["ParallelStateSucceeded", "ParallelStateExited"]


def test_arguments_are_what_branches_of_jsonata_start_with():
    state = parallel({"I": PASS}, Arguments={"a": "{% $states.input.x %}"}, End=True)
    run = ran(jsonata({"A": state}), {"x": 1})

    assert run.outcome.value == [{"a": 1}]


def test_the_first_failure_ends_the_others():
    run = ran(
        parallel({"I": task(End=True)}, {"J": task("slow", End=True)}),
        actions={"/_/fn": Slow(1, MINE), "/_/slow": Never()},
    )

    assert run.error == {"Error": "Mine", "Cause": "why"}
    assert run.elapsed == 1
    assert types(run)[-2:] == ["ParallelStateFailed", "ExecutionFailed"]


def test_a_parallel_is_tried_again_and_its_error_caught():
    state = parallel(
        {"I": task(End=True)},
        Retry=[{"ErrorEquals": ["Mine"], "MaxAttempts": 1}],
        Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}],
        End=True,
    )
    run = ran(machine({"A": state, "B": PASS}), actions={"/_/fn": [MINE, MINE]})

    assert run.outcome.value == {"Error": "Mine", "Cause": "why"}
    assert types(run).count("ParallelStateStarted") == 2
    assert types(run).count("ParallelStateFailed") == 1


def test_a_branch_reads_outer_variables_and_keeps_its_own():
    states = {
        "A": {"Type": "Pass", "Assign": {"x": 1}, "Next": "B"},
        "B": parallel(
            {"I": {"Type": "Pass", "Parameters": {"x.$": "$x"}, "Assign": {"y": 2}, "End": True}},
            Next="C",
        ),
        "C": {"Type": "Pass", "Parameters": {"x.$": "$x"}, "ResultPath": "$[0].outer", "End": True},
    }

    assert ran(machine(states)).outcome.value == [{"x": 1, "outer": {"x": 1}}]


def test_results_that_are_too_large_together_fail():
    large = {"I": {"Type": "Pass", "Result": "x" * 200_000, "End": True}}
    run = ran(parallel(large, {"J": large["I"]}))

    assert run.error["Error"] == "States.DataLimitExceeded"


def test_a_cancelled_machine_ends_its_branches():
    run = ran(parallel({"I": task(End=True)}), actions={"/_/fn": Never()}, cancel_at=1)

    assert run.outcome.code == "Cancelled"


def test_steps_of_branches_count():
    run = ran(
        parallel({"I": task(End=True)}, {"J": task(End=True)}),
        actions={"/_/fn": 1}, limits=Limits(steps=1),
    )  # fmt: skip

    assert run.outcome.code == "LimitExceeded"


def test_a_failed_iteration_fails_the_map():
    run = ran(mapped({"I": task(End=True)}), [1], actions={"/_/fn": MINE})

    assert types(run)[-3:] == ["MapIterationFailed", "MapStateFailed", "ExecutionFailed"]
    assert events(run)[-3][3] == {"name": "A", "index": 0}


# --- children of a distributed Map -------------------------------------------------------------


def test_a_distributed_map_tells_of_its_run_and_not_of_its_children():
    run = ran(mapped(mode="DISTRIBUTED", Label="L"), [1, 2])

    assert run.outcome.value == [1, 2]
    assert types(run)[2:7] == [
        "MapStateStarted", "MapRunStarted", "MapRunSucceeded", "MapStateSucceeded", "MapStateExited",
    ]  # fmt: skip
    assert ":mapRun:machine/L:" in events(run)[3][3]["mapRunArn"]


def test_a_child_sees_no_variables_and_has_events_of_its_own():
    inner = {"Type": "Pass", "Parameters": {"x.$": "$x"}, "End": True}
    states = {
        "A": {"Type": "Pass", "Assign": {"x": 1}, "Result": [1], "Next": "B"},
        "B": mapped({"I": inner}, mode="DISTRIBUTED", End=True, ToleratedFailureCount=0),
    }
    run = ran(machine(states))

    assert run.error["Error"] == "States.ExceedToleratedFailureThreshold"
    failed = next(entry for entry in run.history if entry.kind == "BranchFailed")
    assert "'I' (entered at the event id #2)" in failed.value["Cause"]
    assert types(run)[-3:] == ["MapRunFailed", "MapStateFailed", "ExecutionFailed"]


def test_a_child_sees_its_own_input_as_that_of_its_execution():
    inner = {"Type": "Pass", "Parameters": {"v.$": "$$.Execution.Input"}, "End": True}

    assert ran(mapped({"I": inner}, mode="DISTRIBUTED"), [7]).outcome.value == [{"v": 7}]


def test_an_endless_child_has_so_many_events_as_well():
    rule = {"Variable": "$", "IsNull": True, "Next": "End"}
    states = {
        "I": {"Type": "Pass", "Next": "J"},
        "J": {"Type": "Choice", "Choices": [rule], "Default": "I"},
        "End": {"Type": "Succeed"},
    }
    state = mapped(states, mode="DISTRIBUTED", ToleratedFailureCount=1)
    run = ran(state, [1], limits=Limits(events=100))

    assert "number of history events (100)" in run.outcome.value[0]["Cause"]


def test_what_a_child_forks_is_not_told_by_its_parent_either():
    inner = mapped({"J": task(End=True)}, End=True)
    branches = {"Type": "Parallel", "Branches": [machine({"P": {"Type": "Pass", "End": True}})]}
    after = {**branches, "Next": "K"}
    states = {
        "H": after,
        "K": {**inner, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "L"}]},
        "L": {"Type": "Pass", "Parameters": {"x.$": "$.none"}, "End": True},
    }
    state = mapped(states, mode="DISTRIBUTED", ToleratedFailureCount=1)
    run = ran(state, [[1]], actions={"/_/fn": MINE})

    assert types(run)[1:-1] == [
        "MapStateEntered", "MapStateStarted", "MapRunStarted", "MapRunSucceeded", "MapStateSucceeded",
        "MapStateExited",
    ]  # fmt: skip
    assert [event[0] for event in events(run)] == list(range(1, 9))


def test_numbers_of_events_go_on_after_a_crash_whatever_children_have_told():
    many = {f"S{n}": {"Type": "Pass", "Next": f"S{n + 1}"} for n in range(9)}
    state = mapped({**many, "S9": task(End=True)}, mode="DISTRIBUTED")
    whole, killed = (
        ran(state, [1, 2], actions={"/_/fn": 1}, **crash) for crash in ({}, {"crash": "every"})
    )

    assert events(killed) == events(whole)
