"""The end of a state's branches: those of a Parallel, the iterations of a Map, and the results of a Map run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ....machine import history
from ....machine.frames import quiet
from ....values import Failure
from ..maps.work import WRITE, ServerRequest
from ..state_errors import StatesError
from .children import transformed, write_request
from .flow import limited
from .frames import InState
from .history import error_details, fault
from .view import View, state_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....machine.cursor import Cursor, NarratedEvent, Reaction
    from ....machine.events import Joined
    from ....machine.waits import Joining
    from ....values import JSON, Outcome
    from .compiled import State


def joined(cursor: Cursor, event: Joined, wait: Joining) -> Reaction:
    """The branches of a Parallel, or the iterations of a Map, have ended."""
    if not cursor.count_steps(event.steps):
        return None
    reason: Reaction = wait.unwind_reason
    if reason is None and isinstance(event.outcome, Failure):
        _branch_failed(cursor, event.outcome)
        reason = event.outcome
    elif reason is None:
        gathered = cast("dict[str, JSON]", event.outcome.value)  # as the machine makes it at a join
        reason = _succeeded_all(cursor, gathered["value"], event.members)
    if reason is not None:
        cursor.origin = cursor.turn
    return reason


def _succeeded_all(cursor: Cursor, results: JSON, outcomes: Sequence[Outcome]) -> Failure | None:
    frame = cursor.innermost(InState)
    state = state_in(cursor, frame)
    _follow_all(cursor)
    if "ResultWriter" in state.doc or any(isinstance(each, Failure) for each in outcomes):
        return _written(cursor, state, frame, outcomes)
    before = cursor.event
    cursor.note(history.JOINED, {}, events=succeeded(state))
    cursor.event = before  # the exit follows this event, as on AWS
    cursor.value = results
    try:
        limited(cursor.value, state.name)
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    return None


def succeeded(state: State) -> list[NarratedEvent]:
    """The events of a Map or Parallel that has succeeded."""
    run: list[NarratedEvent] = [("MapRunSucceeded", {})] if _is_run(state) else []
    return [*run, (f"{state.type}StateSucceeded", {})]


def _written(
    cursor: Cursor, state: State, frame: InState, outcomes: Sequence[Outcome]
) -> Failure | None:
    """Asks for the results to be written; without a place to write to, the value becomes the results."""
    view = View(cursor, state, frame)
    try:
        if "Resource" in state.doc.get("ResultWriter", {}):
            request = write_request(view, cursor, frame, outcomes)
            cursor.value = ServerRequest(WRITE, request.to_json()).to_json()
            cursor.note(history.JOINED)
        else:
            cursor.value = transformed(view, cursor, frame, outcomes)
            cursor.note(history.JOINED, {}, events=succeeded(state))
    except StatesError as error:
        return fault(cursor, state, frame.event, error)
    return None


def _branch_failed(cursor: Cursor, failure: Failure) -> None:
    """A branch has failed, and the others have ended."""
    state = state_in(cursor, cursor.innermost(InState))
    _follow_all(cursor)
    events: list[NarratedEvent] = (
        [("MapRunFailed", error_details(failure))] if _is_run(state) else []
    )
    cursor.note(history.JOINED, {"code": failure.code}, events=events)


def _follow_all(cursor: Cursor) -> None:
    """The next event follows all events of the branches; those of child executions are not counted."""
    if not quiet(cursor.frames):
        cursor.event = cursor.events


def _is_run(state: State) -> bool:
    return state.type == "Map" and state.distributed
