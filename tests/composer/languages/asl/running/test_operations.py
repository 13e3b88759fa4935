"""States that need no service: loops, limits, choices without a way out, waits, what a Fail says."""

from __future__ import annotations

import pytest

from tests.kit.asl.machines import HOOKS, jsonata, lowered, machine, ran, task, types
from xingqiao.composer import Execution, Limits
from xingqiao.composer.languages.asl.running.frames import InState, Machine
from xingqiao.composer.languages.asl.running.view import machine_frames
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.testing import Never, simulate

LOOP = machine({
    "A": {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "B"},
    "B": {
        "Type": "Choice",
        "Choices": [{"Variable": "$.n", "NumericLessThan": 10, "Next": "A"}],
        "Default": "C",
    },
    "C": {"Type": "Succeed"},
})  # fmt: skip


def test_a_loop_goes_round():
    assert ran(LOOP, {"n": 0}).outcome.value == {"n": 10}


def test_rounds_count_as_steps():
    assert ran(LOOP, {"n": 0}, limits=Limits(steps=3)).outcome.code == "LimitExceeded"


@pytest.mark.parametrize(("most", "ends"), [(20, False), (60, True), (None, True)])
def test_a_history_has_so_many_events(most, ends):
    run = ran(LOOP, {"n": 0}, limits=Limits(events=most))

    if ends:
        assert run.outcome.value == {"n": 10}
    else:
        assert run.error == {
            "Error": "States.Runtime",
            "Cause": "The execution reached the maximum number of history events (20).",
        }


def test_a_state_that_waits_is_one_event_too_many_as_well():
    run = ran({"Type": "Wait", "Seconds": 1}, limits=Limits(events=1))

    assert "number of history events" in run.error["Cause"]


def test_a_choice_without_a_way_out_fails():
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.n", "IsNull": True, "Next": "B"}]}
    run = ran(machine({"A": choice, "B": {"Type": "Succeed"}}), {"n": 1})

    assert run.error["Error"] == "States.Runtime"
    assert "The state does not point to a next state." in run.error["Cause"]


def test_a_choice_of_jsonata_hands_on_what_its_rule_says_or_what_it_says_itself():
    choice = {
        "Type": "Choice",
        "Choices": [
            {
                "Condition": "{% $states.input = 1 %}",
                "Output": "one",
                "Assign": {"v": 1},
                "Next": "B",
            },
            {"Condition": "{% $states.input = 2 %}", "Next": "B"},
        ],
        "Output": "other",
        "Default": "B",
    }
    states = {"A": choice, "B": {"Type": "Succeed"}}

    assert [ran(jsonata(states), n).outcome.value for n in (1, 2, 3)] == ["one", "other", "other"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, {}),
        ({"Error": "E"}, {"Error": "E"}),
        ({"Error": "E", "Cause": "c"}, {"Error": "E", "Cause": "c"}),
        ({"ErrorPath": "$.e", "CausePath": "$.c"}, {"Error": "x", "Cause": "y"}),
        ({"CausePath": "States.Format('{}!', $.c)"}, {"Cause": "y!"}),
    ],
)
def test_a_fail_says_what_it_is_told(fields, error):
    run = ran({"Type": "Fail", **fields}, {"e": "x", "c": "y"})

    assert run.error == error
    assert types(run)[1:] == ["FailStateEntered", "ExecutionFailed"]


def test_a_fail_of_jsonata():
    state = {"Type": "Fail", "Error": "{% $states.input %}", "Cause": "literal"}

    assert ran(jsonata({"A": state}), "E").error == {"Error": "E", "Cause": "literal"}


def test_an_error_path_leads_to_a_string():
    run = ran({"Type": "Fail", "ErrorPath": "$.e"}, {"e": 5})

    assert run.error["Error"] == "States.Runtime"


@pytest.mark.parametrize(("seconds", "why"), [("no", "long value"), (-1, "negative")])
def test_seconds_of_jsonata_that_are_none_fail(seconds, why):
    state = {"Type": "Wait", "Seconds": "{% $states.input %}", "End": True}
    run = ran(jsonata({"A": state}), seconds)

    assert run.error["Error"] in ("States.QueryEvaluationError", "States.Runtime")
    assert why in run.error["Cause"] or "unexpected result type" in run.error["Cause"]


def test_a_wait_of_jsonata_waits():
    state = {"Type": "Wait", "Seconds": "{% $states.input * 2 %}", "End": True}

    assert ran(jsonata({"A": state}), 2).elapsed == 4


def test_a_fraction_of_a_second_is_none():
    state = {"Type": "Wait", "Seconds": "{% 1.5 %}", "End": True}

    assert "cannot be parsed as a long value: 1.5" in ran(jsonata({"A": state})).error["Cause"]


def test_an_express_machine_has_five_minutes():
    definition = machine({"A": {"Type": "Wait", "Seconds": 301, "End": True}}, TimeoutSeconds=400)
    run = simulate(lowered(definition, "EXPRESS"))

    assert (run.error["Status"], run.elapsed) == ("TIMED_OUT", 300)


def test_a_machine_that_is_begun_without_a_context_has_an_empty_one():
    program = lowered(machine({"A": {"Type": "Pass", "Parameters": {"c.$": "$$"}, "End": True}}))
    from xingqiao.composer.testing import Simulation

    run = Simulation(program, {}, (), Limits()).run({})

    assert run.outcome.value["c"].keys() == {"State"}


def test_an_attempt_that_is_one_step_too_many_is_none():
    run = ran(
        task(Retry=[{"ErrorEquals": ["States.ALL"]}], TimeoutSeconds=1),
        actions={"/_/fn": Never()}, limits=Limits(steps=1),
    )  # fmt: skip

    assert run.outcome.code == "LimitExceeded"
    assert len(run.invocations) == 1


def test_a_wait_that_is_one_step_too_many_is_none():
    run = ran({"Type": "Wait", "Seconds": 5}, limits=Limits(steps=0))

    assert (run.outcome.code, run.elapsed) == ("LimitExceeded", 0)


def test_the_values_of_a_fiber_are_those_of_its_state_too():
    frames = (Machine({"a": 1}), InState(1, [2], 2, 0, (), [3]))

    assert list(Fiber("0", 1, [4], frames).values()) == [[4], {"a": 1}, [2], [3]]


def test_a_concurrency_that_is_a_whole_float_is_taken():
    state = {
        "Type": "Map", "Items": [1], "MaxConcurrency": "{% 4 / 2 %}", "End": True,
        "ItemProcessor": machine({"I": {"Type": "Pass", "End": True}}),
    }  # fmt: skip

    assert ran(jsonata({"A": state})).outcome.value == [1]


@pytest.mark.parametrize(
    ("expression", "fields", "flaw"),
    [
        ("1 +", set(), "INVALID_JSONATA_EXPRESSION"),
        ("foo", set(), "UNSUPPORTED_JSONATA_EXPRESSION"),
        ("$states.result", {"input"}, "UNSUPPORTED_JSONATA_EXPRESSION"),
        ("$states.input", {"input"}, None),
        ("1", set(), None),
    ],
)
def test_the_checks_know_what_jsonata_is(expression, fields, flaw):
    found = HOOKS.jsonata_flaw(expression, frozenset(fields))

    assert (found and found[0]) == flaw


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [("is_path", "$.a[*]", "$["), ("is_reference", "$.a", "$.a[*]"),
     ("is_intrinsic", "States.UUID()", "States.Nothing()")],
)  # fmt: skip
def test_the_checks_know_what_jsonpath_is(question, yes, no):
    assert getattr(HOOKS, question)(yes)
    assert not getattr(HOOKS, question)(no)


@pytest.mark.parametrize("seconds", ["{% 1e8 %}", "{% 1e18 %}"])
@pytest.mark.parametrize("field", ["Seconds", "TimeoutSeconds"])
def test_nothing_takes_longer_than_aws_lets_it(field, seconds):
    kind = {"Type": "Wait"} if field == "Seconds" else {"Type": "Task", "Resource": "fn"}
    run = ran(jsonata({"A": {**kind, field: seconds, "End": True}}))

    assert run.error["Error"] == "States.Runtime"
    assert f"The {field} field is more than 99999999: 1" in run.error["Cause"]


def test_nothing_at_a_path_takes_longer_either():
    run = ran({"Type": "Wait", "SecondsPath": "$.s"}, {"s": 10**8})

    assert run.error["Error"] == "States.Runtime"
    assert "references a value of more than 99999999: $.s == 100000000" in run.error["Cause"]


HEAVY = "{% $sum([1..2000].($ * 2)) %}"


def test_an_expression_takes_its_share_of_a_turn():
    heavy = {f"S{n}": {"Type": "Pass", "Output": HEAVY, "Next": f"S{n + 1}"} for n in range(9)}
    program = lowered(jsonata({**heavy, "S9": {"Type": "Succeed"}}))
    execution = Execution("e" * 32, program, Limits())

    changes = execution.begin(1, 0, frames=machine_frames({}))

    assert changes.more
    assert changes.outcome is None


@pytest.mark.parametrize(("count", "fits"), [(2, True), (3, False)])
def test_expressions_of_one_state_have_a_bound_together(count, fits):
    many = {f"a{n}": HEAVY for n in range(count)}
    state = {"Type": "Pass", "Output": many, "End": True}
    run = ran(jsonata({"A": state}), limits=Limits(evaluation_steps=20_000))

    if fits:
        assert run.value == dict.fromkeys(many, 4_002_000)
        return
    assert run.error["Error"] == "States.QueryEvaluationError"
    assert run.error["Cause"].endswith(
        "Expression evaluation timeout: Check for infinite loop. The expressions of one state may take 20000 "
        "steps together; the operator of the server can raise XINGQIAO_EVALUATION_STEPS."
    )


@pytest.mark.parametrize("path", ["$..*", "$.a[?(@ > 5)]"])
def test_paths_take_their_share_of_a_turn(path):
    heavy = {
        f"S{n}": {"Type": "Pass", "Parameters": {"x.$": path}, "ResultPath": None,
                  "Next": f"S{n + 1}"}
        for n in range(9)
    }  # fmt: skip
    program = lowered(machine({**heavy, "S9": {"Type": "Succeed"}}))
    execution = Execution("e" * 32, program, Limits())

    changes = execution.begin({"a": [0] * 10_000}, 0, frames=machine_frames({}))

    assert changes.more
    assert changes.outcome is None


@pytest.mark.parametrize(("count", "fits"), [(40_000, True), (60_000, False)])
def test_paths_of_one_state_have_a_bound_together(count, fits):
    state = {
        "Type": "Pass",
        "InputPath": "$.a[*]",
        "Parameters": {"n.$": "$[*]"},
        "ResultPath": None,
    }

    run = ran(state, {"a": [0] * count})

    assert ("visits more than 100000 values" in str(run.outcome.value)) is not fits
