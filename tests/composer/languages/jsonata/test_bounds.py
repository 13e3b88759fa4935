"""Bounds of an evaluation: its steps, its memory, its depth."""

from __future__ import annotations

import sys

import pytest

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata import (
    MAX_STEPS,
    Expression,
    QueryError,
)

TOO_LONG = "Expression evaluation timeout: Check for infinite loop"
TOO_MUCH = "Expression evaluation memory limit exceeded: Check for excessive memory usage"
TOO_DEEP = (
    "Stack overflow error: Check for non-terminating recursive function. "
    "Consider rewriting as tail-recursive"
)


DOUBLED = "($d := function($x, $n){ $n = 0 ? $x : $d([$x, $x], $n - 1) }; %s)"
HOSTILE = [
    ("($f := function($x){ $f($x + 1) }; $f(1))", TOO_LONG),
    ("($f := function($x){ 1 + $f($x + 1) }; $f(1))", TOO_DEEP),
    ("1" + "+1" * 200, TOO_DEEP),
    ("(" * 400 + "1" + ")" * 400, TOO_DEEP),
    ("[" * 120 + "]" * 120, TOO_DEEP),
    ("$parse($pad('', 20000, '['))", TOO_DEEP),
    ("[1..873783]", TOO_MUCH),
    ("$range(1, 100000000, 1)", TOO_MUCH),
    ("$pad('x', 1000000000)", TOO_MUCH),
    ("$replace($pad('', 100000, 'a'), 'a', $pad('', 100000, 'b'))", TOO_MUCH),
    ("$replace($pad('', 1000, 'a'), /a/, $pad('', 100000, 'b'))", TOO_MUCH),
    ("$join([1..100].$string($), $pad('', 1000000, 'x'))", TOO_MUCH),
    (DOUBLED % "$string($d(1, 40))", TOO_MUCH),
    (DOUBLED % "$d(1, 40) = $d(1, 40)", TOO_MUCH),
    (DOUBLED % "$d(1, 40)", TOO_MUCH),
    (DOUBLED.replace("[$x, $x]", "{'a': $x, 'b': $x}") % "$count($d(1, 40).**)", TOO_LONG),
    (DOUBLED.replace("[$x, $x]", "{'a': $x, 'b': $x}") % "$d(1, 40) = $d(1, 40)", TOO_LONG),
    (DOUBLED.replace("[$x, $x]", "[[$x], [$x]]") % "$d(1, 40).*", TOO_LONG),
    ("$map([1..3000], function($v){ $map([1..3000], function($w){ $w }) })", TOO_LONG),
    ("$contains($pad('', 500, 'a'), /(a+)+b/)", TOO_LONG),
    ("$keys([1..800000])", TOO_LONG),
    ("$count([1..873782])", "value"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "said"), HOSTILE, ids=[text[:40] for text, _ in HOSTILE])
def test_a_hostile_expression_ends(expression, said):
    told = asked(expression)

    assert told.get("message", "value") in said


LARGE = {
    "json": "[" + "0," * 50_000 + "0]", "text": "a b " * 50_000, "list": list(range(20_000)),
    "object": {f"k{at}": at for at in range(20_000)}, "percents": "%20" * 50_000, "flags": [0] * 20_000,
}  # fmt: skip


COSTS = [
    ("$count($parse(json))", 5_000),
    ("$length($trim(text))", 2_000),
    ("$length($encodeUrl(text))", 5_000),
    ("$length($decodeUrl(percents))", 20_000),
    ("$length($uppercase(text))", 500),
    ("$length($base64decode(text))", 2_000),
    ("$length($string(object))", 10_000),
    ("$count($keys(object))", 4_000),
    ("$count($spread(object))", 15_000),
    ("$count($clone(list))", 5_000),
    ("$sum(list)", 5_000),
    ("$max(list)", 5_000),
    ("$count($sort(list))", 5_000),
    ("$count($shuffle(list))", 5_000),
    ("$count($distinct(list))", 5_000),
    ("$count($zip(list, list))", 5_000),
    ("$count($partition(list, 2))", 4_000),
    ("$boolean(flags)", 4_000),
    ("-1 in list", 4_000),
    ("list = $reverse($reverse(list))", 4_000),
    ("$formatNumber(1, '0.0')", 100),
    ("list", 4_000),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "least"), COSTS, ids=[text for text, _ in COSTS])
def test_what_goes_over_much_counts_as_many_steps(expression, least):
    bindings = bound({"input": LARGE})

    assert "code" not in asked(f"$states.input.({expression})", bindings)
    assert least <= bindings.spent < 100_000


def test_a_function_that_is_called_by_another_counts_its_steps():
    told = asked(
        "$map([1..1000], function($i) { $parse($states.input.json) })", bound({"input": LARGE})
    )

    assert told["message"] == TOO_LONG


def test_the_steps_of_an_evaluation_are_given():
    assert asked("$sum([1..10].($ + 1))", bound(steps=20))["message"] == TOO_LONG
    assert asked("$sum([1..10].($ + 1))", bound(steps=MAX_STEPS)) == {"value": 65}


def test_an_expression_has_so_many_characters():
    with pytest.raises(QueryError, match="at most 32768 characters"):
        Expression.compile("1" + " " * 40_000)


def test_the_library_has_not_raised_the_recursion_limit():
    assert sys.getrecursionlimit() < 10_000
