"""What runs actions on this machine: in-process functions and Python workers."""

from .functions import ArchiveError, packed, repacked
from .inline import InlineInvoker
from .languages import Language, find_languages
from .modules import NodeModules
from .pool import Bounds, WorkerPool
from .sandbox import Sandbox, SandboxError, find_sandbox
from .workers import WorkerSettings

__all__ = [
    "ArchiveError",
    "Bounds",
    "InlineInvoker",
    "Language",
    "NodeModules",
    "Sandbox",
    "SandboxError",
    "WorkerPool",
    "WorkerSettings",
    "find_languages",
    "find_sandbox",
    "packed",
    "repacked",
]
