"""Choice rules: every operator, and what AWS was recorded to do."""

from __future__ import annotations

from itertools import product

import pytest

from tests.kit.asl.recorded_paths import recorded
from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.choices import (
    MAX_LEVELS,
    MAX_PATTERN,
    OPERATORS,
    Rule,
    first_match,
)
from xingqiao.composer.languages.asl.jsonpath.paths import Scope
from xingqiao.composer.languages.asl.state_errors import StatesError

VALUES = {
    "String": ("a", "b"),
    "Numeric": (-1.5, 2),
    "Timestamp": ("2016-03-14T01:59:00Z", "2016-03-14T01:59:00.000000001Z"),
}
ORDERS = {
    "Equals": (False, True, False),
    "LessThan": (True, False, False),
    "GreaterThan": (False, False, True),
    "LessThanEquals": (True, True, False),
    "GreaterThanEquals": (False, True, True),
}


def matches(rule, document, **scope):
    return Rule(rule).matches(Scope(document, **scope))


@pytest.mark.parametrize(("rule", "document", "expected"), recorded("choices"), ids=str)
def test_rules_match_as_on_aws(rule, document, expected):
    assert matches(rule, document) is expected


@pytest.mark.parametrize(("kind", "order"), [*product(VALUES, ORDERS)])
def test_orders(kind, order):
    low, high = VALUES[kind]
    pairs = [(low, high), (low, low), (high, low)]

    for (left, right), expected in zip(pairs, ORDERS[order], strict=True):
        document = {"left": left, "right": right}
        literal = {"Variable": "$.left", f"{kind}{order}": right}
        path = {"Variable": "$.left", f"{kind}{order}Path": "$.right"}
        assert matches(literal, document) is expected
        assert matches(path, document) is expected


@pytest.mark.parametrize("operator", sorted(o for o in OPERATORS if o.endswith("Path")))
def test_no_value_is_coerced(operator):
    for left, right in [("1", 1), (1, True), (None, None), ([1], [1]), ({}, {}), ("x", None)]:
        rule = {"Variable": "$.left", operator: "$.right"}
        assert matches(rule, {"left": left, "right": right}) is False


def test_there_are_forty_two_operators():
    assert len(OPERATORS) == 3 + 16 * 2 + 5 + 2
    assert {"And", "StringEqualsPath", "BooleanEquals", "IsPresent", "StringMatches"} <= OPERATORS
    assert "BooleanLessThan" not in OPERATORS


def test_strings_are_in_the_order_of_their_utf_16_units():
    assert matches({"Variable": "$", "StringLessThan": "\uff5e"}, "😀")


@pytest.mark.parametrize(
    "operator", ["IsNull", "IsString", "IsNumeric", "IsBoolean", "IsTimestamp"]
)
def test_kinds(operator):
    of = {"IsNull": [None], "IsString": ["x", "2016-03-14T01:59:00Z"], "IsNumeric": [0, 1.5],
          "IsBoolean": [True, False], "IsTimestamp": ["2016-03-14T01:59:00Z"]}  # fmt: skip
    for value in [None, "x", "2016-03-14T01:59:00Z", 0, 1.5, True, False, [], {}]:
        expected = any(
            value is one or (value == one and type(value) is type(one)) for one in of[operator]
        )
        assert matches({"Variable": "$.v", operator: True}, {"v": value}) is expected
        assert matches({"Variable": "$.v", operator: False}, {"v": value}) is not expected


def test_what_is_not_there_is_only_not_present():
    assert matches({"Variable": "$.v", "IsPresent": False}, {})
    assert matches({"Variable": "$.v", "IsPresent": True}, {"v": None})
    assert matches({"Variable": "$.v[5].x", "IsPresent": False}, {"v": [1]})
    for rule in [
        {"Variable": "$.v", "BooleanEquals": True},
        {"Variable": "$.v", "IsNull": True},
        {"Variable": "$.v", "StringMatches": "*"},
        {"Variable": "$", "NumericEqualsPath": "$.v"},
        {"Not": {"Variable": "$.v", "IsString": True}},
    ]:
        with pytest.raises(StatesError) as caught:
            matches(rule, {})
        assert caught.value.name == "States.Runtime"
        assert caught.value.cause == (
            "Invalid path '$.v': The choice state's condition path references an invalid value."
        )


def test_rules_combine():
    yes, no = {"Variable": "$.v", "NumericEquals": 1}, {"Variable": "$.v", "NumericEquals": 2}
    never = {"Variable": "$.nothing", "NumericEquals": 1}
    document = {"v": 1}

    assert matches({"And": [yes, yes]}, document)
    assert not matches({"And": [yes, no, never]}, document)
    assert matches({"Or": [no, yes, never]}, document)
    assert not matches({"Or": [no, no]}, document)
    assert matches({"Not": {"And": [no]}}, document)


def test_the_first_rule_that_matches_is_taken():
    rules = [Rule({"Variable": "$.v", "NumericEquals": n, "Next": "x"}) for n in (1, 2, 2)]

    assert first_match(rules, Scope({"v": 2})) == 1
    assert first_match(rules, Scope({"v": 3})) is None


def test_a_variable_may_be_of_the_context_object_or_a_variable():
    rule = {"Variable": "$$.State.Name", "StringEqualsPath": "$name"}

    assert matches(rule, {}, context={"State": {"Name": "s"}}, variables={"name": "s"})


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("log-*.txt", ["log-1.txt", "log-.txt"], ["log-1.txtx", "xlog-1.txt", "log.txt"]),
        ("*", ["", "anything"], []),
        ("", [""], ["a"]),
        ("a", ["a"], ["ab", ""]),
        ("*a*b*", ["ab", "xaxbx", "aab"], ["ba", "a"]),
        ("ab*ba", ["abba", "abxba"], ["aba"]),
        ("a*a*a", ["aaa", "axaxa"], ["aa", "axa"]),
        (r"file\*name\\*", ["file*name\\", "file*name\\x"], ["filexname\\", "file*name"]),
        ("**", ["", "a"], []),
        ("a.c", ["a.c"], ["abc"]),
    ],
)
def test_string_matches(pattern, yes, no):
    rule = Rule({"Variable": "$", "StringMatches": pattern})

    assert all(rule.matches(Scope(text)) for text in yes)
    assert not any(rule.matches(Scope(text)) for text in no)
    assert not rule.matches(Scope(5))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (5, "a choice rule must be an object, not 5"),
        ({}, "a choice rule must have exactly one operator, not none"),
        ({"Variable": "$", "BooleanLessThan": True}, "exactly one operator, not none"),
        ({"Variable": "$", "IsNull": True, "IsString": True}, "exactly one operator, not ['IsNull', 'IsString']"),
        ({"IsNull": True}, "a choice rule with IsNull needs the field 'Variable'"),
        ({"Variable": "x", "IsNull": True}, "Variable: Value is not a Reference Path"),
        ({"Variable": "$.a[*]", "IsNull": True}, "Variable: Value is not a Reference Path"),
        ({"Variable": "$", "IsNull": 1}, "IsNull must be true or false, not 1"),
        ({"Variable": "$", "IsPresent": "true"}, "IsPresent must be true or false, not 'true'"),
        ({"Variable": "$", "StringEquals": 1}, "StringEquals must be a string, not 1"),
        ({"Variable": "$", "NumericLessThan": True}, "NumericLessThan must be a number, not True"),
        ({"Variable": "$", "BooleanEquals": 0}, "BooleanEquals must be true or false, not 0"),
        ({"Variable": "$", "TimestampEquals": "2016"}, "TimestampEquals must be a timestamp such as"),
        ({"Variable": "$", "StringEqualsPath": "x"}, "StringEqualsPath: Value is not a Reference Path"),
        ({"Variable": "$", "StringMatches": 5}, "StringMatches must be a string of at most"),
        ({"Variable": "$", "StringMatches": "x" * (MAX_PATTERN + 1)}, "StringMatches must be a string of at most"),
        ({"Variable": "$", "StringMatches": "a\\"}, "a backslash escapes only '*' and itself"),
        ({"Variable": "$", "StringMatches": "\\d"}, "a backslash escapes only '*' and itself"),
        ({"And": []}, "And must be a non-empty array of choice rules"),
        ({"Or": {"Variable": "$", "IsNull": True}}, "Or must be a non-empty array of choice rules"),
        ({"Not": []}, "a choice rule must be an object, not []"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused(rule, why):
    with pytest.raises(ExpressionError) as caught:
        Rule(rule)
    assert why in str(caught.value)


def test_rules_nest_only_so_deep():
    rule = {"Variable": "$", "IsNull": True}
    for _ in range(MAX_LEVELS):
        rule = {"Not": rule}

    assert matches(rule, None)
    with pytest.raises(ExpressionError, match="at most 50 deep"):
        Rule({"Not": rule})
