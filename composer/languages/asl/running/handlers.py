"""Retry and Catch: a state that failed is retried, or its error is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....freezing import changed
from ....machine import history
from ....machine.waits import Sleeping
from ....values import Failure
from ..state_errors import HEARTBEAT_TIMEOUT, RUNTIME, StatesError, details_of
from . import entries
from .exits import leave_to
from .flow import error_to_output
from .history import fault
from .retriers import first_covering
from .view import View, entry_of, state_in

if TYPE_CHECKING:
    from ....machine.cursor import Cursor
    from ....machine.unwind_reasons import UnwindReason
    from ..state_errors import Details
    from .compiled import State
    from .frames import InState


def retry_or_catch(cursor: Cursor, frame: InState, reason: UnwindReason) -> UnwindReason | None:
    """Retries a state whose frame has just been popped, or catches its error.

    Returns None if the fiber goes on, else why unwinding goes on.
    """
    return _handled(cursor, frame, reason) if isinstance(reason, Failure) else reason


def _handled(cursor: Cursor, frame: InState, failure: Failure) -> Failure | None:
    state = state_in(cursor, frame)
    name: str = details_of(failure).get("Error") or ""
    if failure.code == HEARTBEAT_TIMEOUT:  # Retry and Catch may name it like this
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
    delay_ms = state.retriers[at].backoff_ms(tried, view.chance.number)
    cursor.note(
        history.RETRY_SCHEDULED,
        {"attempt": sum(frame.retried) + 2, "delay_ms": delay_ms, "code": ""},
    )
    retried = (*frame.retried[:at], tried + 1, *frame.retried[at + 1 :])
    cursor.push(changed(frame, retried=retried))
    cursor.value, cursor.pc, cursor.origin = frame.value, frame.at + 1, None
    if cursor.count_steps() and delay_ms:
        cursor.turn += 1
        cursor.wait = Sleeping(cursor.now_ms + delay_ms)


def _catch(cursor: Cursor, frame: InState, at: int, failure: Failure) -> Failure | None:
    state = state_in(cursor, frame)
    catcher = state.catchers[at]
    view = View(cursor, state, frame)
    error: Details = {"Error": "", "Cause": "", **details_of(failure)}
    try:
        output = error_to_output(view, catcher, at, error)
    except StatesError as flaw:
        return fault(cursor, state, frame.event, flaw)
    cursor.origin = None
    leave_to(cursor, state, output, entry_of(cursor, frame).targets[catcher.next])
    return None
