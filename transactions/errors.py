"""The codes of the failures that an entity answers with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..composer import failure

if TYPE_CHECKING:
    from ..composer import Failure

MALFORMED = "MalformedMessage"  # not a message to an entity
LOCKED = "Locked"  # by a transaction or a saga, for longer than the request can wait
CONFLICT = "TransactionConflict"  # with another transaction; a retry may succeed
LOST = "TransactionLost"  # its working copy is lost; a retry may succeed
EXPIRED = "TransactionExpired"  # its deadline has passed; a retry may succeed
FENCED = "TransactionFenced"  # its coordinator has been replaced
ENDED = "TransactionEnded"  # it was aborted or undone here already
VERSION_CONFLICT = "VersionConflict"  # the entity has changed since it was read
STATE_TOO_LARGE = "StateTooLarge"
BAD_OPERATION = "BadOperation"  # the answer of the entity's code is not allowed
NEWER_STATE = "NewerState"  # written by a newer version of the entity's code

RETRYABLE = frozenset({LOCKED, CONFLICT, LOST, EXPIRED})


def refusal(code: str, message: str) -> Failure:
    """Returns a failure with one of these codes."""
    return failure(code, message)
