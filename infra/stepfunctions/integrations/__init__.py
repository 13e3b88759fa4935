"""The integrations of tasks: Step Functions itself, HTTP endpoints, AWS' services."""

from .httptasks import HttpTasks
from .services import AwsIntegrations, JobPolling
from .sfn import Call, OperationError, StepFunctions

__all__ = [
    "AwsIntegrations",
    "Call",
    "HttpTasks",
    "JobPolling",
    "OperationError",
    "StepFunctions",
]
