"""The growth of a history: a warning, and the end of an execution whose history has become too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import history
from .fiber import ROOT
from .history import Entry
from .unwind_reasons import Exhaustion

if TYPE_CHECKING:
    from ..values import JSON
    from .changes import Changes
    from .cursor import Cursor

WARNED_AT: Final = 5  # a fifth of the limit
TOO_MANY: Final = {
    "steps": "the execution takes more than {limit} steps",
    "entries": "the history of the execution has its {limit} entries: continue as a new run before that (continue_as_new)",
}


def exhaustion(cursor: Cursor) -> Exhaustion:
    """The limit that a cursor has exceeded."""
    if cursor.steps > cursor.limits.steps:
        return Exhaustion(cursor.limits.steps)
    return Exhaustion(cursor.limits.entries, "entries")


def warn(changes: Changes, before: int, limit: int) -> None:
    """Notes that a history of `before` entries becomes long by these changes; once, if they do not end it."""
    entries = changes.entries
    if changes.outcome is None and entries[-1].kind != history.HISTORY_LONG:
        detail: dict[str, JSON] = {"entries": before + len(entries), "limit": limit}
        entries.append(Entry(entries[-1].at_ms, ROOT, 0, history.HISTORY_LONG, detail))
