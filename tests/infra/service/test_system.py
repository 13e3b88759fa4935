"""What is in `/whisk.system/utils`, as OpenWhisk's own behave."""

from __future__ import annotations

import pytest

from xingqiao.actions import Action
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.service.system import MAX_LINES, system_entities

FUNCTIONS = {
    entity.name.name: entity.exec.function
    for entity in system_entities(SystemClock())
    if isinstance(entity, Action)
}


@pytest.mark.parametrize(
    "params", [{}, {"lines": None}, {"lines": ""}, {"lines": 0}, {"lines": []}]
)
def test_without_lines_there_are_none_and_that_is_no_error(params):
    assert FUNCTIONS["sort"](params) == {"lines": [], "length": 0}
    assert FUNCTIONS["cat"](params) == {"lines": [], "payload": ""}
    assert FUNCTIONS["head"](params) == {"lines": [], "num": 1}


@pytest.mark.parametrize("name", ["sort", "cat", "head"])
def test_lines_that_are_no_list_or_too_many_are_an_error(name):
    for lines in ("text", {"a": 1}, 7, True, ["x"] * (MAX_LINES + 1)):
        assert "'lines' must be a list" in FUNCTIONS[name]({"lines": lines})["error"]
    assert "error" not in FUNCTIONS[name]({"lines": ["x"] * MAX_LINES})


@pytest.mark.parametrize(
    ("lines", "ordered"),
    [
        (["b", "a", "C"], ["C", "a", "b"]),
        ([10, 9, 1], [1, 10, 9]),
        ([2.0, "10", None, True, False], ["10", 2.0, False, None, True]),
        ([[2, None], [1, "a"], {}, "z"], [[1, "a"], [2, None], {}, "z"]),
        (["\uffff", "\U0001f600"], ["\U0001f600", "\uffff"]),  # by UTF-16, as JavaScript has it
        ([1.5, "1.25"], ["1.25", 1.5]),
    ],
)
def test_lines_are_sorted_as_javascript_sorts_and_stay_what_they_are(lines, ordered):
    assert FUNCTIONS["sort"]({"lines": lines}) == {"lines": ordered, "length": len(lines)}


def test_lines_are_joined_and_nothing_is_empty():
    assert FUNCTIONS["cat"]({"lines": ["a", None, 1]})["payload"] == "a\n\n1"


@pytest.mark.parametrize(
    ("num", "lines"),
    [(2, ["a", "b"]), (0, ["a"]), (None, ["a"]), (-1, ["a", "b"]), (9, ["a", "b", "c"])],
)
def test_the_first_lines(num, lines):
    found = FUNCTIONS["head"]({"lines": ["a", "b", "c"], "num": num})
    assert found == {"lines": lines, "num": num or 1}
    assert FUNCTIONS["head"]({"lines": [], "num": "x"}) == {"error": "'num' must be a whole number"}
