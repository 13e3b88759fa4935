"""What can happen to a fiber. An event names the turn it answers; one for another turn is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .freezing import frozen

if TYPE_CHECKING:
    from .compensations import Log
    from .values import JSON, Failure, Outcome


@frozen
class Continued:
    """It may run: for the first time, or because it had run long enough for one turn."""


@frozen
class Completed:
    """The action it waits for came back with `value`, and with variables that it set, if any."""

    turn: int
    value: JSON
    variables: dict[str, JSON] | None = None


@frozen
class Failed:
    """The action it waits for failed, or never ran; `definite` when it has certainly had no effect."""

    turn: int
    failure: Failure
    definite: bool = False


@frozen
class Accepted:
    """The action it waits for has run and will answer later, through its completion trigger.

    `ticket` is what must be known of it then; it is kept with the fiber, and is never None.
    """

    turn: int
    ticket: JSON


@frozen
class Joined:
    """The fibers it waits for have ended, with this as their joint outcome, in so many steps.

    `logs` are what they have done, for the saga that they are branches of.
    """

    turn: int
    outcome: Outcome
    steps: int
    logs: tuple[Log, ...] = ()


@frozen
class TimerFired:
    """The instant has come that it waits for, or that bounds what it waits for."""


@frozen
class Resumed:
    """An operator lets it go on from where it paused; with other parameters, if any are given."""

    params: JSON = None
    detail: dict[str, JSON] | None = None


@frozen
class Resolved:
    """An operator has dealt by hand with what a saga is stuck at: it goes on as if it were done.

    `how` is `skip` or `resolve`; `value` stands for the result of a step; `detail` says who and why.
    """

    how: str
    value: JSON = None
    detail: dict[str, JSON] | None = None


@frozen
class Cancelled:
    """It is asked to stop: finalizers run, nothing else does."""


Event: TypeAlias = (
    Continued | Completed | Failed | Accepted | Joined | TimerFired | Resumed | Resolved | Cancelled
)
