"""The engine in a program of your own: `async with embedded() as engine`."""

from .actions import RefusedError
from .infra.service import NAMESPACE, ActionError, Embedded, ExecutionHandle, embedded

__all__ = ["NAMESPACE", "ActionError", "Embedded", "ExecutionHandle", "RefusedError", "embedded"]
