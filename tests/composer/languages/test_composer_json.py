"""Composer's own JSON, read."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError, forks, read_composer

A, B = {"type": "action", "name": "/_/a"}, {"type": "action", "name": "/_/b"}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (A, composer.action("/_/a")),
        ({"type": "empty"}, composer.empty()),
        ({"type": "seq", "components": [A, B]}, composer.sequence("/_/a", "/_/b")),
        ({"type": "sequence", "components": [A], "path": ".x"}, composer.sequence("/_/a")),
        ({"type": "value", "value": {"type": "seq"}}, composer.literal({"type": "seq"})),
        ({"type": "par", "components": [A, B]}, composer.parallel("/_/a", "/_/b", errors="collect")),
        ({"type": "map", "components": [A]}, composer.map("/_/a", errors="collect")),
        ({"type": "if", "test": A, "consequent": {"type": "seq", "components": [B]},
          "alternate": {"type": "empty"}},
         composer.when("/_/a", composer.sequence("/_/b"), composer.empty())),
        ({"type": "let", "declarations": {"x": {"type": "par"}}, "components": [A]},
         composer.let({"x": {"type": "par"}}, "/_/a")),
        ({"type": "retry", "count": 2, "components": [A]}, composer.retry(2, "/_/a")),
        ({"type": "select", "template": {"type": "par"}}, composer.select({"type": "par"})),
    ],
)  # fmt: skip
def test_a_tree_is_the_composition_that_it_says(tree, expected):
    assert read_composer(tree) == expected


@pytest.mark.parametrize("tree", [5, [], {}, {"type": 5}, {"type": "nothing"}, {"type": "par"},
                                  {"type": "seq", "components": [5]}, {"type": "\ud800"}])  # fmt: skip
def test_what_is_no_tree_is_refused(tree):
    if tree == {"type": "par"}:
        assert read_composer(tree).type == "parallel"
    else:
        with pytest.raises(CompositionError):
            read_composer(tree)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (A, False),
        ({"type": "par", "components": []}, True),
        ({"type": "map", "components": [A]}, True),
        ({"type": "try", "body": A, "handler": {"type": "parallel", "components": [A]}}, True),
        ({"type": "let", "declarations": {"x": {"type": "par"}}, "components": [A]}, False),
        ({"type": "select", "template": {"type": "par"}}, False),
        ({"type": "unknown", "parts": [{"type": "par"}]}, True),
        ("par", False),
    ],
)
def test_a_tree_has_branches_or_not(tree, expected):
    assert forks(tree) is expected
