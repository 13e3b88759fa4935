"""Transactions across stateful functions: entities, and what they promise to coordinators. Pure.

`Participant` is an entity as a state machine over messages; whoever runs it (the engine, a simulator)
commits what it answers together with what it has to write.
"""

from .effects import Answer, Damage, Effect, Gone, Request, Run, Save, Write
from .entities import EntityType, entity
from .errors import (
    CONFLICT,
    LOCKED,
    MALFORMED,
    NEWER_STATE,
    RETRYABLE,
    VERSION_CONFLICT,
    refusal,
)
from .participant import Participant
from .protocol import MessageError, Operate, key_of, parsed
from .records import Forgotten, Prepared, Row, Tombstone

__all__ = [
    "CONFLICT",
    "LOCKED",
    "MALFORMED",
    "NEWER_STATE",
    "RETRYABLE",
    "VERSION_CONFLICT",
    "Answer",
    "Damage",
    "Effect",
    "EntityType",
    "Forgotten",
    "Gone",
    "MessageError",
    "Operate",
    "Participant",
    "Prepared",
    "Request",
    "Row",
    "Run",
    "Save",
    "Tombstone",
    "Write",
    "entity",
    "key_of",
    "parsed",
    "refusal",
]
