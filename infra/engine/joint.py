"""Transactions whose participants are all entities of this store: the server performs each of them whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...actions import Completion, Opened
    from ...transactions import Share, Transaction


@dataclass(slots=True)
class Member:
    """A participant: its activation, the name of its type, and its part."""

    opened: Opened
    type: str
    share: Share


@dataclass(slots=True)
class Joint:
    """A transaction of this store, as one step.

    Args:
        transaction: the transaction.
        members: the participants, in the order in which they are locked.
        ended: the activations of those that have worked, for their records.
    """

    transaction: Transaction
    members: list[Member]
    ended: list[tuple[Opened, Completion]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id of the step's activation, which is the first participant's, too."""
        return self.members[0].opened.id
