"""History entries: the record of an execution, in order."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..freezing import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON

EXECUTION_STARTED: Final = "ExecutionStarted"
EXECUTION_SUCCEEDED: Final = "ExecutionSucceeded"
EXECUTION_FAILED: Final = "ExecutionFailed"
EXECUTION_CANCELLED: Final = "ExecutionCancelled"
EXECUTION_CONTINUED: Final = "ExecutionContinued"
EXECUTION_REDRIVEN: Final = "ExecutionRedriven"
EXECUTION_RESET: Final = "ExecutionReset"
CANCEL_REQUESTED: Final = "CancelRequested"
STEP_SCHEDULED: Final = "StepScheduled"
STEP_ACCEPTED: Final = "StepAccepted"
STEP_SUCCEEDED: Final = "StepSucceeded"
STEP_FAILED: Final = "StepFailed"
STEP_CANCELLED: Final = "StepCancelled"
RETRY_SCHEDULED: Final = "RetryScheduled"
TIMER_STARTED: Final = "TimerStarted"
TIMER_FIRED: Final = "TimerFired"
TIMED_OUT: Final = "TimedOut"
FORKED: Final = "Forked"
JOINED: Final = "Joined"
BRANCH_FAILED: Final = "BranchFailed"
SPAWNED: Final = "Spawned"
PAUSED: Final = "Paused"
RESUMED: Final = "Resumed"
PIVOT_PASSED: Final = "PivotPassed"
COMPENSATION_STARTED: Final = "CompensationStarted"
STEP_UNDONE: Final = "StepUndone"
COMPENSATED: Final = "Compensated"
STUCK: Final = "Stuck"
RESOLVED: Final = "Resolved"
TRANSACTION_STARTED: Final = "TransactionStarted"
TRANSACTION_COMMITTED: Final = "TransactionCommitted"
TRANSACTION_ABORTED: Final = "TransactionAborted"
HEARTBEAT: Final = "Heartbeat"
CHILDREN_ENDED: Final = "ChildrenEnded"
REBOUND: Final = "Rebound"
MESSAGE_RECEIVED: Final = "MessageReceived"
MESSAGE_CONSUMED: Final = "MessageConsumed"
MESSAGE_DROPPED: Final = "MessageDropped"
UPDATES_OPENED: Final = "UpdatesOpened"
UPDATE_ACCEPTED: Final = "UpdateAccepted"
UPDATE_COMPLETED: Final = "UpdateCompleted"
UPDATE_FAILED: Final = "UpdateFailed"
ANNOTATED: Final = "Annotated"
ANNOTATION_REFUSED: Final = "AnnotationRefused"
EMITTED: Final = "Emitted"
LIMIT_AWAITED: Final = "LimitAwaited"
LIMIT_ENTERED: Final = "LimitEntered"
HISTORY_LONG: Final = "HistoryLong"

NOTHING: Final[Any] = object()
TAKEN_UP = frozenset(
    {EXECUTION_REDRIVEN, EXECUTION_RESET}
)  # a generation begins; every fiber is stored

StoredEntry: TypeAlias = dict[str, Any]
"""A history entry that `Entry.to_json` wrote, with its value and its variables in place."""


@frozen
class Entry:
    """One line of a history.

    `turn` is the wait of `fiber` that it is about; `value` is the input or the result, if there is one. The value
    may be large, as may the `variables` that came with it; `detail` is small and depends on `kind`.
    """

    at_ms: int
    fiber: str
    turn: int
    kind: str
    detail: dict[str, JSON] = field(default_factory=dict)
    value: JSON = NOTHING

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        """The entry as JSON; `keep` writes the value, or a reference to where it is stored."""
        doc: dict[str, JSON] = {
            "at": self.at_ms, "fiber": self.fiber, "turn": self.turn, "type": self.kind,
            **self.detail,
        }  # fmt: skip
        if self.value is not NOTHING:
            doc["value"] = keep(self.value)
        if "variables" in self.detail:
            doc["variables"] = keep(self.detail["variables"])
        return doc
