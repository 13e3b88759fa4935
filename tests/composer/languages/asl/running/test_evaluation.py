"""Fields that hold expressions, with what AWS made of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.asl.asked import bound
from xingqiao.composer.languages.asl.running.evaluation import (
    EvaluationError,
    evaluate_field,
    expressions,
    flaws,
)
from xingqiao.composer.languages.asl.state_errors import StatesError
from xingqiao.composer.values import equal

RECORDED = json.loads(Path(__file__).with_name("jsonata_recorded.json").read_text("utf-8"))["cases"]


def states(row):
    return bound({"input": row["input"], **row.get("states", {})}, **row.get("variables", {}))


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["case"])
def test_a_field_recorded_on_aws_has_its_result_or_its_cause(row):
    if "cause" not in row:
        assert equal(evaluate_field(row["value"], row["field"], states(row)), row["result"])
        return

    with pytest.raises(StatesError) as failed:
        evaluate_field(row["value"], row["field"], states(row))

    assert (failed.value.name, failed.value.cause) == ("States.QueryEvaluationError", row["cause"])
    assert failed.value.location == row["location"]


@pytest.mark.parametrize(
    "literal",
    [" {% 1 %}", "{% 1 %} ", "{%", "%}", "{%}", "x{% 1 %}", "{% 1", "", None, 5, True, [], {}],
)
def test_only_a_string_that_begins_and_ends_with_the_signs_is_an_expression(literal):
    assert evaluate_field(literal, "Output", bound()) is literal


@pytest.mark.parametrize("text", ["{%1%}", "{% 1 %}", "{%\n1\n%}"])
def test_space_inside_the_signs_means_nothing(text):
    assert evaluate_field(text, "Output", bound()) == 1


def test_what_holds_no_expression_is_handed_on_as_it_is():
    value = {"a": [1, {"b": "c"}]}

    assert evaluate_field(value, "Output", bound()) is value


def test_expressions_are_found_at_any_depth_with_the_path_of_their_field():
    value = {"a": "{% 1 %}", "b": ["x", {"c": "{% $f %}"}]}

    assert list(expressions(value, "Arguments")) == [
        ("Arguments/a", "1"),
        ("Arguments/b[1]/c", "$f"),
    ]


@pytest.mark.parametrize(
    ("value", "field", "location"),
    [
        ("{% $no %}", "Choices[1]/Condition", "Choices[1]/Condition"),
        ({"FunctionName": "{% $no %}"}, "Arguments", "Arguments/FunctionName"),
        ({"a": [0, "{% $no %}"]}, "Output", "Output/a[1]"),
    ],
)
def test_an_undefined_value_names_its_field(value, field, location):
    with pytest.raises(EvaluationError) as failed:
        evaluate_field(value, field, bound())

    assert failed.value.location == location
    assert failed.value.cause == (
        f"The JSONata expression '$no' specified for the field '{location}' returned nothing (undefined)."
    )


@pytest.mark.parametrize(
    ("expression", "field", "what"),
    [
        ("1", "Condition", "Expected 'boolean', but was 'number' for value: 1"),
        ("'a'", "Choices[0]/Condition", "Expected 'boolean', but was 'string' for value: \"a\""),
        ("null", "Seconds", "Expected 'number', but was 'null' for value: null"),
        ("[1,2]", "Timestamp", "Expected 'string', but was 'array' for value: [1,2]"),
        (
            "{'é':1}",
            "ItemBatcher/MaxItemsPerBatch",
            "Expected 'number', but was 'object' for value: {\"é\":1}",
        ),
        (
            "true",
            "ItemReader/ReaderConfig/MaxItems",
            "Expected 'number', but was 'boolean' for value: true",
        ),
    ],
)
def test_a_field_of_the_language_wants_a_type(expression, field, what):
    with pytest.raises(EvaluationError) as failed:
        evaluate_field(f"{{% {expression} %}}", field, bound())

    assert failed.value.cause.endswith(f"returned an unexpected result type. {what}")


def test_a_member_of_a_payload_may_be_of_any_type():
    assert evaluate_field({"Condition": "{% 1 %}"}, "Arguments", bound()) == {"Condition": 1}


@pytest.mark.parametrize(
    ("expression", "tail"),
    [
        ("1 + 'a'", '. T2002: The right side of the "+" operator must evaluate to a number'),
        ("1 +", ". S0207: Unexpected end of expression"),
        (
            "[1..900000]",
            ": Expression evaluation memory limit exceeded: Check for excessive memory usage",
        ),
    ],
)
def test_an_error_with_a_code_is_a_sentence_of_its_own(expression, tail):
    with pytest.raises(EvaluationError) as failed:
        evaluate_field(f"{{% {expression} %}}", "Output", bound())

    begin = f"The JSONata expression '{expression}' specified for the field 'Output' threw an error"
    assert failed.value.cause == f"{begin} during evaluation{tail}"


def test_a_cause_is_no_longer_than_the_api_allows():
    with pytest.raises(EvaluationError) as failed:
        evaluate_field("{% $pad('', 40000, 'x') %}", "Items", bound())

    assert len(failed.value.cause) == 32_768


# --- what deployment refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("phone", ["phone"]),
        ("phone & mail & phone", ["phone", "mail"]),
        ("$", ["$"]),
        ("$$.a", ["$$"]),
        ("*", ["*"]),
        ("**.a", ["**"]),
        ("$states.input.a.b[c = $].d^(e){f: g}.(h; [i, {j: k}])", []),
        ("$states.input[$$.a]", ["$$"]),
        ("$map($v, function($x){ $x.a & b })", ["b"]),
        ("$v ~> |$|{'a': b}, c|", []),
        ("{'a': b, c: 1}", ["b", "c"]),
        ("[a, -b] ~> $sum", ["a", "b"]),
        ("$a ? b : c", ["b", "c"]),
        ("($x := a; $f(?, b))", ["a", "b"]),
        ("count(1)", ["count"]),
        ("$a.b@$d.e#$i[c]", []),
        ("a.b[c]", ["a"]),
        ("1 + 'a' & null", []),
    ],
)
def test_what_looks_for_a_context_is_refused(expression, names):
    found = list(flaws({"v": f"{{% {expression} %}}"}, "Output"))

    assert found == [
        (
            "UNSUPPORTED_JSONATA_EXPRESSION",
            "Output/v",
            f"Reference to '{name}' at the top level is not supported.",
        )
        for name in names
    ]


def test_what_does_not_parse_is_refused():
    assert list(flaws(["{% 1 + %}"], "Items")) == [
        ("INVALID_JSONATA_EXPRESSION", "Items[0]", "Unexpected end of expression")
    ]
