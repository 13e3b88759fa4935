"""Variables of nested scopes."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import PASS, codes, said


def message(name):
    return f"The variable name '{name}' was already defined in a parent scope."


def within(inner, field="ItemProcessor"):
    machine = {"StartAt": "I", "States": {"I": inner}}
    if field == "Branches":
        return {"Type": "Parallel", "Branches": [machine], "End": True}
    return {"Type": "Map", field: machine, "End": True}


TASK = {"Type": "Task", "Resource": "known", "End": True}
ASSIGNING = {**PASS, "Assign": {"x.$": "$"}}


@pytest.mark.parametrize("field", ["ItemProcessor", "Iterator", "Branches"])
def test_what_is_assigned_outside_is_not_assigned_inside(field):
    place = {"Branches": "/Branches[0]"}.get(field, f"/{field}")

    assert said({**within(ASSIGNING, field), "Assign": {"x": 1}}) == [
        (message("x"), f"{place}/States/I/Assign/x.$")
    ]
    assert said({**within(ASSIGNING, field), "Assign": {"y": 1}}) == []
    assert codes({**within(ASSIGNING, field), "Assign": {"x": 1}}) == ["DUPLICATE_VARIABLE_NAME"]


def test_scopes_beside_each_other_and_states_of_one_scope_share_names():
    branch = {"StartAt": "I", "States": {"I": {**ASSIGNING, "End": False, "Next": "J"}, "J": PASS}}
    other = {"StartAt": "K", "States": {"K": ASSIGNING}}

    assert said({"Type": "Parallel", "Branches": [branch, other], "End": True}) == []


def test_what_a_catch_assigns_may_be_assigned_inside():
    caught = [{"ErrorEquals": ["e"], "Next": "A", "Assign": {"x": 1}}]

    assert said({**within(ASSIGNING), "Catch": caught}) == []
    assert said({**within(ASSIGNING), "Catch": caught, "Assign": {"x": 1}}) == [
        (message("x"), "/ItemProcessor/States/I/Assign/x.$")
    ]


def test_rules_and_catchers_assign_too():
    caught = [{"ErrorEquals": ["e"], "Next": "A", "Assign": {"x": 1}}]
    chosen = {"Type": "Choice", "Default": "I", "Choices": [
        {"Variable": "$", "IsNull": True, "Next": "I", "Assign": {"x": 1}},
    ]}  # fmt: skip

    assert said({**within(chosen), "Assign": {"x": 1}}) == [
        (message("x"), "/ItemProcessor/States/I/Choices[0]/Assign/x")
    ]
    inner = {"StartAt": "I", "States": {"I": {**TASK, "Catch": [{**caught[0], "Next": "I"}]}}}
    outer = {"Type": "Parallel", "Branches": [inner], "Assign": {"x": 1}, "End": True}
    assert said(outer) == [(message("x"), "/Branches[0]/States/I/Catch[0]/Assign/x")]
    assert said(within(within({**TASK, "Catch": [{**caught[0], "Next": "I"}]}))) == [
        ("Duplicate State name: I", "/ItemProcessor/States/I/ItemProcessor/States/I")
    ]


def test_the_language_of_a_state_says_what_its_names_are():
    inner = {**PASS, "QueryLanguage": "JSONata", "Assign": {"x": "{% 1 %}"}}

    assert said({**within(inner), "Assign": {"x.$": "$"}}) == [
        (message("x"), "/ItemProcessor/States/I/Assign/x")
    ]
