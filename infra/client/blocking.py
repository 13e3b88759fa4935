"""The synchronous face of the client. Its types are in `blocking.pyi`, which `make stubs` makes of the same classes."""

from __future__ import annotations

from ..worker import Worker
from .batches import RemoteBatch
from .client import Client
from .executions import RemoteEntity, RemoteExecution
from .schedules import RemoteSchedule
from .wrapping import BlockingListing, blocking

__all__ = [
    "BlockingBatch",
    "BlockingClient",
    "BlockingEntity",
    "BlockingExecution",
    "BlockingListing",
    "BlockingSchedule",
    "BlockingWorker",
]

BlockingClient = blocking(Client, "BlockingClient")
BlockingExecution = blocking(RemoteExecution, "BlockingExecution")
BlockingEntity = blocking(RemoteEntity, "BlockingEntity")
BlockingSchedule = blocking(RemoteSchedule, "BlockingSchedule")
BlockingBatch = blocking(RemoteBatch, "BlockingBatch")
BlockingWorker = blocking(Worker, "BlockingWorker")
