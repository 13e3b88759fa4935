"""Decides which fibers must be stored, and which a restart can work out from the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import boxed
from . import history
from .events import Completed
from .fiber import ROOT, member_id
from .waits import Joining, invoking

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .events import Event
    from .fiber import Fiber
    from .history import StoredEntry
    from .program import Program

TURNS_TOLD = 32  # at most so many turns of a fiber are stored in the history only


def has_only_begun(before: Fiber, after: Fiber) -> bool:
    """True if a forked fiber has only asked for its first action, so that a crash loses nothing."""
    begun = before.turn == 0 and after.turn == 1 and before.id != ROOT
    return begun and invoking(after.wait) and after.due_ms is None


def told_by_history(before: Fiber, event: Event, after: Fiber) -> bool:
    """True if a restart can work out `after` from `before` and the recorded result.

    So a step costs one entry. Now and then the fiber is stored all the same, to bound that work.
    """
    return (
        type(event) is Completed
        and "error" not in boxed(event.value)
        and invoking(before.wait)
        and invoking(after.wait)
        and (before.frames is after.frames or before.due_ms == after.due_ms)
        and after.turn % TURNS_TOLD != 0
    )


def of_this_generation(entries: Iterable[StoredEntry]) -> Iterable[StoredEntry]:
    """The entries after the last redrive, which stored every fiber and began the turns again."""
    kept: list[StoredEntry] = []
    for entry in entries:
        if entry["type"] in history.TAKEN_UP:
            kept.clear()
        kept.append(entry)
    return kept


def last_event(program: Program, fibers: Collection[Fiber]) -> int:
    """The number of the last event of an execution; counted members have numbers of their own."""
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


def is_next(fiber: Fiber, entry: StoredEntry) -> bool:
    """True if the entry records the result that the fiber waits for."""
    return (
        entry["type"] == history.STEP_SUCCEEDED
        and invoking(fiber.wait)
        and entry["turn"] == fiber.turn
    )
