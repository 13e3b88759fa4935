"""The integrations of tasks: Step Functions itself, HTTP endpoints, AWS' services."""

from .httptasks import HttpTasks
from .services import AwsIntegrations
from .sfn import Call, OperationError, StepFunctions

__all__ = [
    "AwsIntegrations",
    "Call",
    "HttpTasks",
    "OperationError",
    "StepFunctions",
]
