"""What a saga remembers: how to undo what it has done.

The log is a value of its frame: entries in the order in which steps were done, and where branches ran
beside each other, their logs side by side. Undoing goes through it backwards. A branch keeps a log of
its own, which its end hands to whoever forked it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ...freezing import changed, frozen
from ...values import CANCELLED, TIMEOUT, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...values import JSON
    from ..causes import Cancellation, Exhaustion, Expiry

NOWHERE = -1  # where a log is undone that is only kept for another
REVERT_ALL = "RevertAll"  # a failure that no retry of an enclosing saga may take for its own
# After these nobody knows whether the step was done: it counts as done when it comes to undoing.
LOST = "Lost"
UNKNOWN = frozenset({TIMEOUT, CANCELLED, "Crashed", LOST, "InternalError"})


@frozen
class Undo:
    """A step that was done, or may have been: its undo is the code at `to`, for this value."""

    to: int
    path: str
    value: JSON
    key: str


@frozen
class Together:
    """What was done in branches beside each other."""

    logs: tuple[tuple[Entry, ...], ...]


@frozen
class Doubt:
    """In a branch of a step something has an unknown outcome."""


Entry: TypeAlias = Undo | Together | Doubt
Log: TypeAlias = tuple[Entry, ...]


@frozen
class Compensations:
    """A saga under way; the code at `to` undoes it. At NOWHERE it is the log of a branch.

    Once its pivot has `passed` it only goes forward, and `cause` is what is to go on after it.
    `key` is the step's whose branch it is.
    """

    to: int
    log: Log = ()
    passed: bool = False
    all: bool = False
    cause: Cancellation | Expiry | None = None
    key: str | None = None


@frozen
class Doing:
    """A step under way, from `value`; the code at `undo` undoes it, that at `done` follows it.

    `key` names it, whatever happens; `turn` is where it began. It is undone though it has failed when
    `always`, or when its outcome is in `doubt`.
    """

    undo: int | None
    done: int
    path: str
    value: JSON
    key: str
    turn: int
    always: bool
    pivot: bool
    doubt: bool = False


@frozen
class Compensating:
    """A saga being undone: what is `left`, `undoing` since `turn`, and what goes on afterwards."""

    to: int
    left: Log
    cause: Failure | Cancellation | Expiry | Exhaustion | None
    undoing: Undo | None = None
    turn: int = 0


def logged(frame: Compensations, entries: Log) -> Compensations:
    """With more that has been done."""
    return changed(frame, log=(*frame.log, *entries))


def joined(logs: tuple[Log, ...]) -> Log:
    """One log of those of branches."""
    logs = tuple(log for log in logs if log)
    if not logs:
        return ()
    return logs[0] if len(logs) == 1 else (Together(logs),)


def logged_values(log: Log) -> Iterator[JSON]:
    """The values that undoing will take."""
    for entry in log:
        if isinstance(entry, Undo):
            yield entry.value
        elif isinstance(entry, Together):
            for branch in entry.logs:
                yield from logged_values(branch)


def doubtful(log: Log) -> bool:
    """Whether something of it has an unknown outcome."""
    return any(
        isinstance(entry, Doubt) or (isinstance(entry, Together) and any(map(doubtful, entry.logs)))
        for entry in log
    )


def log_to_json(log: Log, keep: Callable[[JSON], JSON]) -> list[JSON]:
    return [_entry_to_json(entry, keep) for entry in log]


def _entry_to_json(entry: Entry, keep: Callable[[JSON], JSON]) -> JSON:
    if isinstance(entry, Undo):
        return {"to": entry.to, "path": entry.path, "value": keep(entry.value), "key": entry.key}
    if isinstance(entry, Together):
        return {"together": [log_to_json(log, keep) for log in entry.logs]}
    return {}


def log_from_json(doc: JSON, load: Callable[[JSON], JSON]) -> Log:
    return tuple(_entry_from_json(item, load) for item in doc)


def _entry_from_json(doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> Entry:
    if "together" in doc:
        return Together(tuple(log_from_json(log, load) for log in doc["together"]))
    if not doc:
        return Doubt()
    return Undo(doc["to"], doc["path"], load(doc["value"]), doc["key"])
