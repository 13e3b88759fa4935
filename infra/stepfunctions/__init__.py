"""AWS Step Functions: its API, state machines, activities, integrations and the items of Maps.

The names of the API are loaded when they are first used: an embedded engine does not load a web server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .activities import ACTIVITY, Activities
from .contexts import MachineHooks
from .integrations import AwsIntegrations, Call, HttpTasks, JobPolling, StepFunctions
from .items import ITEMS, LIMIT_MS, READ, WRITE, DirectoryObjects, ItemsInvoker, Places
from .machines import Machines
from .records import Records

if TYPE_CHECKING:
    from .api import STEP_FUNCTIONS, StepFunctionsApi, operations

__all__ = [
    "ACTIVITY",
    "ITEMS",
    "LIMIT_MS",
    "READ",
    "STEP_FUNCTIONS",
    "WRITE",
    "Activities",
    "AwsIntegrations",
    "Call",
    "DirectoryObjects",
    "HttpTasks",
    "ItemsInvoker",
    "JobPolling",
    "MachineHooks",
    "Machines",
    "Places",
    "Records",
    "StepFunctions",
    "StepFunctionsApi",
    "operations",
]

_API = ("STEP_FUNCTIONS", "StepFunctionsApi", "operations")


def __getattr__(name: str) -> object:
    if name not in _API:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".api", __name__), name)
