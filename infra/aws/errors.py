"""What went wrong, in AWS' codes and words.

The words are those of recorded answers; where none is recorded, those of AWS' API reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ...composer import Error

MODEL = "com.amazonaws.swf.service.v2.model#"  # before the codes of Step Functions' own errors
FRONT = "com.amazon.coral.service#"  # before those that any service of AWS' may answer
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
    """An error as AWS answers it: its code, its message, and the status that it has in HTTP."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status

    @property
    def type(self) -> str:
        """What `__type` says: clients take what stands behind the `#`."""
        if self.code in _FRONT:
            return FRONT + self.code
        return (VALIDATION if self.code == "ValidationException" else MODEL) + self.code


def invalid_arn(text: str) -> AwsError:
    """The error for what is no name of Step Functions' at all."""
    return AwsError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {text}'")


def wrong_resource(kind: str) -> AwsError:
    """The error for a name of something else than is asked for; `kind` is what it is of."""
    return AwsError(
        "InvalidArn", f"Invalid Arn: 'Resource type not valid in this context: {kind.lower()}'"
    )


def invalid_name(name: str) -> AwsError:
    return AwsError("InvalidName", f"Invalid Name: '{name}'")


def invalid_token() -> AwsError:
    """The error for a `nextToken` that this service has not given for this question."""
    return AwsError("InvalidToken", "Invalid Token: 'Invalid token'")


def invalid(message: str) -> AwsError:
    """The error for parameters that do not go together."""
    return AwsError("ValidationException", message)


def conflict(message: str) -> AwsError:
    return AwsError("ConflictException", message)


def quota_exceeded(message: str) -> AwsError:
    return AwsError("ServiceQuotaExceededException", message, QUOTA_STATUS)


def machine_missing(arn: str) -> AwsError:
    return AwsError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def type_not_supported() -> AwsError:
    """The error for what an express machine cannot be asked, or a standard one."""
    return AwsError(
        "StateMachineTypeNotSupported",
        "This operation is not supported by this type of state machine",
    )


def resource_missing(arn: str | None = None) -> AwsError:
    """The error for an alias that is not there, or for what has tags and is named."""
    if arn is None:
        return AwsError("ResourceNotFound", "Request references a resource that does not exist.")
    return AwsError("ResourceNotFound", f"Resource not found: '{arn}'")


Refusals: TypeAlias = Mapping[type[Exception], tuple[str, int]]
"""What AWS calls what the engine refuses, and its status; the last is for anything else."""


def refused(error: Exception, refusals: Refusals) -> AwsError:
    """What the engine refuses, in AWS' codes."""
    code, status = next(told for kind, told in refusals.items() if isinstance(error, kind))
    return AwsError(code, str(error), status)
