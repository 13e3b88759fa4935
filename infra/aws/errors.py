"""Errors in AWS' codes and texts.

The texts are those of recorded answers, else those of AWS' API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...composer import Error

MODEL = "com.amazonaws.swf.service.v2.model#"  # prefix of Step Functions' own errors
FRONT = "com.amazon.coral.service#"  # prefix of errors of all of AWS' services
VALIDATION = "com.amazon.coral.validate#"
QUOTA_STATUS = 402  # API_CreateStateMachineAlias: of ServiceQuotaExceededException

_FRONT = {
    "AccessDeniedException",
    "IncompleteSignatureException",
    "InternalFailure",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "RequestEntityTooLargeException",
    "SerializationException",
    "ServiceUnavailableException",
    "ThrottlingException",
    "UnknownOperationException",
    "UnrecognizedClientException",
}


class AwsError(Error):
    """An error in AWS' form: its code, its message, its HTTP status and further members of its body."""

    def __init__(
        self, code: str, message: str, status: int = 400, details: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
        self.details = details or {}

    @property
    def type(self) -> str:
        """The member `__type`: clients read the part behind the `#`."""
        if self.code in _FRONT:
            return FRONT + self.code
        return (VALIDATION if self.code == "ValidationException" else MODEL) + self.code


def invalid_arn(text: str) -> AwsError:
    """The error for a text that is not an ARN of Step Functions."""
    return AwsError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {text}'")


def wrong_resource(kind: str) -> AwsError:
    """The error for an ARN of another kind of resource."""
    return AwsError(
        "InvalidArn", f"Invalid Arn: 'Resource type not valid in this context: {kind.lower()}'"
    )


def invalid_name(name: str) -> AwsError:
    return AwsError("InvalidName", f"Invalid Name: '{name}'")


def invalid_token() -> AwsError:
    """The error for a `nextToken` that does not belong to the list."""
    return AwsError("InvalidToken", "Invalid Token: 'Invalid token'")


def invalid(message: str) -> AwsError:
    """The error for parameters that contradict each other."""
    return AwsError("ValidationException", message)


def conflict(message: str) -> AwsError:
    return AwsError("ConflictException", message)


def quota_exceeded(message: str) -> AwsError:
    return AwsError("ServiceQuotaExceededException", message, QUOTA_STATUS)


def machine_missing(arn: str) -> AwsError:
    return AwsError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def type_not_supported() -> AwsError:
    """The error for an operation on the wrong type of state machine."""
    return AwsError(
        "StateMachineTypeNotSupported",
        "This operation is not supported by this type of state machine",
    )


def resource_missing(arn: str | None = None) -> AwsError:
    """The error for a missing alias, or for a missing resource with tags, which is named."""
    if arn is None:
        return AwsError("ResourceNotFound", "Request references a resource that does not exist.")
    return AwsError("ResourceNotFound", f"Resource not found: '{arn}'")


Refusals: TypeAlias = Mapping[type[Exception], tuple[str, int]]
"""AWS' codes and statuses for the engine's errors; the last one is for all others."""


def refused(error: Exception, refusals: Refusals) -> AwsError:
    """An error of the engine in AWS' codes."""
    code, status = next(told for kind, told in refusals.items() if isinstance(error, kind))
    return AwsError(code, str(error), status)
