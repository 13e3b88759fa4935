"""The changes that an event makes to an execution: committed as a whole, and then carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..values import Outcome
    from .commands import Abandon, Acquire, Annotate, Emit, Invoke, Spawn
    from .fiber import Fiber
    from .history import Entry
    from .inbox import InboxChanges
    from .serving import Settled


@dataclass(slots=True)
class Changes:
    """The changes of one event.

    fibers: those to be stored, as they are now.
    dropped: the fibers that are gone: (parent, turn) for all that it forked then.
    commands: with the fiber that asked, to be carried out after the commit.
    entries: to be appended to the history.
    outcome: of the execution, once it has ended; then no fiber is left.
    more: there is work left that needs no event: call `proceed` when others have had their turn.
    stretches: a fiber has stopped before a long evaluation: see `Execution.stretch`.
    messages: the changes of its inbox, if there are any.
    updates: those that have ended, in order.
    stale: the event answered a wait that is over; nothing has changed.
    """

    fibers: dict[str, Fiber] = field(default_factory=dict)
    dropped: list[tuple[str, int]] = field(default_factory=list)
    commands: list[tuple[str, Invoke | Abandon | Acquire | Spawn | Annotate | Emit]] = field(
        default_factory=list
    )
    entries: list[Entry] = field(default_factory=list)
    outcome: Outcome | None = None
    more: bool = False
    stretches: bool = False
    messages: InboxChanges | None = None
    updates: list[Settled] = field(default_factory=list)
    stale: bool = False
