"""The working copy of a fiber: what it counts, and what it bounds."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Limits, path, var
from xingqiao.composer.testing import Fail, simulate


@pytest.mark.parametrize(
    "part",
    [
        composer.select({"x": path("$.missing")}),
        composer.let({"v": 0}, composer.assign(v=path("$.missing"))),
        composer.raise_error("No", path("$.missing")),
        composer.wait(path("$.missing")),
        composer.forward(path("$"), "a", carry=path("$.missing")),
        composer.map("a", items=path("$.missing")),
    ],
)
def test_a_path_that_selects_nothing_fails_the_part(part):
    assert simulate(part, actions={"a": {}}).outcome.code == "ExpressionError"


@pytest.mark.parametrize(
    "part",
    [
        composer.when(path("$..x") == 1, "a"),
        composer.retry(0, composer.empty(), until=path("$..x") == 1),
        composer.task(path("$..x") == 1),
    ],
)
def test_a_predicate_that_would_look_at_too_much_fails_the_part(part):
    huge = {"value": [[0] * 1000] * 200}

    assert simulate(part, huge, actions={"a": {}}).outcome.code == "LimitExceeded"


@pytest.mark.parametrize(("size", "fits"), [(90, True), (200, False)])
def test_a_value_that_the_machine_puts_together_is_bounded(size, fits):
    limits = Limits(value_bytes=150)
    for part in (
        composer.retain("a"),
        composer.merge("a"),
        composer.forward(path("$"), "a", into="x"),
    ):
        run = simulate(part, {"p": "x" * 20}, actions={"a": {"r": "x" * size}}, limits=limits)
        assert (run.outcome.code == "LimitExceeded") if not fits else run.value


@pytest.mark.parametrize(("steps", "fits"), [(4, True), (3, False)])
@pytest.mark.parametrize(
    "part",
    [
        composer.repeat(4, "a"),
        composer.sequence(*["a"] * 4),
        composer.sequence(*[composer.wait(1)] * 4),
        composer.parallel("a", composer.sequence("a", "a", "a")),
        composer.sequence("a", "a", "a", composer.asynchronous("a")),
        composer.let({"n": 4}, composer.loop(var("n") > 0, lambda p, v: v.update(n=v["n"] - 1))),
    ],
)
def test_steps_are_counted_and_bounded(part, steps, fits):
    extra = 0
    if part.type == "let":
        extra = 4  # each round counts, too
    if part.type == "repeat":
        extra = 4
    run = simulate(part, actions={"a": {}, "fails": Fail("No")}, limits=Limits(steps=steps + extra))

    exceeded = run.outcome is not None and getattr(run.outcome, "code", "") == "LimitExceeded"
    assert exceeded is not fits
