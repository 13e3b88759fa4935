"""The rules of Choice states."""

from __future__ import annotations

import pytest

from tests.kit.asl.checking import machine, said, warned
from tests.kit.asl.hooks import HOOKS
from xingqiao.composer.languages.asl import diagnose
from xingqiao.composer.languages.asl.checking.diagnostic import hashed
from xingqiao.composer.languages.asl.checking.schema import OPERATOR_FIELDS

ONE = "The object must have only one of the following fields, [And, Or, Not, Variable, Condition]"
TEST = {"Variable": "$.a", "IsNull": True}


def rule(test, **fields):
    return {"Type": "Choice", "Choices": [{**test, "Next": "A", **fields}]}


def wrong(test, language=None):
    """What is wrong with a rule, with places in it."""
    found = said(rule(test), language)
    return [(message, at.removeprefix("/Choices[0]")) for message, at in found]


@pytest.mark.parametrize("operator", sorted(OPERATOR_FIELDS))
def test_every_operator_takes_its_kind_of_value(operator):
    right = "$.b" if operator.endswith("Path") else {
        "S": "text", "N": 1.5, "T": "2026-01-01T00:00:00Z", "B": True, "I": True,
    }[operator[0]]  # fmt: skip

    assert wrong({"Variable": "$.a", operator: right}) == []
    assert [at for _, at in wrong({"Variable": "$.a", operator: [1]})] == [f"/{operator}"]


def test_there_are_as_many_operators_as_the_language_has():
    assert len(OPERATOR_FIELDS) == 5 * 3 * 2 + 1 + 2 + 6


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ({"Variable": "a", "IsNull": True},
         [("Value is not a Reference Path: Reference path didn't start with '$'", "/Variable")]),
        ({"Variable": "$.a[*]", "IsNull": True}, [("Value is not a Reference Path", "/Variable")]),
        ({"Variable": "$$.Execution.Name", "IsNull": True}, []),
        ({"Variable": "$name", "NumericEqualsPath": "$other"}, []),
        ({"Variable": "$.a", "NumericEquals": "1"}, [("Expected value of type Float", "/NumericEquals")]),
        ({"Variable": "$.a", "IsNull": "true"}, [("Expected value of type Boolean", "/IsNull")]),
        ({"Variable": "$.a", "TimestampEquals": "2026-01-01"},
         [("String does not match RFC3339 timestamp", "/TimestampEquals")]),
        ({"Variable": "$.a"},
         [(f"This object should have only one of the following fields: {hashed(OPERATOR_FIELDS)}", "")]),
        ({"Variable": "$.a", "IsNull": True, "IsString": True},
         [(f"There should only be one of the following fields: {hashed(OPERATOR_FIELDS)}", "")]),
        ({"Variable": "$.a", "Is": True}, [("Field 'Is' is not supported", ""),
         (f"This object should have only one of the following fields: {hashed(OPERATOR_FIELDS)}", "")]),
        ({}, [(ONE, "")]),
        ({"IsNull": True}, [(ONE, "")]),
        ({"Not": TEST, "And": [TEST]}, [(ONE, "")]),
        ({"Not": TEST, "IsNull": True}, [("Field 'IsNull' is not supported", "")]),
        ({"And": []}, [("Value cannot be empty", "/And")]),
        ({"Or": TEST}, [("Expected value of type Array", "/Or")]),
        ({"Not": [TEST]}, [("Expected value of type Object", "/Not")]),
        ({"And": [TEST, {"Or": [{"Not": TEST}]}]}, []),
        ({"And": [TEST, {"Or": [{"Not": {**TEST, "IsNull": 1}}]}]},
         [("Expected value of type Boolean", "/And[1]/Or[0]/Not/IsNull")]),
        ({"Not": {**TEST, "Next": "A"}}, [("Field 'Next' is not supported", "/Not")]),
        ({"And": [{**TEST, "Assign": {}}]}, [("Field 'Assign' is not supported", "/And[0]")]),
        ({"Condition": "{% true %}"}, [(("The QueryLanguage is set to 'JSONPath', but field 'Condition' "
         "is only supported for the 'JSONata' QueryLanguage"), "")]),
        ({**TEST, "Comment": "c", "Assign": {"x.$": "$.y"}}, []),
    ],
)  # fmt: skip
def test_a_rule_compares_in_one_way(test, found):
    assert wrong(test) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ({"Condition": "{% $states.input.a = 1 %}"}, []),
        ({"Condition": True}, []),
        ({"Condition": 1}, [("Expected value of type Boolean", "/Condition")]),
        ({"Condition": "true"},
         [("JSONata string must start with {% and end with %}", "/Condition")]),
        ({"Condition": "{% !! no %}"}, [("no", "/Condition")]),
        ({"Condition": "{% true %}", "Output": {"a": "{% 1 %}"}, "Assign": {"x": 1}}, []),
        ({}, [(ONE, "")]),
        (TEST, [((f"The QueryLanguage is set to 'JSONata', but field '{name}' is only supported for the "
                 "'JSONPath' QueryLanguage"), "") for name in TEST]),
    ],
)  # fmt: skip
def test_a_rule_of_jsonata_is_a_condition(test, found):
    assert wrong(test, "JSONata") == found


@pytest.mark.parametrize(
    ("choices", "found"),
    [
        ([], ("Value cannot be empty", "/Choices")),
        ({}, ("Expected value of type Array", "/Choices")),
        ([1], ("Expected value of type Object", "/Choices[0]")),
        ([TEST], ("These fields are required: [Next]", "/Choices[0]")),
    ],
)
def test_a_choice_has_rules(choices, found):
    assert said({"Type": "Choice", "Choices": choices}) == [found]


def test_a_literal_that_looks_like_a_path_is_warned_of():
    test = {"Variable": "$.a", "StringEquals": "$.b"}
    assert warned(rule(test)) == [("NO_PATH", "/Choices[0]/StringEquals")]


def test_deep_rules_are_checked_at_once():
    deep = TEST
    for _ in range(95):
        deep = {"Not": deep}
    assert (
        diagnose(machine(rule(deep)), type="STANDARD", hooks=HOOKS)[0].code == "MISSING_END_STATE"
    )
