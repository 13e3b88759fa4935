"""Queries as they are composed."""

from __future__ import annotations

import pytest

from xingqiao import composer as c
from xingqiao.composer import CompositionError, path, var


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: c.queries("a"), "queries: 'queries' must name at least one query"),
        (lambda: c.queries("a", **{"a b": 1}), "has 'a b', which is not the name of a query"),
        (lambda: c.queries("a", **{"a" * 65: 1}), "which is not the name of a query"),
        (lambda: c.queries("a", state={1}), "has 'state', which is not a template"),
        (lambda: c.queries(7, state=1), "queries: 'components' must be a composition"),
        (lambda: c.parse({"type": "queries", "queries": {"$x": 1}}), "not the name of a query"),
        (lambda: c.parse({"type": "queries", "queries": []}), "queries: 'queries' cannot be read"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_do(make, why):
    with pytest.raises(CompositionError, match=why):
        make()


def test_queries_are_written_and_read():
    part = c.queries("a", "b", state={"n": path("$.n"), "x": var("x", default=1)}, one=1)

    assert c.parse(part.to_json()) == part
    assert part.to_json()["queries"] == {
        "state": {"n": {"$path": "$.n"}, "x": {"$path": "$", "$var": "x", "$default": 1}},
        "one": 1,
    }


def test_queries_of_parts_are_the_queries_of_the_whole():
    whole = c.sequence(c.queries("a", one=1), c.queries("b", two=[path("$.n"), {"k": path("$")}]))

    program = c.compile(whole)

    assert list(program.queries) == ["one", "two"]
    assert program.actions == ["/_/a", "/_/b"]
    assert len(program.instructions) == 3
    assert program.to_json()["queries"]["two"] == [
        {"$path": "$.n", "$default": None},
        {"k": {"$path": "$", "$default": None}},
    ]


def test_one_name_has_one_template():
    twice = c.sequence(c.queries("a", state=1), c.queries("b", state=1))

    assert list(c.compile(twice).queries) == ["state"]
    with pytest.raises(CompositionError, match="'state' is declared twice in one composition"):
        c.compile(c.sequence(twice, c.queries("b", state=2)))


def test_a_saga_may_have_queries_around_and_inside():
    saga = c.saga(c.queries(c.step("a", undo="b"), state=path("$")))

    assert list(c.compile(c.queries(saga, all=1)).queries) == ["all", "state"]
