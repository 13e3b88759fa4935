"""Predicates over CloudEvents: what they may look at."""

from __future__ import annotations

import pytest

from xingqiao.composer import ExpressionError, Scope, path
from xingqiao.composer.cloudevents.predicates import (
    MAX_COMPARED,
    read_event_path,
    read_event_predicate,
)

WIDE, ONE = {"path": "$..total"}, {"path": "$.total"}


@pytest.mark.parametrize(
    "doc",
    [
        {"op": "exists", "of": WIDE},
        {"op": "is", "of": WIDE, "type": "array"},
        {"op": "matches", "of": WIDE, "pattern": "a*"},
        {"op": "eq", "left": WIDE, "right": {"value": 1}},
        {"op": "eq", "left": ONE, "right": WIDE},
        {"op": "not", "of": {"op": "true", "of": WIDE}},
        {"op": "and", "of": [{"op": "true", "of": ONE}, {"op": "true", "of": WIDE}]},
        {"op": "or", "of": [{"op": "true", "of": {"path": "$.items[*]"}}]},
    ],
)
def test_a_path_that_could_visit_the_whole_event_is_refused_wherever_it_stands(doc):
    with pytest.raises(ExpressionError, match=r"'filter' has the path .* which can select several"):
        read_event_predicate(doc, "filter")


def test_a_variable_is_refused():
    with pytest.raises(ExpressionError, match="'filter' has the variable 'n': use a path"):
        read_event_predicate({"op": "true", "of": {"path": "$", "var": "n"}}, "filter")


@pytest.mark.parametrize("value", [{"path": "$..total"}, {"path": "$", "var": "n"}, [WIDE]])
def test_a_value_that_looks_like_a_path_is_a_value(value):
    doc = {"op": "eq", "left": ONE, "right": {"value": value}}

    assert read_event_predicate(doc, "filter").holds(Scope({"total": value}, {}))


def test_what_the_dsl_writes_is_read():
    total = path("$.data.total")
    wanted = ((total > 3) & ~(total == 5)) | total.is_a("string") | total.matches("a*")

    assert read_event_predicate(wanted.to_json(), "filter").predicate.to_json() == wanted.to_json()


MOST, MORE = MAX_COMPARED - 2, MAX_COMPARED - 1  # characters of a text
BOTH = {"op": "eq", "left": {"path": "$.a"}, "right": {"path": "$.b"}}
LIKE = {"op": "matches", "of": {"path": "$.a"}, "pattern": "x*"}


@pytest.mark.parametrize(
    "doc",
    [
        BOTH,
        {**BOTH, "op": "le"},
        LIKE,
        {"op": "and", "of": [{"op": "true", "of": {"path": "$.a"}}, BOTH]},
        {"op": "not", "of": {"op": "not", "of": LIKE}},
        {"op": "not", "of": {"op": "or", "of": [{**BOTH, "op": "ne"}]}},
    ],
)
def test_a_value_that_takes_long_to_compare_lets_nothing_hold(doc):
    held = [
        read_event_predicate(doc, "filter").holds(Scope({"a": "x" * size, "b": "x" * size}, {}))
        for size in (MOST, MORE)
    ]

    assert held == [True, False]


def test_a_list_that_takes_long_to_compare_lets_nothing_hold():
    for one, holds in ([1], True), ([1] * MAX_COMPARED, False):
        scope = Scope({"a": one, "b": [*one]}, {})
        assert read_event_predicate(BOTH, "filter").holds(scope) is holds


def test_a_large_value_is_compared_with_a_small_one():
    of = {"path": "$.a"}
    for doc in (
        {"op": "ne", "left": of, "right": {"value": 1}},
        {"op": "exists", "of": of},
        {"op": "is", "of": of, "type": "string"},
    ):
        assert read_event_predicate(doc, "filter").holds(Scope({"a": "x" * MORE}, {}))


def test_a_path_leads_to_one_place():
    assert read_event_path("$.event.data.order", "by").text == "$.event.data.order"
    for wrong, why in (("order", "is not a path"), (5, "is not a path"), ("$..a", "several")):
        with pytest.raises(ExpressionError, match=f"'by' .*{why}"):
            read_event_path(wrong, "by")
