"""Waits."""

from __future__ import annotations

import pytest

from tests.kit.composer.world import World
from xingqiao import composer


@pytest.mark.parametrize(("wait", "named"), [({"seconds": 5}, None), ({"until": 100}, 100_000)])
def test_a_wait_knows_whether_it_is_for_an_instant(wait, named):
    given = wait.get("seconds")
    body = composer.wait(given) if given else composer.wait(until=wait["until"])
    world = World(composer.timeout(60, composer.sequence(body)))
    world.crash()
    (fiber,) = world.execution.fibers.values()

    assert fiber.by_clock_ms == named
    assert fiber.deadline_ms is not None
    assert fiber.due_ms == min(fiber.deadline_ms, fiber.wait.until_ms)
