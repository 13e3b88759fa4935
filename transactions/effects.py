"""What an entity is asked for, and what it asks for in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .protocol import Operate

if TYPE_CHECKING:
    from ..composer import JSON, Outcome
    from .protocol import Message
    from .records import Forgotten, Prepared, Row, Tombstone


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A message, with a name to cancel it by."""

    id: str
    message: Message
    once: bool = True

    @property
    def transaction(self) -> str:
        """The id of the transaction that it is of; "" for none."""
        return "" if isinstance(self.message, Operate) else self.message.transaction.id


@dataclass(frozen=True, slots=True)
class Run:
    """Run an operation on a state; then call `ran`."""

    request: Request
    operation: str
    state: JSON
    params: JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a request, and with it write what has changed."""

    request: Request
    outcome: Outcome
    writes: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Save:
    """Write what has changed, though nobody is answered."""

    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Damage:
    """An operator has decided otherwise than the coordinator did."""

    prepared: Prepared
    committed: bool


Write: TypeAlias = "Row | Prepared | Tombstone | Forgotten | Gone"
Effect: TypeAlias = Run | Answer | Save | Damage


@dataclass(frozen=True, slots=True)
class Gone:
    """The record of what this transaction had prepared is to be deleted."""

    transaction: str
