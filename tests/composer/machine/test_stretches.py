"""Expressions that take many steps: an execution is the same whoever evaluates them, and when."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.composer.languages.asl.test_fuzz import ANSWERS, Whatever
from tests.kit.asl.machines import jsonata, lowered, machine, ran, task, types
from tests.kit.asl.random_machines import VALUES, machines
from tests.kit.asl.recorded import cases
from xingqiao.composer import Completed, Execution, Failed, Failure, Limits, Stretch
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.testing import Fail, Simulation, simulate

AT_ONCE = Limits(at_once=0)  # every evaluation takes too long
HEAVY = "{% $sum([1..2000].($ * 2)) %}"
PASS = {"Type": "Pass", "Output": HEAVY, "End": True}
PARALLEL = {
    "Type": "Parallel",
    "Branches": [machine({"X": PASS}), machine({"Y": task(End=True)})],
    "End": True,
}


def begun(definition, limits, input=None):
    execution = Execution("e" * 32, lowered(definition), limits)
    changes = execution.begin(input, 0, frames=machine_frames({"Execution": {"Input": input}}))
    return execution, changes


def made(execution):
    """The changes that the next stretch of an execution makes."""
    stretch = execution.stretch
    return execution.stretched(stretch, stretch.make())


def lines(run):
    return [entry.to_json(lambda value: value) for entry in run.history]


# --- where it stops ------------------------------------------------------------------------------


@pytest.mark.parametrize(("at_once", "stands"), [(4_005, True), (20_000, False), (None, False)])
def test_an_execution_stops_before_a_long_evaluation(at_once, stands):
    execution, changes = begun(jsonata({"A": PASS}), Limits(at_once=at_once))

    assert isinstance(execution.stretch, Stretch) is stands
    assert execution.ready is stands
    assert (changes.outcome is None) is stands
    assert not changes.more


@pytest.mark.parametrize(("at_once", "stands"), [(9, False), (8, True)])
def test_the_steps_of_all_expressions_of_a_transition_are_counted_together(at_once, stands):
    states = {
        f"S{n}": {"Type": "Pass", "Output": "{% 1 + 1 %}", "Next": f"S{n + 1}"} for n in range(3)
    }
    definition = jsonata({**states, "S3": {"Type": "Succeed"}})

    execution, _ = begun(definition, Limits(at_once=at_once))

    assert (execution.stretch is not None) is stands


def test_states_that_ran_before_a_long_evaluation_are_kept():
    first = {"Type": "Pass", "Output": 7, "Next": "B"}
    execution, changes = begun(jsonata({"A": first, "B": PASS}), AT_ONCE)

    assert execution.fibers["0"].value == 7
    assert [entry.kind for entry in changes.entries][-1] == "StateExited"
    assert made(execution).outcome.value == 4_002_000


@pytest.mark.parametrize("path", ["$..*", "$.a[?(@ > 5)]"])
def test_the_nodes_of_paths_count_as_steps(path):
    state = {"Type": "Pass", "Parameters": {"x.$": path}, "End": True}

    execution, _ = begun(machine({"A": state}), Limits(at_once=5_000), {"a": [0] * 10_000})

    assert execution.stretch is not None
    assert made(execution).entries[-1].kind == "StateExited"


def test_an_expression_over_the_limit_fails_without_a_stretch():
    limits = Limits(at_once=100, evaluation_steps=1_000)

    _, changes = begun(jsonata({"A": {**PASS, "Output": "{% $count([1..800000]) %}"}}), limits)

    assert "1000 steps" in changes.outcome.error["Cause"]


def test_the_output_of_a_catcher_may_take_long():
    catcher = {"ErrorEquals": ["States.ALL"], "Output": HEAVY, "Next": "Z"}
    definition = jsonata({"A": task(Catch=[catcher], Next="Z"), "Z": {"Type": "Succeed"}})

    whole, sliced, killed = [
        ran(definition, actions={"/_/fn": Fail("X", {"Error": "Mine"})}, limits=limits, crash=crash)
        for limits, crash in ((Limits(), ()), (AT_ONCE, ()), (AT_ONCE, "every"))
    ]

    assert whole.value == sliced.value == killed.value == 4_002_000
    assert lines(whole) == lines(sliced)


def test_the_arguments_of_a_result_writer_are_evaluated_at_once():
    """The results of the Map are only in the event that joins its branches; they are not stored."""
    state = {
        "Type": "Map",
        "Items": [1],
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            **machine({"X": {"Type": "Pass", "End": True}}),
        },
        "ResultWriter": {
            "Resource": "arn:aws:states:::s3:putObject",
            "Arguments": {"Bucket": "b", "Prefix": "{% 'p' & $string($sum([1..500])) %}"},
        },
        "End": True,
    }
    execution, changes = begun(jsonata({"M": state}), Limits(at_once=20))

    while changes.more or execution.stretch is not None:
        changes = execution.proceed(0) if changes.more else made(execution)

    (command,) = [command for _, command in changes.commands]
    assert command.params["arguments"]["Prefix"] == "p125250"


# --- events in the meantime ----------------------------------------------------------------------


def test_a_stretch_is_made_again_if_another_branch_has_gone_on():
    execution, changes = begun(jsonata({"P": PARALLEL}), AT_ONCE)
    ((fiber, _),) = changes.commands
    stretch = execution.stretch
    execution.deliver(fiber, Completed(1, 5), 9)

    late = execution.stretched(stretch, stretch.make())

    assert late.stale
    assert not late.entries
    assert made(execution).outcome.value == [4_002_000, 5]


def test_an_execution_can_be_ended_during_a_stretch():
    for end in (Execution.terminate, Execution.cancel):
        execution, _ = begun(jsonata({"A": PASS}), AT_ONCE)
        stretch = execution.stretch

        assert end(execution, 5).outcome.code == "Cancelled"
        assert execution.stretch is None
        assert execution.stretched(stretch, stretch.make()).stale


def test_a_failure_that_is_to_be_caught_can_be_cancelled():
    catcher = {"ErrorEquals": ["States.ALL"], "Output": HEAVY, "Next": "Z"}
    definition = jsonata({"A": task(Catch=[catcher], Next="Z"), "Z": {"Type": "Succeed"}})
    execution, _ = begun(definition, AT_ONCE)
    execution.deliver("0", Failed(1, Failure("X", {"Error": "Mine"})), 3)

    assert execution.stretch is not None
    assert execution.cancel(5).outcome.code == "Cancelled"


def test_a_branch_that_fails_ends_the_stretch_of_another():
    execution, changes = begun(jsonata({"P": PARALLEL}), AT_ONCE)
    ((fiber, _),) = changes.commands

    ended = execution.deliver(fiber, Failed(1, Failure("X", {"Error": "Mine"})), 9)

    assert ended.outcome.error["Error"] == "Mine"
    assert execution.stretch is None


def test_a_stale_event_changes_nothing():
    execution, _ = begun(jsonata({"A": PASS}), AT_ONCE)

    assert execution.deliver("0", Completed(4, None), 1).stale
    assert made(execution).outcome.value == 4_002_000


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("execution"), ids=lambda case: case["id"])
@pytest.mark.parametrize("crash", [(), "every"], ids=["", "killed"])
def test_the_recorded_histories_are_the_same_in_stretches(case, crash):
    program = lowered(case["definition"], case["type"])

    whole = simulate(program, case["input"])
    sliced = simulate(program, case["input"], limits=AT_ONCE, crash=crash)

    assert sliced.outcome == whole.outcome
    if case["parallel"]:  # branches take turns otherwise
        assert sorted(types(sliced)) == sorted(types(whole))
    else:
        assert lines(sliced) == lines(whole)


def fuzzed(definition, input, answer, **limits):
    simulation = Simulation(
        lowered(definition), Whatever(answer), (), Limits(steps=300, events=500, **limits)
    )
    return simulation.run(input, frames=machine_frames({"Execution": {"Id": "e", "Input": input}}))


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(machines(depth=0), VALUES, ANSWERS)  # without Parallel and Map: one fiber
def test_any_machine_does_the_same_in_stretches(definition, input, answer):
    whole, sliced = (
        fuzzed(definition, input, answer),
        fuzzed(definition, input, answer, at_once=0),
    )

    assert sliced.outcome == whole.outcome
    assert lines(sliced) == lines(whole)


@pytest.mark.parametrize(
    "expression", ["$states.input", "$states.input[0]", "$count($states.input)"]
)
@pytest.mark.parametrize(("count", "stands"), [(100, False), (30_000, True)])
def test_a_large_value_is_copied_in_a_stretch(expression, count, stands):
    state = {"Type": "Pass", "Output": "{% " + expression + " %}", "End": True}

    execution, _ = begun(jsonata({"A": state}), Limits(at_once=600), [[{}] * count])

    assert (execution.stretch is not None) is stands
