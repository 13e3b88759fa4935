"""The commands of a fiber. The caller of the machine carries them out after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..freezing import frozen

if TYPE_CHECKING:
    from ..gates import Bound
    from ..values import JSON, Failure
    from .frames import Frame


@frozen
class Tell:
    """A message to another execution: that execution's id, and the name and the id of the message."""

    execution: str
    name: str
    id: str


@frozen
class Again:
    """What an action is told of the invocations of its step before this one.

    `attempt` counts from 1, `failure` is that of the attempt before, and `details` came with the last
    heartbeat.
    """

    attempt: int
    failure: Failure | None
    details: JSON = None


@frozen
class Child:
    """What makes a step an execution of its own, with an end of its own.

    Args:
        id: the id that the composition gives it; "" for none.
        wait: True if its result is the step's; else its ids are, as soon as it has started.
        on_open: what happens when an execution with the id is open.
        on_closed: what happens when the newest with the id has ended.
        close: what happens to it when its parent ends: `terminate`, `cancel` or `abandon`.
        on_cancel: what a cancellation of the wait does: `wait` asks the child to stop, and goes on when it
            has ended; `try` asks, and goes on at once; `abandon` only goes on.
    """

    id: str = ""
    wait: bool = True
    on_open: str = "fail"
    on_closed: str = "allow"
    close: str = "terminate"
    on_cancel: str = "wait"


@frozen
class Invoke:
    """Run an action, or an inline function by its hash; answer `turn`.

    Without an action and a function, it runs the code of the conductor action that the program belongs to.
    `variables` are those that an inline function sees; an action sees none. `key` is the same in all attempts
    of one step of a saga; without a key every attempt stands for itself. With `later` its success
    says only that the action was accepted: the answer comes by the token of this turn. With `tail` the answer
    comes with the end of the run's log. `whole` asks for a whole transaction; see `transactions.coordinator`. With `tell`
    no action runs: the parameters are the payload of a message to another execution. `again` is None for the
    first invocation of a step. `child` is set if the action is to run as an execution of its own. With `restart`
    the execution ends: the next run of its chain has the id `activation`, and is of the action, or of the
    execution's own action if there is none.
    """

    turn: int
    activation: str
    params: JSON
    action: str | None = None
    function: str | None = None
    variables: dict[str, JSON] | None = None
    key: str | None = None
    later: bool = False
    tail: bool = False
    whole: bool = False
    tell: Tell | None = None
    again: Again | None = None
    child: Child | None = None
    restart: bool = False

    @property
    def runs_action(self) -> bool:
        """True if it asks for an action or a function: it neither tells a message nor ends the execution."""
        return self.tell is None and not self.restart


@frozen
class Fork:
    """Start fibers as the instruction before the program counter says; answer `turn`.

    `items`, one for each fiber, when they differ; otherwise each takes the fiber's value.
    """

    turn: int
    items: list[JSON] | None = None


@frozen
class Abandon:
    """Stop the action of `turn` if possible: its result is no longer needed.

    `ticket` as it was given, when the action was to answer later. With `asks` its end is still waited for.
    """

    turn: int
    ticket: JSON = None
    asks: bool = False


@frozen
class CancelMembers:
    """Cancel the fibers forked in `turn`, and still answer it."""

    turn: int


@frozen
class Rebind:
    """The fibers forked in `turn` have other bounds now, as the fiber's value says."""

    turn: int


@frozen
class Listen:
    """Let it hear the messages that it waits for, if they have come already."""


@frozen
class CloseUpdates:
    """The updates that the frame at this depth handles fail: the frame is gone."""

    depth: int


@frozen
class Acquire:
    """Give it a slot of a limit, or a place in its line; answer `turn`.

    `bound` are the numbers of the limit in the composition. `name` is "" for a limit that only the part at `path`
    of this composition has.
    """

    turn: int
    name: str
    key: str
    bound: Bound
    path: str


@frozen
class Spawn:
    """Start an execution of the same program at `pc`, with this id, and do not wait for it."""

    activation: str
    pc: int
    value: JSON
    frames: tuple[Frame, ...]


@frozen
class Annotate:
    """Give the execution these attributes, by which it is found; None removes one.

    They are committed with the transition.
    """

    attributes: dict[str, JSON]


@frozen
class Emit:
    """Emit a CloudEvent, which is committed with the transition.

    `attributes` are those that the composition gives, and the version, the id and the time. The caller adds the
    source, the subject and the trace if they are not given. `content` is empty or has `data`.
    """

    attributes: dict[str, JSON]
    content: dict[str, JSON]


Command: TypeAlias = (
    Invoke
    | Fork
    | Abandon
    | CancelMembers
    | Rebind
    | Listen
    | CloseUpdates
    | Acquire
    | Spawn
    | Annotate
    | Emit
)
