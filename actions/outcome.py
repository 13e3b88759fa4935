"""What can go wrong with an action: the one failure taxonomy, and how OpenWhisk shows it.

Each failure says whether the action *ran* (no, yes, or nobody knows), for that, not its name, decides
whether asking again could do something twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from composer import APPLICATION_ERROR, CANCELLED, TIMEOUT, Failure, Success, frozen

if TYPE_CHECKING:
    from composer import JSON

    from .documents import Document

CRASHED = "Crashed"
BAD_RESPONSE = "BadResponse"
NOT_FOUND = "NotFound"
PERMISSION = "Permission"
PAYLOAD_TOO_LARGE = "PayloadTooLarge"
THROTTLED = "Throttled"
UNAVAILABLE = "Unavailable"
LOST = "Lost"
INTERNAL_ERROR = "InternalError"

EXITED = "The action did not produce a valid response and exited unexpectedly."

# OpenWhisk's `response.statusCode`, and what it calls them.
SUCCESS, APPLICATION, DEVELOPER, INTERNAL = range(4)
STATUS_TEXT = ("success", "application error", "action developer error", "whisk internal error")


@dataclass(frozen=True, slots=True)
class FailureKind:
    """What is known of a failure by its code."""

    status: int
    ran: Literal["no", "yes", "unknown"]
    transient: bool = False

    @property
    def retryable(self) -> bool:
        """Whether asking again may help and cannot do anything twice."""
        return self.transient and self.ran == "no"


FAILURES: dict[str, FailureKind] = {
    APPLICATION_ERROR: FailureKind(APPLICATION, "yes"),
    TIMEOUT: FailureKind(DEVELOPER, "unknown", transient=True),
    CRASHED: FailureKind(DEVELOPER, "unknown"),
    BAD_RESPONSE: FailureKind(DEVELOPER, "yes"),
    PAYLOAD_TOO_LARGE: FailureKind(APPLICATION, "yes"),
    NOT_FOUND: FailureKind(APPLICATION, "no"),
    PERMISSION: FailureKind(APPLICATION, "no"),
    THROTTLED: FailureKind(INTERNAL, "no", transient=True),
    UNAVAILABLE: FailureKind(INTERNAL, "no", transient=True),
    LOST: FailureKind(INTERNAL, "unknown"),
    CANCELLED: FailureKind(APPLICATION, "unknown"),
    INTERNAL_ERROR: FailureKind(INTERNAL, "unknown"),
}


@frozen
class Completion:
    """What an invoker hands back: what came of it, and what can be told about it.

    Times are in milliseconds since the epoch; `init_ms` is how long a cold worker took to take the
    code in. `variables` are those that an inline function has set. `documents` are committed with it.
    """

    outcome: Success | Failure
    started_ms: int
    ended_ms: int
    logs: list[str] = field(default_factory=list)
    init_ms: int | None = None
    variables: dict[str, JSON] | None = None
    documents: list[Document] = field(default_factory=list)


def outcome_of(result: JSON) -> Success | Failure:
    """What a result says of itself: an object with an `error` field is an application's failure."""
    if isinstance(result, dict) and "error" in result:
        return Failure(APPLICATION_ERROR, result["error"])
    return Success(result)


def status_of(outcome: Success | Failure) -> int:
    """OpenWhisk's status code: 0 success, 1 application, 2 developer, 3 internal error."""
    if isinstance(outcome, Success):
        return SUCCESS
    kind = FAILURES.get(outcome.code)
    return kind.status if kind else APPLICATION
