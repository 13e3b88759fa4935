"""Parallel and Map: what branches start with and see, and what becomes of them together."""

from __future__ import annotations

from time import perf_counter

import pytest

from tests.kit.asl.machines import events, jsonata, machine, ran, task, types
from xingqiao.composer import Failure, Limits
from xingqiao.composer.machine.dialect import Iterations
from xingqiao.composer.machine.joins import Join
from xingqiao.composer.testing import Fail, Never, Slow

MINE_FAILED, WIDTH = Failure("X", {}), 10_000
PASS = {"Type": "Pass", "End": True}
MINE = Fail("X", {"Error": "Mine", "Cause": "why"})


def mapped(processor=None, mode="INLINE", **fields):
    config = {"Mode": mode, **({"ExecutionType": "STANDARD"} if mode == "DISTRIBUTED" else {})}
    states = processor or {"I": PASS}
    return {
        "Type": "Map",
        "ItemProcessor": {"ProcessorConfig": config, **machine(states)},
        **fields,
    }


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


# --- Map ---------------------------------------------------------------------------------------


def test_items_come_from_the_input_and_results_are_in_their_order():
    run = ran(
        mapped({"I": task(End=True)}, ItemsPath="$.items"), {"items": [3, 1, 2]},
        actions={"/_/fn": lambda n: Slow(n, n * 10)},
    )  # fmt: skip

    assert (run.outcome.value, run.elapsed) == ([30, 10, 20], 3)


def test_an_item_selector_sees_the_item_and_the_whole_input():
    selector = {
        "i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value", "all.$": "$.items", "x": "$$.x",
    }  # fmt: skip
    run = ran(mapped(ItemsPath="$.items", ItemSelector=selector), {"items": ["a"]})

    assert run.outcome.value == [{"i": 0, "v": "a", "all": ["a"], "x": "$$.x"}]


def test_the_context_object_of_an_iteration_has_its_item():
    inner = {"Type": "Pass", "Parameters": {"v.$": "$$.Map.Item.Value"}, "End": True}
    run = ran(mapped({"I": inner}), [7])

    assert run.outcome.value == [{"v": 7}]


def test_items_and_selectors_of_jsonata():
    state = mapped(
        Items="{% $states.input.n %}",
        ItemSelector={"v": "{% $states.context.Map.Item.Value * 2 %}"},
        End=True,
    )

    assert ran(jsonata({"A": state}), {"n": [1, 2]}).outcome.value == [{"v": 2}, {"v": 4}]
    whole = ran(jsonata({"A": mapped(End=True)}), [5])
    assert whole.outcome.value == [5]


def test_a_selector_that_fails_fails_the_iteration():
    run = ran(mapped(ItemSelector={"v.$": "$.missing"}), [1])

    assert run.error["Error"] == "States.Runtime"
    assert "'A' (entered at the event id #2)" in run.error["Cause"]


@pytest.mark.parametrize(("concurrency", "seconds"), [(1, 4), (2, 2), (0, 1)])
def test_so_many_run_at_once(concurrency, seconds):
    run = ran(
        mapped({"I": task(End=True)}, MaxConcurrency=concurrency), [0] * 4,
        actions={"/_/fn": Slow(1, 0)},
    )  # fmt: skip

    assert run.elapsed == seconds


def test_forty_run_at_once_where_nothing_is_said():
    run = ran(mapped({"I": task(End=True)}), [0] * 41, actions={"/_/fn": Slow(1, 0)})

    assert run.elapsed == 2


def test_a_failed_iteration_fails_the_map():
    run = ran(mapped({"I": task(End=True)}), [1], actions={"/_/fn": MINE})

    assert types(run)[-3:] == ["MapIterationFailed", "MapStateFailed", "ExecutionFailed"]
    assert events(run)[-3][3] == {"name": "A", "index": 0}


@pytest.mark.parametrize(("value", "why"), [(1.5, "not a valid integer: 1.5"), (-1, "negative")])
def test_a_concurrency_of_jsonata_is_a_whole_number(value, why):
    state = mapped(Items="{% [1] %}", MaxConcurrency="{% $states.input %}", End=True)
    run = ran(jsonata({"A": state}), value)

    assert why in run.error["Cause"]
    assert ran(jsonata({"A": state}), 2).outcome.value == [1]


def test_a_map_of_too_many_items_is_refused():
    run = ran(mapped(), [0] * 11, limits=Limits(fork_width=10))

    assert run.error["Error"] == "States.Runtime"
    assert "11 items; 10 are allowed" in run.error["Cause"]


def test_a_map_of_no_items_is_an_empty_list():
    assert ran(mapped(), []).outcome.value == []


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


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, False),
        ({"ToleratedFailureCount": 1}, False),
        ({"ToleratedFailureCount": 2}, True),
        ({"ToleratedFailurePercentage": 49}, False),
        ({"ToleratedFailurePercentage": 50}, True),
        ({"ToleratedFailureCount": 1, "ToleratedFailurePercentage": 100}, False),
    ],
)
def test_so_many_children_may_fail(fields, held):
    run = ran(
        mapped({"I": task(End=True)}, mode="DISTRIBUTED", **fields), [0, 1, 0, 1],
        actions={"/_/fn": lambda n: Fail("X", {"Error": "Mine"}) if n else n},
    )  # fmt: skip

    if held:
        told = [one if one == 0 else (one["Status"], one["Error"]) for one in run.outcome.value]
        assert told == [0, ("FAILED", "Mine"), 0, ("FAILED", "Mine")]
    else:
        assert run.error["Error"] == "States.ExceedToleratedFailureThreshold"


def test_a_tolerance_of_jsonata():
    state = mapped(
        {"I": task(End=True)}, mode="DISTRIBUTED", End=True,
        ToleratedFailurePercentage="{% $states.input.p %}", Items="{% [1, 2] %}",
    )  # fmt: skip
    run = ran(jsonata({"A": state}), {"p": 100}, actions={"/_/fn": MINE})

    assert [one["Status"] for one in run.outcome.value] == ["FAILED", "FAILED"]


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


def test_a_map_that_tolerates_many_takes_no_longer_for_that():
    spec = Iterations(0, None, WIDTH, MINE_FAILED)
    join = Join(spec, WIDTH, [0] * WIDTH)
    members = join.begin()
    begun = perf_counter()
    for member in members:
        join.end(member, MINE_FAILED, 1)

    assert join.over
    assert perf_counter() - begun < 1  # one that counts them each time takes many seconds
