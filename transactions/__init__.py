"""Transactions across stateful functions: entities, and what they promise to coordinators. Pure.

`Participant` is an entity as a state machine over messages; whoever runs it (the engine, a simulator)
commits what it answers together with what it has to write.
"""

from .effects import Answer, Damage, Gone, Request, Run, Save, Settings
from .errors import CONFLICT, LOCKED, RETRYABLE, VERSION_CONFLICT
from .participant import Participant
from .protocol import MessageError, key_of, parsed
from .records import Prepared, Row, Tombstone

__all__ = [
    "CONFLICT",
    "LOCKED",
    "RETRYABLE",
    "VERSION_CONFLICT",
    "Answer",
    "Damage",
    "Gone",
    "MessageError",
    "Participant",
    "Prepared",
    "Request",
    "Row",
    "Run",
    "Save",
    "Settings",
    "Tombstone",
    "key_of",
    "parsed",
]
