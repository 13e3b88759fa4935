"""Transactions across stateful functions: entities, the participants of two-phase commits. Pure.

`Participant` is an entity as a state machine over messages. The engine or a simulator runs it, and
commits each answer together with its writes.
"""

from .effects import Answer, Damage, Effect, Perform, Request, Save
from .entities import EntityType, entity
from .errors import (
    CONFLICT,
    LOCKED,
    LOST,
    MALFORMED,
    NEWER_STATE,
    RETRYABLE,
    VERSION_CONFLICT,
    refusal,
)
from .participant import Participant
from .protocol import (
    APART,
    Decide,
    MessageError,
    Operate,
    Share,
    Transaction,
    Work,
    key_of,
    parsed,
    whole,
)
from .records import DeletePrepared, DeleteTombstone, EntityWrite, Prepared, Row, Tombstone
from .two_phase import no_vote

__all__ = [
    "APART",
    "CONFLICT",
    "LOCKED",
    "LOST",
    "MALFORMED",
    "NEWER_STATE",
    "RETRYABLE",
    "VERSION_CONFLICT",
    "Answer",
    "Damage",
    "Decide",
    "DeletePrepared",
    "DeleteTombstone",
    "Effect",
    "EntityType",
    "EntityWrite",
    "MessageError",
    "Operate",
    "Participant",
    "Perform",
    "Prepared",
    "Request",
    "Row",
    "Save",
    "Share",
    "Tombstone",
    "Transaction",
    "Work",
    "entity",
    "key_of",
    "no_vote",
    "parsed",
    "refusal",
    "whole",
]
