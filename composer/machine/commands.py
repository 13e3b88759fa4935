"""What a fiber can ask for. Whoever runs the machine carries these out after the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..freezing import frozen

if TYPE_CHECKING:
    from ..values import JSON
    from .frames import Frame


@frozen
class Invoke:
    """Run an action, or an inline function by its hash; answer `turn`.

    Neither is the code of the action that the program belongs to: a conductor action's. `variables`
    are those that an inline function sees; an action sees none. `key` is the same each time that the
    same step of a saga is tried; without one every attempt stands for itself. With `later` its success
    says only that it has been taken in: the answer comes by the token of this turn. With `tail` the answer
    comes with the end of the run's log.
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


@frozen
class Fork:
    """Start fibers as the instruction before the program counter says; answer `turn`.

    `items`, one for each fiber, when they differ; otherwise each takes the fiber's value.
    """

    turn: int
    items: list[JSON] | None = None


@frozen
class Abandon:
    """Nobody waits any more for the action of `turn`: stop it if that can be done.

    `ticket` as it was given, when the action was to answer later.
    """

    turn: int
    ticket: JSON = None


@frozen
class CancelMembers:
    """Cancel the fibers forked in `turn`, and still answer it."""

    turn: int


@frozen
class Rebind:
    """The fibers forked in `turn` have other bounds now, as the fiber's value says."""

    turn: int


@frozen
class Spawn:
    """Start an execution of the same program at `pc`, with this id, and do not wait for it."""

    activation: str
    pc: int
    value: JSON
    frames: tuple[Frame, ...]


Command: TypeAlias = Invoke | Fork | Abandon | CancelMembers | Rebind | Spawn
