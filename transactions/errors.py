"""What an entity answers when it does not do as it is asked: the codes of its failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..composer import failure

if TYPE_CHECKING:
    from ..composer import Failure

MALFORMED = "MalformedMessage"  # nothing an entity understands
LOCKED = "Locked"  # by a transaction or a saga, for longer than one can wait
CONFLICT = "TransactionConflict"  # with another transaction: it may be tried again
LOST = "TransactionLost"  # what it had done here is gone: it may be tried again
EXPIRED = "TransactionExpired"  # it has taken too long: it may be tried again
FENCED = "TransactionFenced"  # its coordinator has been replaced
ENDED = "TransactionEnded"  # it has been aborted here already
VERSION_CONFLICT = "VersionConflict"  # the entity has changed since it was read
STATE_TOO_LARGE = "StateTooLarge"
BAD_OPERATION = "BadOperation"  # the entity's code has answered what it may not
NEWER_STATE = "NewerState"  # written by a newer version of the entity's code

RETRYABLE = frozenset({LOCKED, CONFLICT, LOST, EXPIRED})


def refusal(code: str, message: str) -> Failure:
    """A failure of one of these codes."""
    return failure(code, message)
