"""Outcomes of actions: the one taxonomy of failures, and OpenWhisk's statuses for it.

Each failure says whether the action may have run (no, yes, unknown): that, and not its name, decides
whether a retry could repeat a side effect. By code it is:

    no        Throttled, Unavailable, NotFound, Permission, InvalidRequest: refused, or never sent
    yes       ApplicationError, BadResponse, PayloadTooLarge
    unknown   Timeout, Crashed, Lost (cut off, a gateway's 5xx, the server died), Cancelled, InternalError
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..composer import (
    APPLICATION_ERROR,
    CANCELLED,
    RUN_TIMED_OUT,
    TIMEOUT,
    Failure,
    Success,
    frozen,
)

if TYPE_CHECKING:
    from ..composer import JSON
    from .documents import Document

CRASHED = "Crashed"
BAD_RESPONSE = "BadResponse"
NOT_FOUND = "NotFound"
PERMISSION = "Permission"
PAYLOAD_TOO_LARGE = "PayloadTooLarge"
THROTTLED = "Throttled"
UNAVAILABLE = "Unavailable"
LOST = "Lost"
INVALID_REQUEST = "InvalidRequest"
INTERNAL_ERROR = "InternalError"

EXITED = "The action did not produce a valid response and exited unexpectedly."

# OpenWhisk's `response.statusCode`, and its name for each.
SUCCESS, APPLICATION, DEVELOPER, INTERNAL = range(4)
STATUS_TEXT = ("success", "application error", "action developer error", "whisk internal error")
WAITING = len(STATUS_TEXT)  # ours: it has run and waits for its callback, so it has no response yet


MayHaveRun: TypeAlias = Literal["no", "yes", "unknown"]


@dataclass(frozen=True, slots=True)
class FailureKind:
    """The properties of all failures with one code."""

    status: int
    may_have_run: MayHaveRun
    transient: bool = False

    @property
    def retryable(self) -> bool:
        """True if a retry may help and cannot repeat a side effect."""
        return self.transient and self.may_have_run == "no"


FAILURES: dict[str, FailureKind] = {
    APPLICATION_ERROR: FailureKind(APPLICATION, "yes"),
    TIMEOUT: FailureKind(DEVELOPER, "unknown", transient=True),
    RUN_TIMED_OUT: FailureKind(DEVELOPER, "unknown"),
    CRASHED: FailureKind(DEVELOPER, "unknown"),
    BAD_RESPONSE: FailureKind(DEVELOPER, "yes"),
    PAYLOAD_TOO_LARGE: FailureKind(APPLICATION, "yes"),
    NOT_FOUND: FailureKind(APPLICATION, "no"),
    PERMISSION: FailureKind(APPLICATION, "no"),
    INVALID_REQUEST: FailureKind(APPLICATION, "no"),
    THROTTLED: FailureKind(INTERNAL, "no", transient=True),
    UNAVAILABLE: FailureKind(INTERNAL, "no", transient=True),
    LOST: FailureKind(INTERNAL, "unknown"),
    CANCELLED: FailureKind(APPLICATION, "unknown"),
    INTERNAL_ERROR: FailureKind(INTERNAL, "unknown"),
}


HERE = "here"


@frozen
class Remoted:
    """The place and the cost of a run on a cloud.

    Args:
        cloud: `aws`, `azure`, `gcp`, `openwhisk`, `http`, `cloudevents`, or `here`.
        request: the cloud's id of the request, by which you find it in the cloud's own logs.
        ran_ms: the time that the function itself took, if the cloud tells it.
        billed_ms: the time that the cloud bills for all attempts, as far as it tells.
        attempts: the number of attempts.
        charged: the number of attempts that may have run, so that the cloud bills them.
        untold: the number of charged attempts for which the cloud does not tell the billed time.
        waited_ms: the time between attempts, when nothing ran.
        memory_mb: the memory of the function, if the cloud tells it.
        region: the region, if the function's name or its options say it.
        later: True if it answered by its completion trigger: nothing ran between its run and its answer.
    """

    cloud: str
    request: str | None = None
    ran_ms: float | None = None
    billed_ms: float | None = None
    attempts: int = 1
    later: bool = False
    charged: int = 1
    untold: int = 0
    waited_ms: float = 0.0
    memory_mb: int | None = None
    region: str = ""

    def to_json(self, took_ms: int) -> dict[str, JSON]:
        """Returns it as histories and records show it; the run took `took_ms` as seen from this server."""
        doc: dict[str, JSON] = {"cloud": self.cloud, "attempts": self.attempts, "took": took_ms}
        told = {"request": self.request, "ran": self.ran_ms, "billed": self.billed_ms}
        doc |= {name: value for name, value in told.items() if value is not None}
        told = {"memory": self.memory_mb, "region": self.region, "waited": round(self.waited_ms, 3)}
        doc |= {name: value for name, value in told.items() if value}
        if self.charged != 1:
            doc["charged"] = self.charged
        if self.untold and self.billed_ms is not None:
            doc["untold"] = self.untold
        if self.later:
            doc["later"] = True
        elif self.ran_ms is not None:
            doc["overhead"] = round(max(0.0, took_ms - self.ran_ms - self.waited_ms), 3)
        return doc


@frozen
class Completion:
    """The outcome of an invocation, as its invoker hands it back.

    Times are in milliseconds since the epoch; `init_ms` is the time that a cold worker took to load the
    code. `variables` are those that an inline function has set. `documents` are committed with it.
    `may_have_run` is set if the invoker knows more than the failure's code says; `remote` is set if it ran elsewhere.
    With a `ticket` the invocation has not ended: a cloud has accepted it, and polling starts once that is durable.
    `text` is the value of a success as orjson writes it, if the invoker has it: then nobody writes it again.
    """

    outcome: Success | Failure
    started_ms: int
    ended_ms: int
    logs: list[str] = field(default_factory=list)
    init_ms: int | None = None
    variables: dict[str, JSON] | None = None
    documents: list[Document] = field(default_factory=list)
    may_have_run: MayHaveRun | None = None
    remote: Remoted | None = None
    ticket: dict[str, JSON] | None = field(default=None, repr=False)
    text: bytes | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.ended_ms < self.started_ms:  # the clock was set back in between
            object.__setattr__(self, "ended_ms", self.started_ms)

    @property
    def elsewhere(self) -> dict[str, JSON] | None:
        """The cloud where it ran, as histories and records show it; None if it ran here."""
        if self.remote is None:
            return None
        return self.remote.to_json(self.ended_ms - self.started_ms)


def outcome_of(result: Any) -> Success | Failure:
    """The outcome that a result stands for: an object with an `error` field is an application's failure."""
    if isinstance(result, dict) and "error" in result:
        return Failure(APPLICATION_ERROR, result["error"])
    return Success(result)


def status_of(outcome: Success | Failure) -> int:
    """OpenWhisk's status code: 0 success, 1 application, 2 developer, 3 internal error."""
    if isinstance(outcome, Success):
        return SUCCESS
    kind = FAILURES.get(outcome.code)
    return kind.status if kind else APPLICATION
