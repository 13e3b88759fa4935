"""AWS' events: the entries of a machine's history, numbered as it runs.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, cast

from ....machine.frames import Deadline, quiet
from ....values import CANCELLED, Success
from ..jsonpath.texts import json_text
from ..state_errors import QUERY_EVALUATION_ERROR, RUNTIME, details_of, failed
from . import entries
from .evaluation import MAX_CAUSE
from .frames import InState
from .tasks import resource_of
from .view import machine_in, machine_of, state_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....machine.cursor import Cursor, NarratedEvent
    from ....machine.frames import Frame
    from ....values import JSON, Failure, Outcome
    from ..state_errors import StatesError
    from .compiled import State

REGION = "us-east-1"  # of a state that is tested alone: it has no ARN
FIRST_STATE = 2  # the number of the first event of a state, after that of the execution


def entered(cursor: Cursor, state: State) -> Failure | None:
    """Writes that a state is entered; returns a failure if the history has too many events."""
    most = cursor.limits.events
    events = cursor.event if quiet(cursor.frames) else cursor.events  # a child has its own
    if most is not None and events >= most:
        text = f"The execution reached the maximum number of history events ({most})."
        return failed(RUNTIME, text)
    event: NarratedEvent = (f"{state.type}StateEntered", {"name": state.name})
    cursor.note(entries.STATE_ENTERED, {"state": state.name}, cursor.value, events=[event])
    return None


def exited(cursor: Cursor, state: State, assigned: dict[str, JSON]) -> None:
    """Writes that a state is left, with the value as its output, and the variables that it assigned."""
    detail: dict[str, JSON] = {"state": state.name}
    about: dict[str, JSON] = {"name": state.name}
    if assigned:
        about["assignedVariables"] = {name: json_text(value) for name, value in assigned.items()}
        about["assignedVariablesDetails"] = {"truncated": False}
    event: NarratedEvent = (f"{state.type}StateExited", about)
    cursor.note(entries.STATE_EXITED, detail, cursor.value, events=[event])


def fault(cursor: Cursor, state: State, at_event: int, error: StatesError) -> Failure:
    """The failure of a state whose evaluation failed; a failure of JSONata has an event of its own."""
    where = f"the state '{state.name}' (entered at the event id #{at_event})"
    cause = f"An error occurred while executing {where}. {error.cause}"[:MAX_CAUSE]
    if error.name == QUERY_EVALUATION_ERROR:
        about: dict[str, JSON] = {"error": error.name, "cause": cause, "state": state.name}
        if error.location is not None:
            about["location"] = error.location
        cursor.event = at_event - 1 if at_event > FIRST_STATE else 0  # so AWS has it
        cursor.note(entries.EVALUATION_FAILED, {}, events=[("EvaluationFailed", about)])
    return failed(error.name, cause)


def scheduled(cursor: Cursor) -> list[NarratedEvent]:
    """The events of the innermost state's task: it is scheduled, and has started. A Map has none."""
    state = state_in(cursor, cursor.innermost(InState))
    if state.type == "Map":  # to read its items or write its results is not an event
        return []
    resource = resource_of(state.doc["Resource"])
    about: dict[str, JSON] = dict(resource.details)
    if resource.kind == "Task":
        about["region"] = _region(cursor)
    else:
        about["resource"] = resource.text
    own = takewhile(lambda frame: isinstance(frame, Deadline), reversed(cursor.frames))
    for frame in cast("Iterable[Deadline]", own):
        name = "heartbeatInSeconds" if frame.beats else "timeoutInSeconds"
        about[name] = frame.timeout_ms // 1000
    scheduling: NarratedEvent = (f"{resource.kind}Scheduled", about)
    if resource.kind == "Activity":  # it starts when a worker takes it
        return [scheduling]
    return [scheduling, (f"{resource.kind}Started", resource.details)]


def _region(cursor: Cursor) -> str:
    """The region in the execution's ARN."""
    arn = machine_of(cursor).arn.split(":")
    return arn[3] if len(arn) > 3 else REGION  # noqa: PLR2004  arn:aws:states:REGION


def about(frames: Sequence[Frame]) -> dict[str, JSON]:
    """The context object without the input: a redrive needs it to begin again from the history."""
    machine = machine_in(frames)
    if machine is None:
        return {}
    execution = {name: part for name, part in machine.execution.items() if name != "Input"}
    return {"context": {**machine.context, "Execution": execution}}


def started(frames: Sequence[Frame]) -> dict[str, JSON]:
    """The details of the event of an execution's start, beside its input."""
    machine = machine_in(frames)
    role = None if machine is None else machine.execution.get("RoleArn")
    return {} if role is None else {"roleArn": role}


def ended(outcome: Outcome) -> NarratedEvent:
    """The event of an execution's end."""
    if isinstance(outcome, Success):
        return "ExecutionSucceeded", {}
    if outcome.code == CANCELLED:
        return "ExecutionAborted", error_details(outcome)
    late = details_of(outcome).get("Status") == "TIMED_OUT"
    return "ExecutionTimedOut" if late else "ExecutionFailed", error_details(outcome)


def error_details(failure: Failure) -> dict[str, JSON]:
    """An error's name and cause, as the details of events have them."""
    error = details_of(failure)
    named = {"error": error.get("Error"), "cause": error.get("Cause")}
    return {name: text for name, text in named.items() if text is not None}
