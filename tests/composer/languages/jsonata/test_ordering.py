"""Sorting: comparators, keys, and how much can be sorted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata import (
    MAX_STEPS,
)

TOO_LONG = "Expression evaluation timeout: Check for infinite loop"


@pytest.mark.parametrize(("count", "fits"), [(5_000, True), (20_000, False)])
@pytest.mark.parametrize(
    "expression",
    [
        "$states.input^(>price)[0].id",
        "$sort($states.input, function($l, $r) { $l.price < $r.price })[0].id",
        "$sort($states.input, function($l, $r) { $r.price > $l.price })[0].id",
    ],
)
def test_lists_of_so_many_objects_can_be_sorted(expression, count, fits):
    items = [{"id": at, "price": at * 7_919 % 20_011} for at in range(count)]
    last = max(items, key=lambda item: item["price"])["id"]

    told = asked(expression, bound({"input": items}, steps=MAX_STEPS))

    assert told == ({"value": last} if fits else {"code": None, "message": TOO_LONG})


@given(
    items=st.lists(
        st.dictionaries(st.sampled_from("ab"), st.integers(0, 3) | st.sampled_from(["x", None]))
    ),
    compared=st.sampled_from(["$l.a > $r.a", "$r.a < $l.b", "$l.b < $r.a", "$l > $r"]),
)
def test_a_comparator_whose_sides_are_evaluated_once_sorts_as_any_other(items, compared):
    sort = "$sort($states.input, function($l, $r)%s { %s })"
    bindings = bound({"input": items})

    plain = asked(sort % ("", compared), bindings)

    assert plain == asked(sort % ("", f"({compared})"), bindings)
    assert plain == asked(sort % ("<xx:b>", compared), bindings)


def test_any_function_can_compare():
    assert asked("$sort(['aba', 'b', 'ab'], $contains)") == {"value": ["b", "ab", "aba"]}
    assert asked("$sort([1, 3, 2], function($l) { $l > 2 })") == {"value": [1, 2, 3]}
    assert asked("$sort([1, 3, 2], function($l, $r) { $l.x + 1 })") == {"value": [1, 3, 2]}


def test_a_key_of_a_sort_is_evaluated_once_for_an_item():
    draws = iter([0.3, 0.1, 0.2])

    told = asked("['a', 'b', 'c']^($random())", bound(chance=lambda: next(draws)))

    assert told == {"value": ["c", "a", "b"]}  # b and c are compared first
