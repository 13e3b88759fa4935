"""One evaluation: its frames, its functions, and what bounds it."""

from __future__ import annotations

import pytest

from tests.kit.asl.asked import asked, bound
from xingqiao.composer.languages.jsonata.evaluator import Frame


def test_a_name_is_looked_up_from_the_inside_out():
    outer = Frame(None, {"a": 1, "b": 2})
    inner = Frame(outer)
    inner.bind("a", 3)

    assert [inner.lookup(name) for name in "abc"] == [3, 2, None]
    assert outer.lookup("a") == 1


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("($x := 1; ($x := 2); $x)", 1),
        ("($f := function($n){ $n < 2 ? 1 : $n * $f($n - 1) }; $f(5))", 120),
        ("($x := 1; $f := function(){ $x }; ($x := 2; $f()))", 1),
        ("($add := function($a, $b){ $a + $b }; $inc := $add(1, ?); $inc(2))", 3),
        ("($both := $uppercase ~> $trim; $both(' a '))", "A"),
        ("[[1]][0]", [1]),
        ("[1, 2][[0, 1]]", [1, 2]),
    ],
)
def test_frames_functions_and_sequences(expression, value):
    assert asked(expression) == {"value": value}


def test_a_call_in_the_last_place_needs_no_room():
    text = "($f := function($n){ $n = 0 ? 'done' : $f($n - 1) }; $f(5000))"

    assert asked(text) == {"value": "done"}


def test_a_recursion_without_end_is_refused():
    told = asked("($f := function($n){ 1 + $f($n) }; $f(1))")

    assert "value" not in told
    assert told["message"]


def test_a_loop_without_end_has_an_end():
    told = asked("($f := function($n){ $f($n) }; $f(1))", bound(steps=10_000))

    assert "value" not in told
    assert told["message"]
