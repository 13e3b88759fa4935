"""The methods that the embedded engine and the client share: protocols, lists, and the failures that they raise."""

from .batches import Batch, BatchArguments, batch_with
from .entities import Entity
from .errors import (
    LATE,
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    failed,
)
from .events import checked, event_with, key_of
from .listings import Document, Listing, Page, history, listed, sought
from .protocols import Actions, Execution, Telling, Xingqiao
from .schedules import Schedule
from .starting import StartArguments, started_with
from .workers import Worker

__all__ = [
    "LATE",
    "ActionCancelledError",
    "ActionError",
    "ActionTerminatedError",
    "ActionTimedOutError",
    "Actions",
    "Batch",
    "BatchArguments",
    "Document",
    "Entity",
    "Execution",
    "Listing",
    "Page",
    "Schedule",
    "StartArguments",
    "Telling",
    "Worker",
    "Xingqiao",
    "batch_with",
    "checked",
    "event_with",
    "failed",
    "history",
    "key_of",
    "listed",
    "sought",
    "started_with",
]
