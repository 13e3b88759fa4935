"""Invokers for actions on this machine: functions of this process, and workers for Python and Node.js."""

from .cgroups import open_groups
from .confinement import Confinement, SandboxError, Users
from .environments import Environment, Environments, InstallError, Keeping
from .functions import ArchiveError, packed, repacked
from .groups import Groups, Kept
from .homes import open_homes
from .inline import InlineInvoker
from .languages import Language, find_languages
from .packages import Cook, Packages, PackagesState, packages_state
from .pool import Bounds, WorkerPool
from .requests import WorkerSettings
from .sandbox import Room, Sandbox, few_files, find_sandbox

__all__ = [
    "ArchiveError",
    "Bounds",
    "Confinement",
    "Cook",
    "Environment",
    "Environments",
    "Groups",
    "InlineInvoker",
    "InstallError",
    "Keeping",
    "Kept",
    "Language",
    "Packages",
    "PackagesState",
    "Room",
    "Sandbox",
    "SandboxError",
    "Users",
    "WorkerPool",
    "WorkerSettings",
    "few_files",
    "find_languages",
    "find_sandbox",
    "open_groups",
    "open_homes",
    "packages_state",
    "packed",
    "repacked",
]
