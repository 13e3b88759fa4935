"""What runs actions on this machine: in-process functions and Python workers."""

from .inline import InlineInvoker
from .pool import WorkerPool
from .python import WorkerSettings
from .sandbox import Sandbox, SandboxError, find_sandbox

__all__ = [
    "InlineInvoker",
    "Sandbox",
    "SandboxError",
    "WorkerPool",
    "WorkerSettings",
    "find_sandbox",
]
