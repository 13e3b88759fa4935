"""The log of a saga: how to undo the steps that it has done.

The log is a value of its frame: entries in the order in which steps were done, and the logs of parallel
branches side by side. Undoing goes through it backwards. A branch keeps a log of its own, which the fiber
that forked it takes over when the branch ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ...freezing import changed, frozen
from ...values import (
    CANCELLED,
    JSON,
    TIMEOUT,
    Failure,
    outcome_from_json,
    outcome_to_json,
)
from ..stored import Part
from ..unwind_reasons import Interruption, UnwindReason, reason_from_json, reason_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from ..stored import Document

NOWHERE = -1  # where a log is undone that is only kept for another
REVERT_ALL = "RevertAll"  # a failure that no retry of an enclosing saga may cover
# After these failures a step may or may not be done; undoing treats it as done.
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
class ParallelLogs:
    """The logs of branches that ran in parallel."""

    logs: tuple[tuple[Entry, ...], ...]


@frozen
class Doubt:
    """A branch of a step did something with an unknown outcome."""


Entry: TypeAlias = Undo | ParallelLogs | Doubt
Log: TypeAlias = tuple[Entry, ...]


@frozen
class Compensations(Part):
    """A saga under way; the code at `to` undoes it. At NOWHERE it is the log of a branch.

    Once its pivot has `passed` it only goes forward, and `unwind_reason` is what goes on after it.
    `key` is the key of the step that the branch belongs to.
    """

    to: int
    log: Log = ()
    passed: bool = False
    all: bool = False
    unwind_reason: Interruption | None = None
    key: str | None = None

    def values(self) -> Iterable[JSON]:
        return logged_values(self.log)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {
            "to": self.to, "log": log_to_json(self.log, keep), "passed": self.passed, "all": self.all,
            "cause": reason_to_json(self.unwind_reason), "key": self.key,
        }  # fmt: skip

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        members = dict(doc)
        reason = reason_from_json(members.pop("cause"))
        return cls(**{**members, "log": log_from_json(doc["log"], load), "unwind_reason": reason})


@frozen
class SagaStep(Part):
    """A step under way, from `value`; the code at `undo` undoes it, the code at `done` follows it.

    `key` identifies the step in all its attempts; `turn` is where it began. It is undone though it has
    failed when `always`, or when its outcome is in `doubt`.
    """

    stored_as = "Doing"

    undo: int | None
    done: int
    path: str
    value: JSON
    key: str
    turn: int
    always: bool
    pivot: bool
    doubt: bool = False

    def values(self) -> Iterable[JSON]:
        return (self.value,)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {**Part.to_json(self, keep), "value": keep(self.value)}

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        return cls(**{**doc, "value": load(doc["value"])})


@frozen
class Compensating(Part):
    """A saga being undone: what is `left`, `undoing` since `turn`, and the reason that goes on afterwards."""

    to: int
    left: Log
    unwind_reason: UnwindReason | None
    undoing: Undo | None = None
    turn: int = 0

    def values(self) -> Iterable[JSON]:
        return logged_values(self.left)

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        reason = self.unwind_reason
        cause: JSON
        if isinstance(reason, Failure):
            cause = outcome_to_json(reason, keep)
        else:
            cause = reason_to_json(reason)
        return {
            "to": self.to,
            "left": log_to_json(self.left, keep),
            "cause": cause,
            "undoing": log_to_json(() if self.undoing is None else (self.undoing,), keep),
            "turn": self.turn,
        }

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[JSON], JSON]) -> Self:
        members = dict(doc)
        reason, undoing = members.pop("cause"), log_from_json(doc["undoing"], load)
        failed = isinstance(reason, dict)
        members |= {
            "left": log_from_json(doc["left"], load),
            "undoing": undoing[0] if undoing else None,
            "unwind_reason": outcome_from_json(reason, load)
            if failed
            else reason_from_json(reason),
        }
        return cls(**members)


def logged(frame: Compensations, entries: Log) -> Compensations:
    """The saga with more entries in its log."""
    return changed(frame, log=(*frame.log, *entries))


def joined(logs: tuple[Log, ...]) -> Log:
    """One log, made of the logs of branches."""
    logs = tuple(log for log in logs if log)
    if not logs:
        return ()
    return logs[0] if len(logs) == 1 else (ParallelLogs(logs),)


def logged_values(log: Log) -> Iterator[JSON]:
    """The values that the undos of a log take."""
    for entry in log:
        if isinstance(entry, Undo):
            yield entry.value
        elif isinstance(entry, ParallelLogs):
            for branch in entry.logs:
                yield from logged_values(branch)


def doubtful(log: Log) -> bool:
    """True if a step of the log has an unknown outcome."""
    return any(
        isinstance(entry, Doubt)
        or (isinstance(entry, ParallelLogs) and any(map(doubtful, entry.logs)))
        for entry in log
    )


def log_to_json(log: Log, keep: Callable[[JSON], JSON]) -> list[JSON]:
    return [_entry_to_json(entry, keep) for entry in log]


def _entry_to_json(entry: Entry, keep: Callable[[JSON], JSON]) -> JSON:
    if isinstance(entry, Undo):
        return {"to": entry.to, "path": entry.path, "value": keep(entry.value), "key": entry.key}
    if isinstance(entry, ParallelLogs):
        return {"together": [log_to_json(log, keep) for log in entry.logs]}
    return {}


def log_from_json(doc: Iterable[Document], load: Callable[[JSON], JSON]) -> Log:
    return tuple(_entry_from_json(item, load) for item in doc)


def _entry_from_json(doc: Document, load: Callable[[JSON], JSON]) -> Entry:
    if "together" in doc:
        return ParallelLogs(tuple(log_from_json(log, load) for log in doc["together"]))
    if not doc:
        return Doubt()
    return Undo(doc["to"], doc["path"], load(doc["value"]), doc["key"])
