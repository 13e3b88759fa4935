"""Reset and fork: another run begins where the history of an execution stood at one of its entries.

The history up to that entry is replayed, as a redrive replays all of it, and the steps that the execution stood
at are asked for as steps of the new run. The new run's history begins with those entries, so it can be
redriven, reset and forked in turn. Steps that were done by then are not run again; whatever was done later is
neither undone nor known to the new run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import Error
from . import history
from .redrive import RedriveError, exchange, replayed, with_ended
from .transactions.coordinator import Coordinating
from .waits import Invoking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values import JSON
    from .changes import Changes
    from .cursor import Limits
    from .execution import Execution
    from .history import StoredEntry
    from .program import Program

FIRST: Final = "first"
LAST: Final = "last"
_OVER: Final = "the execution ends with this entry: choose one before it"


class ResetError(Error):
    """An execution that cannot be reset to an entry, or forked from it; the text gives the reason."""


def reset(  # noqa: PLR0913  a run, a place in its history, and what is told of both
    id: str,
    program: Program,
    entries: Sequence[StoredEntry],
    limits: Limits,
    now_ms: int,
    *,
    about: dict[str, JSON],
    value: JSON = history.NOTHING,
) -> tuple[Execution, Changes]:
    """The new run, standing where the old one stood, and the changes that take it up.

    Args:
        id: of the new run.
        program: the program of the old run, or another that agrees with the recorded steps.
        entries: the old run's history up to the entry, with values in place.
        limits: the machine's.
        now_ms: deadlines and attempts count from here.
        about: `how`, `from`, `entry` and whatever else the entry in the new history tells.
        value: another input for the step that the last of the entries asks for.

    Raises:
        ResetError: when nothing would be left to run, or it must not begin there.
    """
    if about_cancelled(entries):
        raise ResetError("the execution was asked to cancel by then: choose an entry before that")
    if entries[-1]["type"] == history.EXECUTION_CONTINUED:
        raise ResetError(_OVER)
    try:
        execution, outcome, ended, began, emissions = replayed(id, program, entries, limits)
    except RedriveError as error:
        raise ResetError(str(error)) from error
    if outcome is not None or not execution.fibers:
        raise ResetError(_OVER)
    if any(type(frame) is Coordinating for f in execution.fibers.values() for frame in f.frames):
        raise ResetError("a transaction is under way there: choose an entry before it, or after it")
    step = entries[-1]
    if value is not history.NOTHING:
        fiber = execution.fibers.get(step["fiber"])
        asks = step["type"] == history.STEP_SCHEDULED
        if fiber is None or not asks or not isinstance(fiber.wait, Invoking):
            raise ResetError("another input needs an entry that asks for a step (StepScheduled)")
        about = {**about, "step": fiber.id}
        exchange(execution, {"step": fiber.id, "value": value})
    changes = execution.redrive(now_ms, history.EXECUTION_RESET, about, value, began)
    if changes.outcome is not None:  # by a message that was left
        raise ResetError(_OVER)
    with_ended(changes, ended)
    emissions.add_to(changes, now_ms)
    return execution, changes


def about_cancelled(entries: Sequence[StoredEntry]) -> bool:
    """True if the execution was asked to cancel, and was not redriven after it."""
    cancelled = False
    for entry in entries:
        cancelled = entry["type"] == history.CANCEL_REQUESTED or (
            cancelled and entry["type"] not in history.TAKEN_UP
        )
    return cancelled


def entry_of(entries: Sequence[StoredEntry], to: int | str, step: str | None = None) -> int:
    """The number of the entry that a caller means.

    Args:
        entries: the whole history.
        to: a number, `first` (the start) or `last` (the last step that was asked for).
        step: the path of a step in its composition, or the name of its action: its last run counts.

    Raises:
        ResetError: when there is no such entry.
    """
    if type(to) is int:
        if not 1 <= to <= len(entries):
            raise ResetError(f"there is no entry {to}: the history has entries 1 to {len(entries)}")
        return to
    if step is None and to == FIRST:
        return 1
    for number in range(len(entries), 0, -1):
        entry = entries[number - 1]
        if entry["type"] == history.STEP_SCHEDULED and (step is None or _is_step(entry, step)):
            return number
    sought = "step" if step is None else f"step {step!r}"
    raise ResetError(f"the execution has not asked for a {sought} yet")


def _is_step(entry: StoredEntry, step: str) -> bool:
    action = str(entry.get("action", ""))
    return step in (entry.get("path"), action, action.partition("/")[2].partition("/")[2])
