"""The methods that the embedded engine and the client share: protocols, lists, and the failures that they raise."""

from .errors import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    failed,
)
from .listings import Document, Listing, Page, history, listed, sought
from .protocols import Actions, Entity, Execution, Telling, Xingqiao
from .schedules import Schedule
from .starting import StartArguments, started_with

__all__ = [
    "ActionCancelledError",
    "ActionError",
    "ActionTerminatedError",
    "ActionTimedOutError",
    "Actions",
    "Document",
    "Entity",
    "Execution",
    "Listing",
    "Page",
    "Schedule",
    "StartArguments",
    "Telling",
    "Xingqiao",
    "failed",
    "history",
    "listed",
    "sought",
    "started_with",
]
