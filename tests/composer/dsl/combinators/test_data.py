"""Literals, variables and projections."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import CompositionError
from xingqiao.composer.testing import simulate


def test_a_field_of_any_name_can_be_forwarded():
    whole = {"it's": 1, "a\\b": 2, "rest": 3}

    run = simulate(
        composer.forward(["it's", "a\\b"], "a"), whole, actions={"a": lambda p: {"got": p}}
    )

    assert run.value == {**whole, "got": {"it's": 1, "a\\b": 2}}


WRONG = [
    (lambda: composer.literal(float("nan")), "literal: 'value' must be JSON, but nan at \\$ is no"),
    (lambda: composer.literal({1: 2}), "literal: 'value' must be JSON, but the key 1 at"),
    (lambda: composer.select(object()), "select: 'template' is not a template"),
    (lambda: composer.let({}, "a"), "let: 'declarations' must be a dict of variable names"),
    (lambda: composer.let({"1x": 0}, "a"), "let: 'declarations' has '1x', which is not a variable name"),
    (lambda: composer.let({"x": {1}}, "a"), "let: 'declarations' must be JSON, but set at"),
    (composer.assign, "assign: 'values' must name at least one variable"),
    (lambda: composer.forward("a", "b"), "forward: 'take' must be a list of fields, a path"),
    (lambda: composer.forward(["a"]), "forward: give at least one part to run on the projection"),
    (lambda: composer.forward(["a"], "b", into="error"), "forward: 'into' must be the name of a field"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "why"), WRONG, ids=[why for _, why in WRONG])
def test_wrong_use_is_refused_with_the_argument_named(build, why):
    with pytest.raises(CompositionError, match=why):
        build()
