"""A state machine as a program: what a state becomes, and where it leads."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.machines import lowered, machine, task
from xingqiao.composer.languages.asl import DefinitionError
from xingqiao.composer.languages.asl.lowering import EXPRESS_SECONDS, state_text

PASS = {"Type": "Pass", "End": True}


def instructions(states, type="STANDARD", **fields):
    return lowered(machine(states, **fields), type).instructions


def names(program):
    return [type(instruction).__name__ for instruction in program]


@pytest.mark.parametrize("state", [PASS, {"Type": "Succeed"}, {"Type": "Fail"}])
def test_a_state_that_asks_for_nothing_is_one_instruction(state):
    assert names(instructions({"A": state})) == ["BeginMachine", "PassState", "EndBranch"]


def test_a_task_is_entered_prepared_asked_for_and_left():
    made = instructions({"A": task(End=True)})

    assert names(made)[1:-1] == ["EnterState", "PrepareState", "InvokeState", "LeaveState"]
    assert made[3].path == "A"


def test_what_a_machine_starts_at_comes_first_wherever_it_stands():
    first, last = {"Type": "Pass", "Next": "B"}, PASS
    made = lowered({"StartAt": "A", "States": {"B": last, "A": first}}).instructions

    assert [json.loads(each.state)["name"] for each in made[1:3]] == ["A", "B"]
    assert made[1].targets["B"] == 2
    assert list(made[2].targets.values()) == [3]


def test_each_branch_begins_behind_the_fork_and_ends_before_the_state_is_left():
    one, other = ({"StartAt": name, "States": {name: PASS}} for name in "BC")
    made = instructions({"A": {"Type": "Parallel", "Branches": [one, other], "End": True}})

    fork = made[3]
    assert [names(made)[at] for at in fork.branches] == ["BeginBranch", "BeginBranch"]
    assert names(made)[fork.to] == "LeaveState"
    assert names(made).count("EndBranch") == 3


@pytest.mark.parametrize(
    ("type", "seconds", "timeout_ms"),
    [
        ("STANDARD", {}, None),
        ("STANDARD", {"TimeoutSeconds": 999}, 999_000),
        ("EXPRESS", {}, EXPRESS_SECONDS * 1000),
        ("EXPRESS", {"TimeoutSeconds": EXPRESS_SECONDS + 1}, EXPRESS_SECONDS * 1000),
        ("EXPRESS", {"TimeoutSeconds": 5}, 5000),
    ],
)
def test_an_express_machine_takes_five_minutes_at_most(type, seconds, timeout_ms):
    assert instructions({"A": PASS}, type, **seconds)[0].timeout_ms == timeout_ms


def test_the_text_of_a_state_holds_no_state_within_it():
    inner = {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "In", "States": {"In": PASS}}
    doc = {"Type": "Map", "ItemProcessor": inner, "Next": "ü"}

    assert json.loads(state_text("A", doc, "JSONata")) == {
        "name": "A",
        "language": "JSONata",
        "state": {**doc, "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}}},
    }


def test_a_machine_that_is_none_is_refused():
    with pytest.raises(DefinitionError):
        instructions({"A": {"Type": "Pass"}})
