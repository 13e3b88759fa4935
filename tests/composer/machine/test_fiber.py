"""Fibers: the values that they hold, and what a crash interrupts."""

from __future__ import annotations

from tests.kit.composer.world import World
from xingqiao import composer


def test_the_values_that_a_fiber_holds():
    part = composer.let(
        {"x": {"v": 1}}, composer.retain(composer.timeout(5, composer.retry(1, "a")))
    )
    world = World(part, {"n": 1})

    held = list(world.root.values())

    assert held == [{"n": 1}, {"v": 1}, {"n": 1}, {"n": 1}]


def test_what_must_be_taken_up_at_once_after_a_crash():
    world = World(composer.sequence("a", composer.wait(5), composer.parallel("b")))
    assert world.root.active
    world.complete("a")
    assert not world.root.active
    world.pass_time(5)
    assert world.root.active
