"""The events of a fiber. An event names the turn that it answers; an event for another turn is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from ..freezing import frozen

if TYPE_CHECKING:
    from ..values import JSON, Failure, Outcome
    from .inbox import Message
    from .sagas.compensations import Log


@frozen
class Continued:
    """It may run: for the first time, or after it has used its share of instructions."""


@frozen
class Completed:
    """The action it waits for came back with `value`, and with variables that it set, if any.

    `remote` describes where it ran, for the history; `log` is the end of its log in base64, if the step asked
    for it. `raised` is `Failure.raised` of an inline function that set variables and then failed.
    """

    turn: int
    value: JSON
    variables: dict[str, JSON] | None = None
    remote: dict[str, JSON] | None = None
    log: str | None = None
    raised: tuple[str, ...] = ()


@frozen
class Failed:
    """The action it waits for failed, or never ran.

    `may_have_run` says whether it may have had an effect; None leaves that to what the code of the failure says.
    """

    turn: int
    failure: Failure
    may_have_run: Literal["no", "yes", "unknown"] | None = None
    remote: dict[str, JSON] | None = None


@frozen
class Accepted:
    """The action it waits for was accepted and will answer later, through its completion trigger.

    `ticket` identifies the work at the side that accepted it; it is stored with the fiber, and is never None. A
    `polled` action is polled for its answer, also after a crash; its ticket may change.
    """

    turn: int
    ticket: JSON
    polled: bool = False


@frozen
class Heartbeat:
    """The action it waits for, which will answer later, is still at work.

    `details` say how far it is; None leaves those of an earlier heartbeat.
    """

    turn: int
    details: JSON = None


@frozen
class Queued:
    """The action it waits for waits for a worker."""

    turn: int


@frozen
class Taken:
    """A worker has taken the action it waits for, which was queued."""

    turn: int


@frozen
class Joined:
    """The fibers that it waits for have ended, with this joint outcome, in so many steps.

    `logs` are their logs, for the saga that they are branches of. `members` are their own outcomes, in order,
    if a language has forked them.
    """

    turn: int
    outcome: Outcome
    steps: int
    logs: tuple[Log, ...] = ()
    members: tuple[Outcome, ...] = ()


@frozen
class TimerFired:
    """The end of its sleep, or of a deadline, has come."""


@frozen
class Resumed:
    """An operator lets it go on from where it paused; with other parameters, if any are given."""

    params: JSON = None
    detail: dict[str, JSON] | None = None


@frozen
class Resolved:
    """An operator has resolved by hand the step that a saga is stuck at: the saga goes on as if it were done.

    `how` is `skip` or `resolve`; `value` stands for the result of a step; `detail` says who and why.
    """

    how: str
    value: JSON = None
    detail: dict[str, JSON] | None = None


@frozen
class Rebound:
    """The members of a language's fork get other bounds; `about` is the request, for the history."""

    turn: int
    bounds: dict[str, JSON]
    about: dict[str, JSON]


@frozen
class Heard:
    """Messages from outside satisfy what it waits for; they are in order of arrival."""

    turn: int
    messages: tuple[Message, ...]


@frozen
class LinedUp:
    """It must wait for a slot of this limit, at this place in the line; so many go before it."""

    turn: int
    limit: str
    place: int
    before: int = 0


@frozen
class Acquired:
    """It has the slot that it asked for, of this limit, at this place in the line."""

    turn: int
    limit: str
    place: int = 0


@frozen
class Cancelled:
    """It is asked to stop: finalizers run, nothing else does."""


Event: TypeAlias = (
    Continued
    | Completed
    | Failed
    | Accepted
    | Heartbeat
    | Queued
    | Taken
    | Joined
    | TimerFired
    | Resumed
    | Resolved
    | Rebound
    | Heard
    | LinedUp
    | Acquired
    | Cancelled
)
