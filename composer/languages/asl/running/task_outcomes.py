"""The outcomes of a state's task: it is accepted, completes, fails, or misses a deadline.

The requests of a distributed Map, to read its items and to write its results, end here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....machine import history
from ....machine.cursor import count_from_now
from ....values import Failure
from ..resources import is_function
from ..state_errors import HEARTBEAT_TIMEOUT, TIMEOUT, StatesError, failed
from . import entries
from .branches import succeeded
from .flow import limited, too_large
from .frames import InState
from .history import error_details
from .instructions import LeaveState
from .lambda_invoke import LATEST, Response, request_id
from .tasks import (
    NO_FUNCTION,
    TOO_LARGE,
    failed_as,
    failure_of,
    resource_of,
    result_of,
    submitted,
    unawaited,
)
from .view import machine_of, state_in

if TYPE_CHECKING:
    from ....machine.cursor import Cursor, NarratedEvent
    from ....machine.events import Accepted, Completed, Failed
    from ....machine.frames import Deadline
    from ....values import JSON
    from .tasks import Resource


def _resource(cursor: Cursor) -> Resource:
    return resource_of(state_in(cursor, cursor.innermost(InState)).doc["Resource"])


def accepted(cursor: Cursor, event: Accepted) -> None:
    """A service or a worker has accepted the task."""
    resource = _resource(cursor)
    ticket = event.ticket if isinstance(event.ticket, dict) else {}
    if event.polled and not resource.waited_for:  # an action elsewhere: AWS has no event for it
        cursor.note(history.STEP_ACCEPTED)
    elif resource.kind == "Activity":
        worker = {"workerName": ticket["worker"]} if ticket.get("worker") else {}
        cursor.note(history.STEP_ACCEPTED, {}, events=[("ActivityStarted", worker)])
        count_from_now(cursor, lambda deadline: deadline.once_taken)
    else:
        submission: NarratedEvent = ("TaskSubmitted", resource.details)
        result = ticket.get("result")
        if not unawaited(resource, cursor.value):
            result = submitted(resource, result, _response(cursor))
        cursor.note(history.STEP_ACCEPTED, {}, result, [submission])


def completed(cursor: Cursor, event: Completed) -> Failure | None:
    """The task has a result."""
    detail: dict[str, JSON] = {} if event.remote is None else {"remote": event.remote}
    state = state_in(cursor, cursor.innermost(InState))
    if state.type == "Map":
        written = isinstance(cursor.instructions[cursor.pc], LeaveState)
        events = succeeded(state) if written else []
        cursor.note(history.STEP_SUCCEEDED, detail, event.value, events)
        cursor.value = event.value
        return None
    resource = _resource(cursor)
    result = event.value
    if not unawaited(resource, cursor.value):
        result = result_of(resource, result, _response(cursor, event.log))
    try:
        limited(result, resource.named)
    except StatesError as error:
        return _failed(cursor, resource, failed(error.name, error.cause), {})
    if result is not event.value:  # a redrive does not wrap it again
        detail["payload"] = True
    success: NarratedEvent = (f"{resource.kind}Succeeded", resource.details)
    cursor.note(history.STEP_SUCCEEDED, detail, result, [success])
    cursor.value = result
    return None


def _response(cursor: Cursor, log: str | None = None) -> Response:
    return Response(cursor.activation_of(cursor.turn), cursor.now_ms, log)


def failed_task(cursor: Cursor, event: Failed) -> Failure:
    """The task has failed, or never ran."""
    if state_in(cursor, cursor.innermost(InState)).type == "Map":
        return _run_failed(cursor, event.failure)
    resource = _resource(cursor)
    detail: dict[str, JSON] = (
        {} if event.remote is None else {"ran": event.may_have_run, "remote": event.remote}
    )
    failure = failure_of(resource, event.failure)
    if event.failure.code == TOO_LARGE:
        exceeded = too_large(resource.named)
        failure = failed(exceeded.name, exceeded.cause)
    if failure.code == NO_FUNCTION and event.remote is None:  # there is no action of this name
        failure = failed(NO_FUNCTION, _missing(cursor, resource))
    return _failed(cursor, resource, failure, detail)


def _missing(cursor: Cursor, resource: Resource) -> str:
    """Lambda's message about a function that does not exist; without a version it names the newest."""
    given: str = resource.text
    if resource.kind != "LambdaFunction":
        parameters: Any = cursor.value  # an object with this field: `target` has checked it
        given = parameters["FunctionName"]
    arn = given
    if not is_function(given):
        place = machine_of(cursor).machine_arn.split(":")
        arn = ":".join(["arn:aws:lambda", *place[3:5], "function", given])
    if not arn.rpartition(":function:")[2].count(":"):
        arn = f"{arn}:{LATEST}"
    request = request_id(cursor.activation_of(cursor.turn))
    return f"Function not found: {arn} (Service: Lambda, Status Code: 404, Request ID: {request})"


def _run_failed(cursor: Cursor, failure: Failure) -> Failure:
    """The items could not be read, or the results could not be written."""
    named = failed_as(failure)
    event: NarratedEvent = ("MapRunFailed", error_details(named))
    cursor.note(history.STEP_FAILED, {"code": failure.code}, failure.error, [event])
    return named


def _failed(
    cursor: Cursor, resource: Resource, failure: Failure, detail: dict[str, JSON]
) -> Failure:
    how = "TimedOut" if failure.code == TIMEOUT else "Failed"
    ended: NarratedEvent = (f"{resource.kind}{how}", {**resource.details, **error_details(failure)})
    cursor.note(history.STEP_FAILED, {"code": failure.code, **detail}, failure.error, [ended])
    return failure


def timed_out(cursor: Cursor, deadline: Deadline) -> Failure:
    """A deadline has passed: a task's, or the machine's own."""
    if cursor.innermost(InState) is None:
        return failed(TIMEOUT, None, Status="TIMED_OUT")
    resource = _resource(cursor)
    late: NarratedEvent = (f"{resource.kind}TimedOut", {**resource.details, "error": TIMEOUT})
    cursor.note(entries.STATE_FAILED, {"timeout_ms": deadline.timeout_ms}, events=[late])
    failure = failed(TIMEOUT, None)  # AWS names a missed heartbeat like this, too (recorded)
    return Failure(HEARTBEAT_TIMEOUT, failure.error) if deadline.beats else failure
