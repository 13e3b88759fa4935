"""The service put together: the one place that names concretes, its process, and the embedded door.

Each name is loaded when it is first used: a program that embeds the engine does not load the server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app import open_at_rest, open_service
    from .backups import Backup, back_up, restore
    from .batch_handles import BatchHandle
    from .doctor import examine
    from .embedded_engine import Embedded, embedded
    from .embedded_records import EntityHandle
    from .findings import Finding
    from .handles import NAMESPACE, ExecutionHandle
    from .keys import readable, rotate
    from .logs import set_up_logs
    from .schedule_handles import ScheduleHandle
    from .server import serve

__all__ = [
    "NAMESPACE",
    "Backup",
    "BatchHandle",
    "Embedded",
    "EntityHandle",
    "ExecutionHandle",
    "Finding",
    "ScheduleHandle",
    "back_up",
    "embedded",
    "examine",
    "open_at_rest",
    "open_service",
    "readable",
    "restore",
    "rotate",
    "serve",
    "set_up_logs",
]

_MODULES = {
    "NAMESPACE": "handles",
    "Backup": "backups",
    "BatchHandle": "batch_handles",
    "Embedded": "embedded_engine",
    "EntityHandle": "embedded_records",
    "ExecutionHandle": "handles",
    "Finding": "findings",
    "ScheduleHandle": "schedule_handles",
    "back_up": "backups",
    "embedded": "embedded_engine",
    "examine": "doctor",
    "open_at_rest": "app",
    "open_service": "app",
    "readable": "keys",
    "restore": "backups",
    "rotate": "keys",
    "serve": "server",
    "set_up_logs": "logs",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
