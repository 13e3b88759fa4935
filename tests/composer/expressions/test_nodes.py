"""Where a singular path leads, and how two nodes compare (RFC 9535, section 2.3.5.2.2)."""

from __future__ import annotations

import pytest

from xingqiao.composer.expressions.nodes import COMPARE, MISSING, node_at

DOCUMENT = {"a": [10, {"b": None}], "": 1, "0": "zero"}


@pytest.mark.parametrize(
    ("steps", "node"),
    [
        ((), DOCUMENT),
        (("a",), [10, {"b": None}]),
        (("a", 0), 10),
        (("a", -1, "b"), None),
        (("a", -2), 10),
        (("",), 1),
        (("0",), "zero"),
        (("b",), MISSING),
        (("a", 2), MISSING),
        (("a", -3), MISSING),
        (("a", "0"), MISSING),
        ((0,), MISSING),
        (("0", 0), MISSING),
        (("a", 1, "b", "c"), MISSING),
    ],
)
def test_steps_lead_to_a_node_or_to_nothing(steps, node):
    found = node_at(steps, DOCUMENT)

    assert found is MISSING if node is MISSING else found == node


def test_nothing_says_so():
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    ("left", "right", "holding"),
    [
        (1, 1, "eq le ge"),
        (1, 1.0, "eq le ge"),
        (1, 2, "ne lt le"),
        (2.5, 1, "ne gt ge"),
        ("a", "b", "ne lt le"),
        ("b", "a", "ne gt ge"),
        ("Z", "a", "ne lt le"),
        ("a", "a", "eq le ge"),
        ("\uffff", "\U00010000", "ne lt le"),
        ("10", 9, "ne"),
        (True, True, "eq le ge"),
        (True, False, "ne"),
        (True, 1, "ne"),
        (False, 1, "ne"),
        (None, None, "eq le ge"),
        (None, 0, "ne"),
        ([1], [1], "eq le ge"),
        ([1], [2], "ne"),
        ({"a": 1}, {"a": 1.0}, "eq le ge"),
        (MISSING, MISSING, "eq le ge"),
        (MISSING, None, "ne"),
        (None, MISSING, "ne"),
        (2**64 - 1, 1e300, "ne lt le"),
    ],
)
def test_unlike_values_are_only_unequal(left, right, holding):
    assert {op for op, holds in COMPARE.items() if holds(left, right)} == set(holding.split())
