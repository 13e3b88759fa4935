"""Errors of the States Language: their names, an evaluation that fails, and failures of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...errors import Error
from ...values import CANCELLED, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...values import JSON

ALL: Final = "States.ALL"
RUNTIME: Final = "States.Runtime"
QUERY_EVALUATION_ERROR: Final = "States.QueryEvaluationError"
EXCEEDED: Final = "States.ExceedToleratedFailureThreshold"
TASK_FAILED: Final = "States.TaskFailed"
TIMEOUT: Final = "States.Timeout"
HEARTBEAT_TIMEOUT: Final = "States.HeartbeatTimeout"
DATA_LIMIT_EXCEEDED: Final = "States.DataLimitExceeded"
ITEM_READER_FAILED: Final = "States.ItemReaderFailed"
RESULT_WRITER_FAILED: Final = "States.ResultWriterFailed"

Details: TypeAlias = dict[str, Any]
"""The error of a failure: `Error` and `Cause` are texts wherever `failed` made it; an action chose any other."""


class StatesError(Error):
    """An evaluation failed as the States Language names it.

    `name` is such as States.Runtime, `cause` the text of AWS, `location` the field that failed, if AWS names it.
    """

    def __init__(self, name: str, cause: str, location: str | None = None) -> None:
        super().__init__(f"{name}: {cause}")
        self.name, self.cause, self.location = name, cause, location


def failed(name: str | None, cause: str | None, **more: JSON) -> Failure:
    """A failure of a state machine: its error is `{"Error", "Cause"}`, without those that are None.

    Its code is the error's name; that of a cancelled execution is kept for the machine.
    """
    details: dict[str, JSON] = {"Error": name, "Cause": cause, **more}
    code = TASK_FAILED if name == CANCELLED else name or ""
    return Failure(code, {key: text for key, text in details.items() if text is not None})


def details_of(failure: Failure) -> Details:
    """The object that is a failure's error; empty if the error is not an object."""
    error: JSON = failure.error
    return error if isinstance(error, dict) else {}


def exceeded() -> Failure:
    """More iterations of a distributed Map have failed than it tolerates."""
    return failed(EXCEEDED, "The specified tolerated failure threshold was exceeded")


def covers(names: Sequence[str], error: str) -> bool:
    """True if ErrorEquals covers an error. States.Runtime is covered by its own name only, as AWS documents it."""
    for name in names:
        if name == error:
            return True
        if name == ALL and error != RUNTIME:
            return True
        if name == TASK_FAILED and error not in (TIMEOUT, HEARTBEAT_TIMEOUT, RUNTIME):
            return True
        if name == TIMEOUT and error == HEARTBEAT_TIMEOUT:
            return True
    return False
