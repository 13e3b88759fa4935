"""JSONata's operators: arithmetic, comparisons, ranges, grouping, sorting, and places in lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata.operators import MAX_RANGE

SMALL = st.integers(-50, 50)


@given(SMALL, SMALL)
def test_whole_numbers_are_reckoned_exactly(left, right):
    told = asked("[$a + $b, $a - $b, $a * $b]", bound(a=left, b=right))

    assert told == {"value": [left + right, left - right, left * right]}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("1 & 2", "12"),
        ("'a' & $none", "a"),
        ("1 = '1'", False),
        ("[1] = [1]", True),
    ],
)
def test_signs_mean_what_they_mean_in_javascript(expression, value):
    assert asked(expression) == {"value": value}


@pytest.mark.parametrize(
    "expression", ["$none + 1", "1 * $none", "-$none", "$none < 1", "[1..$none] [0]", "2..1"]
)
def test_of_what_is_undefined_nothing_comes(expression):
    assert asked(expression.replace("2..1", "[2..1][0]")) == {}


@given(SMALL, SMALL)
def test_a_range_has_both_its_ends(first, last):
    assert asked("[$a..$b]", bound(a=first, b=last)) == {"value": list(range(first, last + 1))}


@pytest.mark.parametrize(
    ("size", "code"), [(MAX_RANGE + 1, "D2014"), ("'a'", "T2004"), (1.5, "T2004")]
)
def test_a_range_that_is_none_is_refused(size, code):
    assert asked(f"[1..{size}]")["code"] == code


@given(st.lists(SMALL, min_size=1), st.integers(-8, 8))
def test_a_place_is_counted_from_either_end(items, at):
    told = asked("$l[$n]", bound(l=items, n=at))

    assert told == ({"value": items[at]} if -len(items) <= at < len(items) else {})


def test_what_is_grouped_by_one_name_comes_together():
    rows = [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}]

    assert asked("$r{k: $sum(n)}", bound(r=rows)) == {"value": {"a": 4, "b": 2}}


def test_a_sort_has_terms_of_which_the_first_counts_most():
    rows = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}]

    assert asked("$r^(>a, b)", bound(r=rows)) == {"value": [rows[1], rows[0], rows[2]]}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("'a' + 1", "T2001"),
        ("1 + 'a'", "T2002"),
        ("1 < 'a'", "T2009"),
        ("true < false", "T2010"),
        ("-'a'", "D1002"),
        ("[1]{1: 2}", "T1003"),
        ("[1]{'a': 1, 'a': 2}", "D1009"),
    ],
)
def test_what_operators_refuse_has_jsonatas_code(expression, code):
    assert asked(expression)["code"] == code
