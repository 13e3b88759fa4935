"""Intrinsic functions: how they are written, and what they do with their arguments."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.intrinsics import evaluate, fails
from xingqiao.composer.errors import ExpressionError
from xingqiao.composer.languages.asl.jsonpath.intrinsics import Call, Intrinsic
from xingqiao.composer.languages.asl.state_errors import StatesError


def test_a_text_that_nests_too_deep_is_an_intrinsic_failure():
    error = fails("States.StringToJson($)", "[" * 100_000)
    assert error.name == "States.IntrinsicFailure"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("States.Format('{}', $.nope)", "$.nope"),
        ("States.Format('{}',$.nope)", "$.nope"),
        ("States.Format('{} {}', $.other, $.a.b)", "$.a.b"),
        ("States.Format('{}', States.Format('{}', $.nope))", "$.nope"),
        ("States.Format($.nope, 1)", "$.nope"),
        ("States.Format('{}', $.items[5])", "$.items[5]"),
        ("States.Format('{}', $$.Nope.Deep)", "$.Nope.Deep"),
    ],
)
def test_an_argument_that_is_not_there_is_a_runtime_error_in_aws_words(text, path):
    error = fails(text, {"other": 1, "items": [1, 2]})
    assert error.name == "States.Runtime"
    assert error.cause == (
        f"The function '{text}' had the following error: The JsonPath argument for the field '{path}' "
        'could not be found in the input \'{"other":1,"items":[1,2]}\''
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a function at character 1"),
        ("Format('')", "expected a function"),
        ("States.Nope()", "there is no function 'States.Nope' at character 1"),
        ("States.UUID", "expected '('"),
        ("States.UUID() ", "expected the end at character 14"),
        ("States.UUID()[0]", "expected the end"),
        ("States.Array(1 2)", "expected ','"),
        ("States.Array(1,)", "expected a path, a text in single quotes"),
        ("States.Array(", "expected a path, a text in single quotes"),
        ("States.Array(x)", "expected a path, a text in single quotes"),
        ("States.Array(1x)", "expected a path, a text in single quotes"),
        ("States.Array(01)", "expected a path, a text in single quotes"),
        ('States.Array("x")', "expected a path, a text in single quotes"),
        ("States.Array('x)", "a text must end with '"),
        (r"""States.Format('He said, \"Hello, {}!\"', 'x')""", "a text must end with '"),  # recorded
        (r"""States.StringToJson('{"text":"An \"escaped\" here"}')""", "a text must end with '"),  # recorded
        ("States.Array(States.Nope())", "there is no function 'States.Nope' at character 14"),
        ("States.Array($.)", "expected a name"),
        ("States.Array($.a[)", "expected ']'"),
        ("States.Array($.a['b)", "expected ']'"),
        ("States.Array($.a.b(1))", "expected ','"),
        ("States.Array(" * 11 + ")" * 11, "calls nest more than 10 deep"),
        ("States.Format('" + "x" * 10_000 + "')", "an expression has at most 10000 characters"),
        (5, "an intrinsic function must be a string, not 5"),
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text, why):
    with pytest.raises(ExpressionError) as caught:
        Intrinsic.compile(text)
    assert why in str(caught.value)


def test_an_expression_knows_where_its_calls_stand():
    expression = Intrinsic.compile("States.Array( States.UUID())")

    assert expression.call.at == 0
    assert expression.call.arguments == (Call("States.UUID", (), 14),)
    assert repr(expression) == "Intrinsic('States.Array( States.UUID())')"


@given(st.lists(st.sampled_from(
    ["States.Array(", "States.Format(", "States.MathAdd(", ")", ", ", "'a{}\\{'", "$.list", "$.name[0]", "-1.5", "true",
     "$[?(@.a)]", " ", "\\", "'", "[", "1"]), max_size=8))  # fmt: skip
def test_any_text_is_evaluated_or_refused(pieces):
    with contextlib.suppress(ExpressionError, StatesError):
        evaluate("".join(pieces))
