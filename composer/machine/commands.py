"""The commands of a fiber. The caller of the machine carries them out after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..freezing import frozen

if TYPE_CHECKING:
    from ..values import JSON
    from .frames import Frame


@frozen
class Tell:
    """A message to another execution: that execution's id, and the name and the id of the message."""

    execution: str
    name: str
    id: str


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
    comes with the end of the run's log. `whole` asks for a whole transaction; see `transactions.coordinator`.
    `child` is set if the action is to run as an execution of its own. With `tell` no action runs: the parameters
    are the payload of a message to another execution.
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
    child: Child | None = None
    tell: Tell | None = None


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
class Spawn:
    """Start an execution of the same program at `pc`, with this id, and do not wait for it."""

    activation: str
    pc: int
    value: JSON
    frames: tuple[Frame, ...]


Command: TypeAlias = Invoke | Fork | Abandon | CancelMembers | Rebind | Listen | Spawn
