"""Events: those of another turn change nothing."""

from __future__ import annotations

import pytest

from tests.kit.composer.one_step import CONTEXT, ENDED, INVOKING, PAUSED, PROGRAM, SLEEPING, START
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import (
    Accepted,
    Cancelled,
    Completed,
    Continued,
    Failed,
    Resumed,
    advance,
    changed,
)
from xingqiao.composer.machine.conductor import reissue
from xingqiao.composer.machine.events import Heard, Joined, TimerFired
from xingqiao.composer.machine.waits import Hearing, Invoking, Sleeping
from xingqiao.composer.values import Failure, Success

HEARING = changed(SLEEPING, wait=Hearing(0))


@pytest.mark.parametrize(
    ("fiber", "event"),
    [
        (START, Completed(0, {})),
        (START, Failed(0, Failure("No", ""))),
        (START, Resumed()),
        (INVOKING, Continued()),
        (INVOKING, Completed(0, {})),
        (INVOKING, Completed(2, {})),
        (INVOKING, Failed(2, Failure("No", ""))),
        (INVOKING, Accepted(2, {"t": 1})),
        (INVOKING, Joined(1, Success({}), 0)),
        (INVOKING, TimerFired()),
        (INVOKING, Resumed()),
        (SLEEPING, Completed(2, {})),
        (SLEEPING, Accepted(2, {"t": 1})),
        (SLEEPING, TimerFired()),  # too early
        (SLEEPING, Resumed()),
        (HEARING, Heard(HEARING.turn + 1, ())),
        (SLEEPING, Heard(2, ())),
        (PAUSED, Completed(3, {})),
        (PAUSED, Continued()),
        (ENDED, Completed(3, {})),
        (ENDED, Cancelled()),
        (ENDED, Continued()),
    ],
)
def test_an_event_that_nothing_waits_for_changes_nothing(fiber, event):
    transition = advance(PROGRAM, fiber, event, CONTEXT)

    assert transition.stale
    assert transition.fiber is fiber
    assert (transition.commands, transition.entries) == ([], [])


def test_what_is_accepted_waits_on_and_is_not_sent_again():
    accepted = advance(PROGRAM, INVOKING, Accepted(1, {"t": 1}), CONTEXT).fiber

    assert accepted.wait == Invoking({"t": 1})
    assert accepted.due_ms is None
    assert reissue(PROGRAM, accepted, CONTEXT) is None
    assert reissue(PROGRAM, INVOKING, CONTEXT).action == "/_/a"
    assert advance(PROGRAM, accepted, Accepted(1, {"t": 2}), CONTEXT).stale
    assert advance(PROGRAM, accepted, Completed(1, {}), CONTEXT).fiber.wait == Sleeping(5000)


def test_resuming_what_is_paused_runs_it_again():
    world = World(composer.retry(0, "a", on_exhausted="pause"))
    world.fail("a", "Down")
    assert world.execution.paused
    assert world.resume().stale is False
    assert not world.execution.paused

    world.complete("a", {"ok": True})

    assert world.outcome == Success({"ok": True})
    assert world.resume().stale
