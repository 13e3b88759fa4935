"""The synchronous face of the client. Its types are in `blocking.pyi`, which `make stubs` makes of the same classes."""

from __future__ import annotations

from .client import Client
from .executions import RemoteEntity, RemoteExecution
from .schedules import RemoteSchedule
from .wrapping import BlockingListing, blocking

__all__ = [
    "BlockingClient",
    "BlockingEntity",
    "BlockingExecution",
    "BlockingListing",
    "BlockingSchedule",
]

BlockingClient = blocking(Client, "BlockingClient")
BlockingExecution = blocking(RemoteExecution, "BlockingExecution")
BlockingEntity = blocking(RemoteEntity, "BlockingEntity")
BlockingSchedule = blocking(RemoteSchedule, "BlockingSchedule")
