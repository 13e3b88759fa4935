"""AWS' events: the entries of a machine's history, numbered as it runs.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, cast

from ....machine.frames import Deadline, quiet
from ....values import CANCELLED, Success
from ..jsonpath.texts import json_text
from ..state_errors import QUERY_EVALUATION_ERROR, RUNTIME, failed
from . import entries
from .compiled import state_of
from .evaluation import MAX_CAUSE
from .frames import InState
from .tasks import resource_of
from .view import machine_in, machine_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ....machine.cursor import Cursor, NarratedEvent
    from ....machine.frames import Frame
    from ....values import JSON, Failure, Outcome
    from ..state_errors import StatesError
    from .compiled import State

REGION = "us-east-1"  # of what has no ARN, as a state that is tried alone
FIRST_STATE = 2  # the number of the first event of a state: before it stands that of the execution


def entered(cursor: Cursor, state: State) -> Failure | None:
    """Notes that a state is entered; the failure of an execution that has come too far."""
    most = cursor.limits.events
    events = cursor.event if quiet(cursor.frames) else cursor.events  # a child has its own
    if most is not None and events >= most:
        text = f"The execution reached the maximum number of history events ({most})."
        return failed(RUNTIME, text)
    event = (f"{state.type}StateEntered", {"name": state.name})
    cursor.note(entries.STATE_ENTERED, {"state": state.name}, cursor.value, events=[event])
    return None


def exited(cursor: Cursor, state: State, assigned: dict[str, JSON]) -> None:
    """Notes that a state is left, with the value for its output, and what it has assigned."""
    detail: dict[str, JSON] = {"state": state.name}
    about: dict[str, JSON] = {"name": state.name}
    if assigned:
        about["assignedVariables"] = {name: json_text(value) for name, value in assigned.items()}
        about["assignedVariablesDetails"] = {"truncated": False}
    event = (f"{state.type}StateExited", about)
    cursor.note(entries.STATE_EXITED, detail, cursor.value, events=[event])


def fault(cursor: Cursor, state: State, at_event: int, error: StatesError) -> Failure:
    """The failure that an evaluation in a state is; that of JSONata is an event of its own."""
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
    """The events that the task of the innermost state is asked for, and has begun; none of another state."""
    state = state_of(cursor.instructions[cursor.innermost(InState).at].state)
    if state.type == "Map":  # what reads its items, or writes its results, is no event
        return []
    resource = resource_of(state.doc["Resource"])
    about: dict[str, JSON] = dict(resource.about)
    if resource.kind == "Task":
        about["region"] = _region(cursor)
    else:
        about["resource"] = resource.text
    own = takewhile(lambda frame: isinstance(frame, Deadline), reversed(cursor.frames))
    for frame in cast("Iterable[Deadline]", own):
        name = "heartbeatInSeconds" if frame.beats else "timeoutInSeconds"
        about[name] = frame.timeout_ms // 1000
    asked: NarratedEvent = (f"{resource.kind}Scheduled", about)
    if resource.kind == "Activity":  # it starts when a worker takes it
        return [asked]
    return [asked, (f"{resource.kind}Started", resource.about)]


def _region(cursor: Cursor) -> str:
    """Where the execution is, as its ARN says."""
    arn = machine_of(cursor).context.get("Execution", {}).get("Id", "").split(":")
    return arn[3] if len(arn) > 3 else REGION  # noqa: PLR2004  arn:aws:states:REGION


def about(frames: Sequence[Frame]) -> dict[str, JSON]:
    """What must be known of an execution to take it up again from its history: its context, but for its input."""
    machine = machine_in(frames)
    if machine is None:
        return {}
    execution = {**machine.context.get("Execution", {})}
    execution.pop("Input", None)
    return {"context": {**machine.context, "Execution": execution}}


def started(frames: Sequence[Frame]) -> dict[str, JSON]:
    """What the event of an execution's start tells, beside its input."""
    machine = machine_in(frames)
    role = None if machine is None else machine.context.get("Execution", {}).get("RoleArn")
    return {} if role is None else {"roleArn": role}


def ended(outcome: Outcome) -> NarratedEvent:
    """The event of an execution's end."""
    if isinstance(outcome, Success):
        return "ExecutionSucceeded", {}
    if outcome.code == CANCELLED:
        return "ExecutionAborted", told(outcome)
    late = isinstance(outcome.error, dict) and outcome.error.get("Status") == "TIMED_OUT"
    return "ExecutionTimedOut" if late else "ExecutionFailed", told(outcome)


def told(failure: Failure) -> dict[str, JSON]:
    """An error as events' details have it."""
    error = failure.error if isinstance(failure.error, dict) else {}
    named = {"error": error.get("Error"), "cause": error.get("Cause")}
    return {name: text for name, text in named.items() if text is not None}
