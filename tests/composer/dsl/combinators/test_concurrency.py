"""Branches, maps and graphs."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError

WRONG = [
    (lambda: composer.map("a", concurrency=0), "map: 'concurrency' must be an int >= 1, not 0"),
    (lambda: composer.parallel("a", errors="no"), "parallel: 'errors' must be one of"),
    (lambda: composer.graph({}), "graph: 'tasks' must be a dict of names and what runs"),
    (lambda: composer.graph({"error": "a"}), "graph: 'tasks' has 'error': a task's name is a string"),
    (lambda: composer.graph({"x": composer.after("y", "a")}), "has 'x' after 'y', which is not a task: use x"),
    (
        lambda: composer.graph({"x": composer.after("y", "a"), "y": composer.after(["x"], "b")}),
        "graph: 'tasks' has a cycle: ",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
