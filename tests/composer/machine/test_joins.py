"""Joins: which members start, and what the outcome is, also after a crash."""

from __future__ import annotations

import pytest

from tests.kit.composer.one_step import CONTEXT, START
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import (
    Continued,
    advance,
)
from xingqiao.composer.machine.events import Joined
from xingqiao.composer.values import Failure, Success

CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})


@pytest.mark.parametrize("errors", ["fail", "wait", "collect"])
def test_a_cancelled_map_starts_no_item_any_more(errors):
    world = World(composer.map("a", items=[1, 2, 3], concurrency=1, errors=errors))

    world.cancel()

    assert world.outcome == CANCELLED
    assert world.calls == ["a"]


@pytest.mark.parametrize("errors", ["fail", "wait", "collect"])
def test_a_map_out_of_time_starts_no_item_any_more(errors):
    body = composer.map("a", items=[1, 2, 3], concurrency=1, errors=errors)
    world = World(composer.timeout(5, body))

    world.pass_time(5)

    assert world.outcome.code == "Timeout"
    assert world.calls == ["a"]


def test_a_cancelled_map_starts_no_item_after_a_crash_either():
    body = composer.ensure("a", "clean up")
    world = World(composer.map(body, items=[1, 2, 3], concurrency=1, errors="wait"))
    world.cancel()

    world.crash()
    world.complete("clean up")

    assert world.outcome == CANCELLED
    assert world.calls == ["a", "clean up", "clean up"]


@pytest.mark.parametrize("failed", ["a", "b", "c"])
def test_the_failure_that_decided_a_join_is_its_outcome_after_a_crash(failed):
    parts = [composer.ensure(name, f"clean up {name}") for name in ("a", "b", "c")]
    parts.append(composer.action("d"))
    world = World(composer.parallel(*parts))
    world.fail(failed, "Broken")
    world.complete(f"clean up {failed}", {"error": "after all"})
    assert len(world.steps) == 2  # the finalizers of the others; d is cancelled and has ended

    world.crash()
    for name in world.steps:
        world.complete(name)

    assert world.outcome == Failure("ApplicationError", "after all")


@pytest.mark.parametrize("concurrency", [1, 2, None])
def test_a_map_taken_up_in_the_middle_starts_what_was_to_come(concurrency):
    body = composer.map(composer.sequence("a", "b"), items=[1, 2, 3], concurrency=concurrency)
    world = World(body)
    world.complete("a", {"n": 1})
    while world.outcome is None:
        world.crash()
        world.complete(world.steps[0], {"n": 1})

    assert world.outcome == Success({"value": [{"n": 1}] * 3})


def test_a_graph_taken_up_in_the_middle_waits_for_what_it_waited_for():
    after = composer.after
    world = World(
        composer.graph({"w": "a", "x": "b", "y": after(["w", "x"], "c"), "z": after("y", "d")})
    )
    order = []
    while world.outcome is None:
        world.crash()
        order.append(world.steps[0])
        world.complete(world.steps[0], {"is": world.steps[0]})

    assert order == ["a", "b", "c", "d"]
    assert world.outcome.value["z"] == {"is": "d"}


def test_a_join_of_another_turn_changes_nothing():
    program = composer.compile(composer.parallel("a"))
    joining = advance(program, START, Continued(), CONTEXT).fiber

    assert advance(program, joining, Joined(7, Success({}), 0), CONTEXT).stale


def test_a_stronger_cause_replaces_a_weaker_one_while_branches_finish():
    part = composer.timeout(5, composer.parallel(composer.ensure("a", "tidy"), "b"))
    world = World(composer.do(part, "never", errors="Timeout"))
    world.pass_time(5)
    assert world.steps == ["tidy"]

    world.cancel()
    world.complete("tidy")

    assert world.outcome.code == "Cancelled"

    nested = composer.timeout(
        9, composer.timeout(5, composer.parallel(composer.ensure("a", "tidy")))
    )
    world = World(nested)
    world.pass_time(5)
    world.pass_time(4)
    world.complete("tidy")
    assert world.outcome.error["message"] == "not done within 9 seconds"
