"""The methods that the embedded engine and the client share: protocols, lists, and the failures that they raise."""

from .errors import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    failed,
)
from .listings import Document, Listing, Page, history, listed
from .protocols import Actions, Entity, Execution, Telling, Xingqiao

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
    "Telling",
    "Xingqiao",
    "failed",
    "history",
    "listed",
]
