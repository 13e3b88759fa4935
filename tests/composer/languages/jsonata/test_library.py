"""The functions that AWS adds, and the names of all."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import NOW_MS, asked, bound
from xingqiao.composer.languages.jsonata import (
    Bindings,
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$partition([1,2,3,4], 2)", [[1, 2], [3, 4]]),
        ("$partition([1,2,3], 2.9)", [[1, 2], [3]]),
        ("$partition([], 2)", []),
        ("$range(0, 6, 2)", [0, 2, 4, 6]),
        ("$range(0, 5, 2)", [0, 2, 4]),
        ("$range(3, 1, -1)", [3, 2, 1]),
        ("$range(1, 3, -1)", []),
        ("$range(1, 9, 9)", 1),
        ("$range(2, 2, 1)", 2),
        ("$range(2, 2, -1)", 2),
        ("[$range(2, 2, 1)]", [2]),
        ("$count($range(2, 2, 1))", 1),
        ("$range(-1.7, 2, 1)", [-1, 0, 1, 2]),
        ("$count($range(1, 200000, 1))", 200_000),
        ("$hash('input', 'SHA-1')", "140f86aae51ab9e1cda9b4254fe98a74eb54c1a1"),
        ("$hash('', 'MD5')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("$length($hash('a', 'SHA-512'))", 128),
        ("$random(42)", 0.7275636800328681),
        ("$random(42.9)", 0.7275636800328681),
        ("$random()", 0.5),
        ("$uuid()", "80000000-8000-4000-8000-000080000000"),
        ("$parse('{\"a\": [1, 2.50, null, -0]}')", {"a": [1, 2.5, None, 0]}),
        ("$parse('null')", None),
        ("$parse('{\"a\":1}').a", 1),
        ("$millis()", NOW_MS),
        ("$now()", "2023-11-14T22:13:20.123Z"),
        ("$now('[Y0001]')", "2023"),
        ("$shuffle([1,2,3])", [1, 3, 2]),
    ],
)
def test_the_functions_that_aws_adds(expression, value):
    assert asked(expression) == {"value": value}


@pytest.mark.parametrize(
    "expression",
    [
        "$partition($none, 1)", "$partition([1], $none)", "$partition([1], 0)", "$range(1, $none, 1)", "$range(1, 2, $none)",
        "$range(1, 2, 0)", "$range($none, 1, 1)", "$hash($none, 'MD5')", "$hash('a', $none)", "$parse($none)",
    ],
)  # fmt: skip
def test_an_undefined_argument_makes_them_undefined(expression):
    assert asked(expression) == {}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("$partition([1], -1)", "T0410"),
        ("$partition(1)", "T0410"),
        ("$range('a', 1, 1)", "T0410"),
        ("$random('a')", "T0410"),
        ("$hash('a', 'CRC')", None),
        ("$parse('{')", None),
        ("$parse('NaN')", None),
        ("$parse('1e999')", None),
        ("$parse(1)", "T0410"),
        ("$uuid(1)", "T0410"),
    ],
)
def test_what_they_refuse(expression, code):
    assert asked(expression)["code"] == code


def test_chance_is_what_is_given():
    draws = iter([0.0, 0.25, 0.5, 0.999])

    uuid = asked("$uuid()", bound(chance=lambda: next(draws)))["value"]

    assert uuid == "00000000-4000-4000-8000-0000ffbe76c8"


def test_functions_keep_their_names_whoever_binds_them():
    asked("($f := $sum; $g := $uppercase; $f([1]))")

    assert (
        asked("$sum('a')")["message"]
        == 'Argument 1 of function "sum" must be an array of "numbers"'
    )


def test_only_what_is_named_is_made_ready():
    states = {"input": [None], "context": object()}

    assert asked("$states.input[0] = null", bound(states)) == {"value": True}
    assert Bindings(states={}, chance=float, now_ms=0).variables == {}
