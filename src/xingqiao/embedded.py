"""The engine in a program of your own: `async with embedded() as engine`."""

from .actions import RefusedError
from .infra.handles import (
    ActionCancelledError,
    ActionError,
    ActionTerminatedError,
    ActionTimedOutError,
    Listing,
    StartArguments,
    Xingqiao,
)
from .infra.service import (
    NAMESPACE,
    Embedded,
    EntityHandle,
    ExecutionHandle,
    ScheduleHandle,
    embedded,
)

__all__ = [
    "NAMESPACE",
    "ActionCancelledError",
    "ActionError",
    "ActionTerminatedError",
    "ActionTimedOutError",
    "Embedded",
    "EntityHandle",
    "ExecutionHandle",
    "Listing",
    "RefusedError",
    "ScheduleHandle",
    "StartArguments",
    "Xingqiao",
    "embedded",
]
