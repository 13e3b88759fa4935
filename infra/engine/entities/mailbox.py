"""The mailbox of one entity in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Completion, Invocation
    from ....transactions import Participant, Request

Done: TypeAlias = "Callable[[Completion], None]"


@dataclass(slots=True)
class Delivery:
    """A request under way: its invocation, who takes the completion, and the code's last run."""

    invocation: Invocation
    done: Done
    started_ms: int
    last: Completion | None = None


@dataclass(slots=True)
class Mailbox:
    """An entity in memory; `participant` is None while the entity is loaded."""

    name: str
    participant: Participant | None = None
    deliveries: dict[Request, Delivery] = field(default_factory=dict)
    early: list[Request] = field(default_factory=list)  # came before the entity was loaded
    uncommitted: int = 0  # answers and saves whose writes are not committed yet
    due_ms: int = 0  # of the timer that is armed
    discarded: bool = False  # it has failed, and another mailbox has its name
    loaded: asyncio.Event = field(default_factory=asyncio.Event)  # or found to be unreadable

    @property
    def at_rest(self) -> bool:
        """True if the mailbox can leave memory: all of its state is stored."""
        return self.participant is not None and self.participant.idle and not self.uncommitted
