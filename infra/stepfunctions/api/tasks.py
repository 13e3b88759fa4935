"""Answers and heartbeats of tasks, sent with a task token."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....actions import ConflictError, NotFoundError
from ....composer import Failure, Success
from ...aws import AwsError, invalid_token
from .data import task_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ....composer import JSON
    from ...aws import Parameters
    from .api import StepFunctionsApi
    from .protocol import Caller, Operations

TASK_FAILED = "States.TaskFailed"  # the error of a failure without a name


async def send_task_success(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    output: Any = task_output(params["output"])  # not always an object, as on AWS
    with _answered():
        await api.engine.executions.answer(caller.namespace, params["taskToken"], Success(output))
    return {}


async def send_task_failure(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    named = {"Error": params.get("error"), "Cause": params.get("cause")}
    error: dict[str, JSON] = {name: text for name, text in named.items() if text is not None}
    failure = Failure(params.get("error") or TASK_FAILED, error)
    with _answered():
        await api.engine.executions.answer(caller.namespace, params["taskToken"], failure)
    return {}


async def send_task_heartbeat(
    params: Parameters, caller: Caller, api: StepFunctionsApi
) -> dict[str, JSON]:
    with _answered():
        await api.engine.executions.heartbeat(caller.namespace, params["taskToken"])
    return {}


@contextmanager
def _answered() -> Iterator[None]:
    """Raises AWS' errors if a task cannot be answered."""
    try:
        yield
    except NotFoundError:
        raise invalid_token() from None
    except ConflictError:
        text = "Task Timed Out: 'Provided task does not exist anymore'"
        raise AwsError("TaskTimedOut", text) from None


OPERATIONS: Operations = {
    "SendTaskFailure": send_task_failure,
    "SendTaskHeartbeat": send_task_heartbeat,
    "SendTaskSuccess": send_task_success,
}
