"""JSONata's functions of numbers and of dates."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.asl.asked import NOW_MS, asked, bound
from xingqiao.composer.languages.jsonata.mathematics import MAX_BASE, MAX_PICTURE, MIN_BASE

WHOLE = st.integers(-(10**15), 10**15)


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_numbers_are_summed_compared_and_averaged(numbers):
    told = asked("[$sum($n), $max($n), $min($n), $average($n)]", bound(n=numbers))["value"]

    assert told == [
        sum(numbers),
        max(numbers),
        min(numbers),
        pytest.approx(sum(numbers) / len(numbers)),
    ]


def test_no_numbers_have_a_sum_and_nothing_else():
    assert asked("[$sum([]), $count([$max([]), $min([]), $average([])])]") == {"value": [0, 0]}


@pytest.mark.parametrize(
    ("number", "rounded"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2)]
)
def test_a_half_is_rounded_to_the_even_number(number, rounded):
    assert asked("$round($n)", bound(n=number)) == {"value": rounded}


def test_places_are_counted_to_either_side_of_the_point():
    assert asked("[$round(123.456, 1), $round(123.456, -2)]") == {"value": [123.5, 100]}


@given(WHOLE, st.integers(MIN_BASE, MAX_BASE))
def test_a_number_in_another_base_is_the_same_number(number, base):
    text = asked("$formatBase($n, $b)", bound(n=number, b=base))["value"]

    assert int(text, base) == number


@given(st.integers(0, 4_000_000_000_000))
def test_an_instant_is_read_as_it_was_written(ms):
    text = asked("$fromMillis($ms)", bound(ms=ms))["value"]

    assert datetime.fromisoformat(text) == datetime.fromtimestamp(ms // 1000, UTC).replace(
        microsecond=ms % 1000 * 1000
    )
    assert asked("$toMillis($t)", bound(t=text)) == {"value": ms}


def test_the_time_is_that_of_the_evaluation():
    assert asked("[$millis(), $toMillis($now())]") == {"value": [NOW_MS, NOW_MS]}


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("$number('0x1F')", 31),
        ("$number('-1.5e2')", -150),
        ("$number(true)", 1),
        ("$number('0b11')", 3),
    ],
)
def test_a_text_is_a_number_in_each_of_javascripts_spellings(expression, number):
    assert asked(expression) == {"value": number}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$number('1_000')", "D3030"),
        ("$number('1e999')", "D3030"),
        ("$sqrt(-1)", "D3060"),
        ("$power(10, 999)", "D3061"),
        (f"$formatBase(1, {MIN_BASE - 1})", "D3100"),
        (f"$formatBase(1, {MAX_BASE + 1})", "D3100"),
        ("$toMillis('soon')", "D3110"),
    ],
)
def test_what_they_refuse_has_jsonatas_code(expression, code):
    assert asked(expression)["code"] == code


@pytest.mark.parametrize(("length", "refused"), [(MAX_PICTURE, False), (MAX_PICTURE + 1, True)])
def test_a_picture_is_so_long_and_no_longer(length, refused):
    told = asked("$formatNumber(1, $p)", bound(p="0" * length))

    assert ("code" in told) is refused
