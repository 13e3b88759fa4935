"""Requests to an entity, and the effects that the entity asks its caller for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..composer import frozen
from .protocol import Operate

if TYPE_CHECKING:
    from ..composer import JSON, Outcome
    from .protocol import Message
    from .records import EntityWrite, Prepared


@dataclass(slots=True, eq=False)
class Request:
    """A message, with the id by which it is cancelled. `once`: it cannot be delivered twice."""

    id: str
    message: Message
    once: bool = True

    @property
    def transaction(self) -> str:
        """The id of the message's transaction; "" for none."""
        return "" if isinstance(self.message, Operate) else self.message.transaction.id


@frozen
class Perform:
    """Perform an operation on a state; then call `Participant.performed` with its outcome."""

    request: Request
    operation: str
    state: JSON
    params: JSON


@frozen
class Answer:
    """Answer a request, and commit the writes together with the answer."""

    request: Request
    outcome: Outcome
    writes: tuple[EntityWrite, ...] = ()


@frozen
class Save:
    """Commit the writes; there is no request to answer."""

    writes: tuple[EntityWrite, ...]


@frozen
class Damage:
    """Report that an operator's decision differs from the coordinator's."""

    prepared: Prepared
    committed: bool


Effect: TypeAlias = Perform | Answer | Save | Damage
