"""The service put together: the one place that names concretes, its process, and the embedded door."""

from .app import open_at_rest, open_service
from .doctor import Finding, examine
from .embedded_engine import Embedded, embedded
from .handles import NAMESPACE, ActionError, ExecutionHandle
from .keys import readable, rotate
from .logs import set_up_logs
from .server import serve

__all__ = [
    "NAMESPACE",
    "ActionError",
    "Embedded",
    "ExecutionHandle",
    "Finding",
    "embedded",
    "examine",
    "open_at_rest",
    "open_service",
    "readable",
    "rotate",
    "serve",
    "set_up_logs",
]
