"""Expressions: compiled once, and evaluated on what they name and no more."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata import Expression, QueryError
from xingqiao.composer.languages.jsonata.bounds import MAX_TEXT


def test_the_same_text_is_compiled_once():
    assert Expression.compile("$a.b + 1") is Expression.compile("$a.b + 1")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$a.b.c", ("a", "b", "c")),
        ("$a", ("a",)),
        ("$a.b[0]", None),
        ("$a + 1", None),
        ("a.b", None),
    ],
)
def test_a_plain_path_is_known_as_one(text, path):
    assert Expression.compile(text).path == path


@pytest.mark.parametrize("text", ["$a.b.c", "$a . b . c"])
@pytest.mark.parametrize(
    "a", [{"b": {"c": [1]}}, {"b": [{"c": 1}, {"c": 2}]}, {"b": {"c": None}}, {"b": 1}, []]
)
def test_a_plain_path_leads_where_the_evaluator_would(text, a):
    assert asked(text, bound(a=a)) == asked(f"({text})", bound(a=a))


@pytest.mark.parametrize(("length", "refused"), [(MAX_TEXT, False), (MAX_TEXT + 1, True)])
def test_an_expression_is_so_long_and_no_longer(length, refused):
    text = "1".ljust(length)
    if refused:
        with pytest.raises(QueryError, match=f"at most {MAX_TEXT} characters"):
            Expression.compile(text)
    else:
        assert asked(text) == {"value": 1}


@pytest.mark.parametrize("text", ["1 ?? 2", "1 ?: 2"])
def test_an_operator_of_a_later_edition_is_refused(text):
    with pytest.raises(QueryError) as refused:
        Expression.compile(text)
    assert refused.value.code == "S0211"


def test_all_expressions_together_take_their_steps():
    first = bound()
    asked("1 + 2", first)

    both = bound(steps=2 * first.spent)
    assert [asked("1 + 2", both) for _ in range(2)] == [{"value": 3}] * 2
    assert "value" not in asked("1 + 2", both)
