"""AWS Step Functions: its API, state machines, activities, integrations and the items of Maps."""

from .activities import ACTIVITY, Activities
from .api import STEP_FUNCTIONS, StepFunctionsApi, operations
from .contexts import MachineHooks
from .integrations import AwsIntegrations, Call, HttpTasks, StepFunctions
from .items import ITEMS, LIMIT_MS, READ, WRITE, DirectoryObjects, ItemsInvoker, Places
from .machines import Machines
from .records import Records

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
    "MachineHooks",
    "Machines",
    "Places",
    "Records",
    "StepFunctions",
    "StepFunctionsApi",
    "operations",
]
