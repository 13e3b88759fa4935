"""Forks: their width, the room that they take, and what there is no room for."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Completed, Limits
from xingqiao.composer.testing import Fail, simulate
from xingqiao.composer.values import Failure, Success


def room(limit):
    def refused(standing, more):
        total = standing + more
        return Failure("LimitExceeded", {"message": f"{total}"}) if total > limit else None

    return refused


def held(composition, limit):
    """An execution that may have so many fibers, and what has become of it."""
    execution = composer.Execution("x", composer.compile(composition), composer.Limits())
    execution.room = room(limit)
    return execution, execution.begin({"items": [1, 2, 3]}, 0)


@pytest.mark.parametrize(("limit", "fits"), [(4, True), (3, False)])
@pytest.mark.parametrize(
    "fork", [composer.parallel("a", "a", "a"), composer.map("a", items=composer.path("$.items"))]
)
def test_a_fork_has_so_much_room(fork, limit, fits):
    execution, changes = held(fork, limit)

    assert len(execution.fibers) == (4 if fits else 0)
    assert changes.outcome == (None if fits else Failure("LimitExceeded", {"message": "4"}))


def test_a_fork_that_has_no_room_can_be_handled():
    _, changes = held(composer.do(composer.parallel("a", "a"), composer.literal({"n": 1})), 2)

    assert changes.outcome == Success({"n": 1})


def test_a_fork_takes_no_more_room_than_its_concurrency():
    items = composer.path("$.items")
    execution, changes = held(composer.map("a", items=items, concurrency=1), 2)

    assert len(execution.fibers) == 2
    assert changes.outcome is None


def test_a_fork_that_had_no_room_leaves_nothing_behind():
    body = composer.do(composer.parallel("a", "a"), "sorry")
    execution, _ = held(body, 2)

    changes = execution.deliver("0", Completed(execution.fibers["0"].turn, {"n": 1}), 1)

    assert changes.outcome == Success({"n": 1})


@pytest.mark.parametrize(("size", "fits"), [(10, True), (100, False)])
def test_the_results_of_a_fork_together_are_bounded(size, fits):
    run = simulate(
        composer.parallel("a", "a"),
        actions={"a": {"r": "x" * size}},
        limits=Limits(value_bytes=150),
    )

    assert (run.outcome.code == "LimitExceeded") if not fits else len(run.value["value"]) == 2


@pytest.mark.parametrize(("width", "fits"), [(3, True), (4, False)])
def test_forks_are_bounded(width, fits):
    limits = Limits(fork_width=3)
    branches = simulate(composer.parallel(*["a"] * width), actions={"a": {}}, limits=limits)
    items = simulate(
        composer.map("a", items=list(range(width))), actions={"a": {}}, limits=limits
    )  # fmt: skip

    for run in (branches, items):
        assert (run.outcome.code == "LimitExceeded") if not fits else run.value


def test_a_map_over_what_is_no_list_fails_and_over_nothing_is_nothing():
    assert simulate(composer.map("a"), {"value": 7}).outcome.code == "ExpressionError"
    assert simulate(composer.map("a"), {}).value == {"value": []}
    assert simulate(composer.map("a", items=[]), {}).value == {"value": []}


def test_a_race_of_nobody_fails():
    assert simulate(composer.race()).error["message"] == "there was nothing to race"
    lost = simulate(composer.race("a", "b"), actions={"a": Fail("No", 1), "b": Fail("No", 2)})
    assert lost.error == {"code": "AllFailed", "message": "all 2 branches failed", "errors": [1, 2]}
