"""JSONata's functions of arrays and objects, and those that take a function."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import asked, bound

NUMBERS = st.lists(st.integers(-9, 9), min_size=2, max_size=12)


@given(NUMBERS)
def test_sorting_keeps_every_member_and_the_order_of_equals(numbers):
    rows = [{"n": n, "at": at} for at, n in enumerate(numbers)]

    by = asked("[$sort($r, function($a, $b){ $a.n > $b.n })]", bound(r=rows))["value"]

    assert by == sorted(rows, key=lambda row: row["n"])
    assert asked("$sort($n)", bound(n=numbers)) == {"value": sorted(numbers)}


@given(NUMBERS)
def test_what_is_turned_round_twice_is_as_it_was(numbers):
    assert asked("$reverse($reverse($n))", bound(n=numbers)) == {"value": numbers}


@given(NUMBERS)
def test_what_is_there_twice_is_kept_where_it_was_first(numbers):
    assert asked("[$distinct($n)]", bound(n=numbers)) == {"value": list(dict.fromkeys(numbers))}


@given(NUMBERS, st.floats(0, 1, exclude_max=True))
def test_shuffling_loses_and_adds_nothing(numbers, chance):
    told = asked("$shuffle($n)", bound(n=numbers, chance=lambda: chance))

    assert sorted(told["value"]) == sorted(numbers)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$map([1, 2], function($v, $i, $a){ $v + $i + $count($a) })", [3, 5]),
        ("$filter([1, 2, 3], function($v, $i){ $i > 0 })", [2, 3]),
        ("$single([1, 2, 3], function($v){ $v = 2 })", 2),
        ("$reduce([1, 2, 3], function($sum, $v){ $sum - $v })", -4),
        ("$reduce([1, 2], function($sum, $v){ $sum - $v }, 10)", 7),
        ("$sift({'a': 1, 'b': 2}, function($v, $k){ $k = 'b' })", {"b": 2}),
        ("$each({'a': 1, 'b': 2}, function($v, $k){ $k & $v })", ["a1", "b2"]),
        ("$zip([1, 2, 3], ['a', 'b'])", [[1, "a"], [2, "b"]]),
        ("$merge([{'a': 1, 'b': 1}, {'b': 2}])", {"a": 1, "b": 2}),
        ("$keys([{'a': 1}, {'b': 1, 'a': 1}])", ["a", "b"]),
        ("$spread({'a': 1, 'b': 2})", [{"a": 1}, {"b": 2}]),
        ("$count($none)", 0),
        ("$exists($none)", False),
    ],
)
def test_what_each_function_makes(expression, value):
    assert asked(expression) == {"value": value}


@pytest.mark.parametrize(
    "nothing", ["0", "''", "null", "[]", "{}", "[0]", "false", "[[], [0]]", "$sum"]
)
def test_what_is_empty_or_zero_is_false(nothing):
    assert asked(f"$boolean({nothing})") == {"value": False}


@pytest.mark.parametrize("something", ["1", "' '", "[0, 1]", "{'a': 0}", "-1"])
def test_all_else_is_true(something):
    assert asked(f"$boolean({something})") == {"value": True}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$single([1, 2])", "D3138"),
        ("$single([1], function($v){ false })", "D3139"),
        ("$reduce([1, 2], function($v){ $v })", "D3050"),
        ("$sort([1, 'a'])", "D3070"),
    ],
)
def test_what_they_refuse_has_jsonatas_code(expression, code):
    assert asked(expression)["code"] == code
