"""How values compare in a path's filter."""

from __future__ import annotations

import pytest

from xingqiao.composer.expressions import MISSING
from xingqiao.composer.languages.asl.jsonpath.filters import compared


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=="])
def test_unlike_values_have_no_order_and_are_not_equal(operator):
    for left, right in [
        (1, "1"),
        (True, 1),
        (None, 0),
        (None, False),
        (MISSING, None),
        ([], {}),
        (MISSING, MISSING),
    ]:
        assert not compared(operator, left, right)
        assert not compared(operator, right, left)


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("==", 1, 1.0, True),
        ("==", {"a": [1]}, {"a": [1.0]}, True),
        ("!=", MISSING, 1, True),
        ("in", 1, [1], True),
        ("in", 1, {"1": 1}, False),
        ("in", MISSING, [MISSING], False),
        ("nin", 1, 5, True),
        ("contains", "abc", "b", True),
        ("contains", "abc", 1, False),
        ("contains", [1, 2], 2, True),
        ("contains", {"a": 1}, "a", False),
        ("subsetof", [1], [1, 2], True),
        ("subsetof", 1, [1], False),
        ("anyof", [3], [1, 2], False),
        ("noneof", [3], 5, False),
        ("size", "ab", 2, True),
        ("size", [1], True, False),
        ("size", {"a": 1}, 1, False),
        ("empty", "", True, True),
        ("empty", [1], False, True),
        ("empty", {}, True, False),
    ],
)
def test_operators(operator, left, right, expected):
    assert compared(operator, left, right) is expected
