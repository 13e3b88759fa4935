"""The engine in a program of your own: `async with embedded() as engine`."""

from .actions import RefusedError
from .infra.handles import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    BatchArguments,
    Listing,
    StartArguments,
    Xingqiao,
)
from .infra.service import (
    NAMESPACE,
    BatchHandle,
    Embedded,
    EntityHandle,
    ExecutionHandle,
    ScheduleHandle,
    embedded,
)
from .infra.worker import Step, Worker

__all__ = [
    "NAMESPACE",
    "ActionCancelledError",
    "ActionError",
    "ActionTerminatedError",
    "ActionTimedOutError",
    "BatchArguments",
    "BatchHandle",
    "Embedded",
    "EntityHandle",
    "ExecutionHandle",
    "Listing",
    "RefusedError",
    "ScheduleHandle",
    "StartArguments",
    "Step",
    "Worker",
    "Xingqiao",
    "embedded",
]
