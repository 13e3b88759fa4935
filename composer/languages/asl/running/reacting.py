"""What comes back to a state: results, failures, the ends of branches, and what is done about errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....freezing import changed
from ....machine import history
from ....machine.cursor import count_from_now
from ....machine.fiber import Sleeping, quiet
from ....values import Failure
from ..resources import is_function
from ..state_errors import HEARTBEAT_TIMEOUT, RUNTIME, TIMEOUT, StatesError, failed
from . import entries
from .children import WRITE, transformed, writing
from .compiled import first_covering, state_of
from .exits import leave_to
from .flow import error_to_output, limited, too_large
from .frames import InState
from .history import fault, told
from .instructions import LeaveState
from .lambda_invoke import LATEST, Answered, request_id
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
from .view import View, machine_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....machine.cursor import Cursor, Reaction, Told
    from ....machine.events import Accepted, Completed, Failed, Joined
    from ....machine.fiber import Cause, Deadline, Joining
    from ....values import JSON, Outcome
    from .compiled import State
    from .tasks import Resource


def _task(cursor: Cursor) -> tuple[State, Resource]:
    state = _state(cursor, cursor.innermost(InState))
    return state, resource_of(state.doc["Resource"])


def _state(cursor: Cursor, frame: InState) -> State:
    return state_of(cursor.instructions[frame.at].state)  # type: ignore[union-attr]


# --- tasks -------------------------------------------------------------------------------------


def accepted(cursor: Cursor, event: Accepted) -> None:
    """The task has been taken in: by what it calls, or by a worker."""
    _, resource = _task(cursor)
    ticket = event.ticket if isinstance(event.ticket, dict) else {}
    if event.polled and not resource.waited_for:  # an action elsewhere: nothing that AWS would tell
        cursor.note(history.STEP_ACCEPTED)
    elif resource.kind == "Activity":
        worker = {"workerName": ticket["worker"]} if ticket.get("worker") else {}
        cursor.note(history.STEP_ACCEPTED, {}, events=[("ActivityStarted", worker)])
        count_from_now(cursor, lambda deadline: deadline.once_taken)
    else:
        told_so: Told = ("TaskSubmitted", resource.about)
        result = ticket.get("result")
        if not unawaited(resource, cursor.value):
            result = submitted(resource, result, _answered(cursor))
        cursor.note(history.STEP_ACCEPTED, {}, result, [told_so])


def completed(cursor: Cursor, event: Completed) -> Failure | None:
    """The task has a result."""
    detail: dict[str, JSON] = {} if event.remote is None else {"remote": event.remote}
    of = _state(cursor, cursor.innermost(InState))
    if of.type == "Map":
        written = isinstance(cursor.instructions[cursor.pc], LeaveState)
        events = _succeeded(of) if written else []
        cursor.note(history.STEP_SUCCEEDED, detail, event.value, events)
        cursor.value = event.value
        return None
    _, resource = _task(cursor)
    result = event.value
    if not unawaited(resource, cursor.value):
        result = result_of(resource, result, _answered(cursor, event.log))
    try:
        limited(result, resource.named)
    except StatesError as error:
        return _failed(cursor, resource, failed(error.name, error.cause), {})
    if result is not event.value:  # so that a redrive does not wrap it again
        detail["payload"] = True
    succeeded: Told = (f"{resource.kind}Succeeded", resource.about)
    cursor.note(history.STEP_SUCCEEDED, detail, result, [succeeded])
    cursor.value = result
    return None


def _answered(cursor: Cursor, log: str | None = None) -> Answered:
    return Answered(cursor.activation_of(cursor.turn), cursor.now_ms, log)


def task_failed(cursor: Cursor, event: Failed) -> Failure:
    """The task has failed, or never ran."""
    if _state(cursor, cursor.innermost(InState)).type == "Map":
        return _run_failed(cursor, event.failure)
    _, resource = _task(cursor)
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
    """What Lambda says of a function that is not there: that of its newest version, if none is named."""
    given = resource.text if resource.kind == "LambdaFunction" else cursor.value["FunctionName"]
    arn = given
    if not is_function(given):
        place = machine_of(cursor).context.get("StateMachine", {}).get("Id", "").split(":")
        arn = ":".join(["arn:aws:lambda", *place[3:5], "function", given])
    if not arn.rpartition(":function:")[2].count(":"):
        arn = f"{arn}:{LATEST}"
    request = request_id(cursor.activation_of(cursor.turn))
    return f"Function not found: {arn} (Service: Lambda, Status Code: 404, Request ID: {request})"


def _run_failed(cursor: Cursor, failure: Failure) -> Failure:
    """The items could not be read, or the results not be written."""
    told_so = failed_as(failure)
    event: Told = ("MapRunFailed", told(told_so))
    cursor.note(history.STEP_FAILED, {"code": failure.code}, failure.error, [event])
    return told_so


def _failed(
    cursor: Cursor, resource: Resource, failure: Failure, detail: dict[str, JSON]
) -> Failure:
    how = "TimedOut" if failure.code == TIMEOUT else "Failed"
    ended: Told = (f"{resource.kind}{how}", {**resource.about, **told(failure)})
    cursor.note(history.STEP_FAILED, {"code": failure.code, **detail}, failure.error, [ended])
    return failure


def timed_out(cursor: Cursor, deadline: Deadline) -> Failure:
    """A deadline has passed: a task's, or the machine's own."""
    if cursor.innermost(InState) is None:
        return failed(TIMEOUT, None, Status="TIMED_OUT")
    _, resource = _task(cursor)
    late: Told = (f"{resource.kind}TimedOut", {**resource.about, "error": TIMEOUT})
    cursor.note(entries.STATE_FAILED, {"timeout_ms": deadline.timeout_ms}, events=[late])
    failure = failed(TIMEOUT, None)  # so AWS calls a missed heartbeat, too (recorded)
    return Failure(HEARTBEAT_TIMEOUT, failure.error) if deadline.beats else failure


# --- branches ----------------------------------------------------------------------------------


def joined(cursor: Cursor, event: Joined, wait: Joining) -> Reaction:
    """The branches of a Parallel, or the iterations of a Map, have ended."""
    if not cursor.count_steps(event.steps):
        return None
    cause: Reaction = wait.cause
    if cause is None and isinstance(event.outcome, Failure):
        _branch_failed(cursor, event.outcome)
        cause = event.outcome
    elif cause is None:
        cause = _succeeded_all(cursor, event.outcome.value)
    if cause is not None:
        cursor.origin = cursor.turn
    return cause


def _succeeded_all(cursor: Cursor, results: JSON) -> Failure | None:
    frame = cursor.innermost(InState)
    state = _state(cursor, frame)
    _behind_all(cursor)
    if "ResultWriter" in state.doc or _has_failed(results.get("outcomes", ())):
        return _written(cursor, state, frame, results["outcomes"])
    before = cursor.event
    cursor.note(history.JOINED, {}, events=_succeeded(state))
    cursor.event = before  # what the exit comes after, as AWS has it
    cursor.value = results["value"]
    try:
        limited(cursor.value, state.name)
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    return None


def _succeeded(state: State) -> list[Told]:
    run: list[Told] = [("MapRunSucceeded", {})] if _is_run(state) else []
    return [*run, (f"{state.type}StateSucceeded", {})]


def _has_failed(outcomes: Iterable[Outcome]) -> bool:
    return any(isinstance(outcome, Failure) for outcome in outcomes)


def _written(
    cursor: Cursor, state: State, frame: InState, outcomes: list[Outcome]
) -> Failure | None:
    """The results are written; or without a place to write to only put into their form."""
    view = View(cursor, state, frame)
    try:
        if "Resource" in state.doc.get("ResultWriter", {}):
            asked = writing(view, cursor, frame, outcomes)
            cursor.value = {"action": WRITE, "params": asked}
            cursor.note(history.JOINED)
        else:
            cursor.value = transformed(view, cursor, frame, outcomes)
            cursor.note(history.JOINED, {}, events=_succeeded(state))
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    return None


def _branch_failed(cursor: Cursor, failure: Failure) -> None:
    """A branch has failed, and the others have ended."""
    state = _state(cursor, cursor.innermost(InState))
    _behind_all(cursor)
    events: list[Told] = [("MapRunFailed", told(failure))] if _is_run(state) else []
    cursor.note(history.JOINED, {"code": failure.code}, events=events)


def _behind_all(cursor: Cursor) -> None:
    """What comes next comes after all that its branches have told; a child's are not counted."""
    if not quiet(cursor.frames):
        cursor.event = cursor.events


def _is_run(state: State) -> bool:
    return state.type == "Map" and state.distributed


# --- errors ------------------------------------------------------------------------------------


def recover(cursor: Cursor, frame: InState, cause: Cause) -> Cause | None:
    """Has a state whose frame has just been popped tried again, or its error caught.

    Returns None when it goes on; else why unwinding goes on.
    """
    return _recover(cursor, frame, cause) if isinstance(cause, Failure) else cause


def _recover(cursor: Cursor, frame: InState, failure: Failure) -> Failure | None:
    state = _state(cursor, frame)
    error: dict[str, JSON] = failure.error if isinstance(failure.error, dict) else {}
    name = error.get("Error") or ""
    if failure.code == HEARTBEAT_TIMEOUT:  # Retry and Catch may name it so
        name = HEARTBEAT_TIMEOUT
    at = first_covering(state.retriers, name)
    if at is not None and frame.retried[at] < state.retriers[at].attempts:
        _retry(cursor, frame, at, state)
        return None
    if state.type in ("Map", "Parallel") and name != RUNTIME:
        cursor.note(
            entries.STATE_FAILED, {"state": state.name}, events=[(f"{state.type}StateFailed", {})]
        )
    at = first_covering(state.catchers, name)
    return failure if at is None else _catch(cursor, frame, at, failure)


def _retry(cursor: Cursor, frame: InState, at: int, state: State) -> None:
    tried = frame.retried[at]
    view = View(cursor, state, frame)
    wait_ms = state.retriers[at].delay_ms(tried, view.chance.number)
    cursor.note(
        history.RETRY_SCHEDULED,
        {"attempt": sum(frame.retried) + 2, "delay_ms": wait_ms, "code": ""},
    )
    retried = (*frame.retried[:at], tried + 1, *frame.retried[at + 1 :])
    cursor.push(changed(frame, retried=retried))
    cursor.value, cursor.pc, cursor.origin = frame.value, frame.at + 1, None
    if cursor.count_steps() and wait_ms:
        cursor.turn += 1
        cursor.wait = Sleeping(cursor.now_ms + wait_ms)


def _catch(cursor: Cursor, frame: InState, at: int, failure: Failure) -> Failure | None:
    state = _state(cursor, frame)
    catcher = state.catchers[at]
    view = View(cursor, state, frame)
    error = {"Error": "", "Cause": "", **failure.error}
    try:
        output = error_to_output(view, catcher, at, error)
    except StatesError as flaw:
        return fault(cursor, state, frame.event, flaw)
    cursor.origin = None
    targets = cursor.instructions[frame.at].targets  # type: ignore[union-attr]
    leave_to(cursor, state, output, targets[catcher.next])
    return None
