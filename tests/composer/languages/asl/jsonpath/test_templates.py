"""Payload templates, and the expressions in them."""

from __future__ import annotations

import pytest

from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.functions import Chance
from xingqiao.composer.languages.asl.jsonpath.paths import NO_INPUT, Scope
from xingqiao.composer.languages.asl.jsonpath.templates import Expression, Template
from xingqiao.composer.languages.asl.jsonpath.texts import json_text
from xingqiao.composer.languages.asl.state_errors import StatesError
from xingqiao.composer.values import MAX_DEPTH

CHANCE = Chance(number=lambda: 0.0, uuid=lambda: "an id")
INPUT = {"a": 1, "list": [1, 2]}


def fill(template, document=INPUT, **scope):
    return Template(template).fill(Scope(document, **scope), CHANCE)


def fails(template, document=INPUT, **scope):
    with pytest.raises(StatesError) as caught:
        fill(template, document, **scope)
    return caught.value.name, caught.value.cause


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ({"x.$": "$.a", "y": "$.a", "z": [{"w.$": "$.list[*]"}, "$.a", 5]},
         {"x": 1, "y": "$.a", "z": [{"w": [1, 2]}, "$.a", 5]}),
        ({"x.$": "States.Array($.a, States.UUID())"}, {"x": [1, "an id"]}),
        ({"x.$": "$$.run", "y.$": "$v[0]", "z.$": "$"}, {"x": 7, "y": 8, "z": INPUT}),
        ({"x": {"y": {"z.$": "$.list[0]"}}}, {"x": {"y": {"z": 1}}}),
        ({"x.$": "$.list[5]"}, {"x": None}),
        ({"x.$": "$.nothing[*].y"}, {"x": []}),
        ({".$": "$.a"}, {"": 1}),
        ({}, {}),
        ("$.a", "$.a"),
        (None, None),
        ([{"x.$": "$.a"}], [{"x": 1}]),
    ],
)  # fmt: skip
def test_what_ends_with_a_dollar_is_evaluated(template, expected):
    assert fill(template, context={"run": 7}, variables={"v": [8]}) == expected


def test_what_is_not_found_is_named_in_aws_words():
    document, context = '{"a":1,"list":[1,2]}', '{"State":{"Name":"s"}}'

    assert fails({"deep": [{"x.$": "$.nope.deep"}]}) == (
        "States.Runtime",
        f"The JSONPath '$.nope.deep' specified for the field 'x.$' could not be found in the input '{document}'",
    )
    assert fails({"x.$": "$$.Nope"}, context={"State": {"Name": "s"}}) == (
        "States.Runtime",
        f"The JSONPath '$.Nope' specified for the field 'x.$' could not be found in the input '{context}'",
    )
    assert fails({"x.$": "$v"})[1].startswith("The JSONPath '$v' specified for the field 'x.$'")
    assert fails({"x.$": "$.a[0]"}) == (
        "States.Runtime",
        "Invalid path '$.a[0]' : Filter: [0] can only be applied to arrays. Current context is: 1",
    )
    assert fails({"x.$": "$"}, None) == ("States.Runtime", NO_INPUT)


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "",
        "States.Nope()",
        "$.",
        5,
        None,
        {"y": 1},
        " $.a",
        r"""States.Format('\"{}\"', 'x')""",
    ],
)
def test_what_is_neither_path_nor_function_is_refused_in_aws_words(value):
    with pytest.raises(ExpressionError) as caught:
        Template({"x": [{"parsed.$": value}]})
    assert str(caught.value) == (
        "The value for the field 'parsed.$' must be a valid JSONPath or a valid intrinsic function call"
    )


def test_a_template_may_visit_as_much_as_one_path():
    wide = {"list": list(range(2_000))}

    assert fill({"x.$": "$..*"}, wide)["x"] == [wide["list"], *wide["list"]]
    for hostile in ["$..*", "States.JsonToString($)", "States.Array($..*)"]:
        name, cause = fails([{"x.$": hostile}] * 2_000, wide)
        assert name == "States.Runtime"
        assert "visits more than 100000 values" in cause


def test_a_template_nests_as_deep_as_a_value_may():
    template: object = {"x.$": "$.a"}
    for _ in range(MAX_DEPTH - 1):
        template = {"y": template}

    assert json_text(fill(template)).endswith('{"x":1}' + "}" * (MAX_DEPTH - 1))


def test_what_is_no_json_is_no_template():
    with pytest.raises(ExpressionError, match="a payload template must be JSON, but set at"):
        Template({"x": {1}})


def test_a_single_expression_names_its_field():
    expression = Expression("$.NoSuchCausePath", "CausePath")

    with pytest.raises(StatesError) as caught:
        expression.value(Scope({"int-literal": 0}), CHANCE)
    assert caught.value.cause == (
        "The JSONPath '$.NoSuchCausePath' specified for the field 'CausePath' could not be found in the "
        "input '{\"int-literal\":0}'"
    )
    assert repr(expression) == "Expression('$.NoSuchCausePath', 'CausePath')"
    assert Expression("States.UUID()", "ErrorPath").value(Scope({}), CHANCE) == "an id"
