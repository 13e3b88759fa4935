"""What of an execution must be stored, and what a restart can work out from its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import boxed
from . import history
from .events import Completed
from .fiber import ROOT, Joining, invoking, member_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..values import JSON
    from .events import Event
    from .fiber import Fiber
    from .program import Program

TURNS_TOLD = 32  # at most so many turns of a fiber stand in the history only


def has_only_begun(before: Fiber, after: Fiber) -> bool:
    """A forked fiber that has done nothing but ask for an action: a crash would lose nothing."""
    begun = before.turn == 0 and after.turn == 1 and before.id != ROOT
    return begun and invoking(after.wait) and after.due_ms is None


def told_by_history(before: Fiber, event: Event, after: Fiber) -> bool:
    """Whether a restart can work out `after` from `before` and the result that is recorded.

    So a step costs one entry. Now and then the fiber is stored all the same, to bound that work.
    """
    return (
        type(event) is Completed
        and "error" not in boxed(event.value)
        and invoking(before.wait)
        and invoking(after.wait)
        and before.due_ms == after.due_ms
        and after.turn % TURNS_TOLD != 0
    )


def of_this_generation(entries: Iterable[dict[str, JSON]]) -> Iterable[dict[str, JSON]]:
    """Those after the last redrive: turns begin again there, and every fiber was stored then."""
    told: list[dict[str, JSON]] = []
    for entry in entries:
        if entry["type"] == history.EXECUTION_REDRIVEN:
            told.clear()
        told.append(entry)
    return told


def last_event(program: Program, fibers: Collection[Fiber]) -> int:
    """The number of the last event of an execution; members that are counted have numbers of their own."""
    instructions, forks = program.instructions, program.dialect.forks
    apart = tuple(
        member_id(fiber.id, fiber.turn, 0)[:-1]
        for fiber in fibers
        if isinstance(fiber.wait, Joining)
        and (forking := forks.get(type(fork := instructions[fiber.pc - 1]))) is not None
        and forking(fork, fiber.value).counted
    )
    own = [fiber for fiber in fibers if not fiber.id.startswith(apart)]
    return max((max(fiber.event, fiber.told) for fiber in own), default=0)


def is_next(fiber: Fiber, entry: dict[str, JSON]) -> bool:
    return (
        entry["type"] == history.STEP_SUCCEEDED
        and invoking(fiber.wait)
        and entry["turn"] == fiber.turn
    )
