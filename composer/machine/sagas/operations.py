"""What the instructions of sagas do: see `operations`, and `compensations` for what they remember."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...freezing import changed
from ...values import Failure
from .. import history, instructions
from ..causes import Cancellation
from ..transactions.coordinator import NEVER_RAN, UNDISTURBED, Coordinating
from .compensations import (
    LOST,
    NOWHERE,
    REVERT_ALL,
    UNKNOWN,
    Compensating,
    Compensations,
    Doing,
    Doubt,
    Together,
    Undo,
    doubtful,
    joined,
    log_from_json,
    log_to_json,
    logged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..cursor import Cursor, Reaction
    from ..events import Resolved
    from ..fiber import Cause, Frame
    from .compensations import Log


# --- what the machine tells ----------------------------------------------------------------------


def doubt(cursor: Cursor) -> None:
    """Nobody knows whether what is under way is done: its step counts as done when it is undone."""
    frame = cursor.innermost(Doing, Compensations, Compensating, Coordinating)
    if isinstance(frame, Doing):
        cursor.replace(frame, changed(frame, doubt=True))
    elif isinstance(frame, Compensations) and frame.key is not None:
        cursor.replace(frame, logged(frame, (Doubt(),)))


def settled(cursor: Cursor, failed: Failure) -> Failure:
    """That it has not run this time does not tell whether it has before."""
    frame = cursor.innermost(Doing, Compensations, Compensating, Coordinating)
    if isinstance(frame, Doing) and frame.doubt and failed.code in NEVER_RAN:
        return Failure(LOST, failed.error)
    return failed


def in_a_step(cursor: Cursor) -> bool:
    """Whether a step of a saga is what the fiber is at, and no saga of its own."""
    return isinstance(cursor.innermost(Doing, Compensations), Doing)


def is_unknown(failed: Failure) -> bool:
    """Whether such a failure leaves open what has been done."""
    return failed.code in UNKNOWN


def take_logs(cursor: Cursor, logs: tuple[Log, ...]) -> None:
    """What branches have done is done by whoever forked them."""
    log = joined(logs)
    if not log:
        return
    frame = cursor.innermost(Doing, Compensations)
    if isinstance(frame, Doing):
        cursor.replace(frame, changed(frame, doubt=frame.doubt or doubtful(log)))
    else:
        cursor.replace(frame, logged(frame, log))


def resolve(cursor: Cursor, event: Resolved) -> bool:
    """What it is stuck at counts as done: an undo, or a step after the pivot."""
    depth = max(
        at for at, frame in enumerate(cursor.frames) if isinstance(frame, (Compensating, Doing))
    )
    frame = cursor.frames[depth]
    cursor.frames = cursor.frames[: depth + 1]
    cursor.note(history.RESOLVED, {"how": event.how, **(event.detail or {})}, event.value)
    cursor.origin = None
    if isinstance(frame, Compensating):
        cursor.replace(frame, changed(frame, undoing=None))
        cursor.pc = frame.to
    else:
        assert isinstance(frame, Doing)  # noqa: S101  one of the two
        cursor.value, cursor.pc = {} if event.value is None else event.value, frame.done
    return True


def left_undone(cursor: Cursor, frame: Doing, cause: Cause) -> None:
    """A step has not come to its end: if it may have done something, that is to be undone."""
    if frame.undo is None or not (frame.doubt or frame.always):
        return
    saga = cursor.innermost(Compensations)
    value = {"input": frame.value}
    if isinstance(cause, Failure):
        value["error"] = cause.error
    cursor.replace(saga, logged(saga, (Undo(frame.undo, frame.path, value, frame.key),)))


def compensate(cursor: Cursor, frame: Compensations, cause: Cause) -> bool:
    """A saga has not come to its end. Whether it is undone now."""
    if frame.to == NOWHERE:
        cursor.log = frame.log
        return False
    if frame.passed:
        return False
    if isinstance(cause, Failure):
        cause = frame.cause or (Failure(REVERT_ALL, cause.error) if frame.all else cause)
    cursor.push(Compensating(frame.to, frame.log, cause))
    cursor.pc = frame.to
    cursor.note(history.COMPENSATION_STARTED, {"steps": len(frame.log)})
    return True


def undisturbed(frame: Frame) -> bool:
    """Whether what stops it must wait.

    So it is for a saga that goes forward only, or undoes, or may do either; and for a transaction
    that may have been decided.
    """
    return (
        isinstance(frame, Compensating)
        or (isinstance(frame, Coordinating) and frame.phase in UNDISTURBED)
        or (isinstance(frame, Doing) and frame.pivot)
        or (isinstance(frame, Compensations) and frame.passed)
    )


def branch_frames(frames: tuple[Frame, ...], key: str | None) -> tuple[Frame, ...]:
    """What a new fiber keeps a log in, if it is a branch of a saga; `key` if it is one of a step."""
    for frame in reversed(frames):
        if isinstance(frame, Compensating):
            return ()
        if isinstance(frame, Doing):
            return (Compensations(NOWHERE, key=key),)
        if isinstance(frame, Compensations):
            return (Compensations(NOWHERE, passed=frame.passed, key=key if frame.key else None),)
    return ()


# --- instructions --------------------------------------------------------------------------------


def _enter(cursor: Cursor, i: instructions.Enter) -> Reaction:
    cursor.push(Compensations(i.to, all=i.all))
    return None


def _begin(cursor: Cursor, i: instructions.Begin) -> Reaction:
    key = f"{cursor.execution}/{cursor.id}/{cursor.turn}"
    cursor.push(Doing(i.undo, i.done, i.path, cursor.value, key, cursor.turn, i.always, i.pivot))
    return None


def _done(cursor: Cursor, _: instructions.Done) -> Reaction:
    frame = cursor.pop()
    assert isinstance(frame, Doing)  # noqa: S101  compiled so
    saga = cursor.innermost(Compensations)
    if frame.pivot:
        cursor.replace(saga, changed(saga, log=(), passed=True))
        cursor.note(history.PIVOT_PASSED, {"path": frame.path})
    elif frame.undo is not None and not saga.passed:
        value = {"input": frame.value, "result": cursor.value}
        undo = Undo(frame.undo, frame.path, value, frame.key)
        cursor.replace(saga, logged(saga, (undo,)))
    return None


def _complete(cursor: Cursor, _: instructions.Complete) -> Reaction:
    frame = cursor.pop()
    assert isinstance(frame, Compensations)  # noqa: S101  compiled so
    outer = cursor.innermost(Doing, Compensations, Compensating)
    if isinstance(outer, Compensations) and outer.to != NOWHERE and frame.passed:
        cursor.replace(outer, changed(outer, log=(), passed=True))
    elif isinstance(outer, Compensations) and not outer.passed and outer.key is None:
        cursor.replace(outer, logged(outer, frame.log))
    if not isinstance(frame.cause, Cancellation):
        return None
    doubt(cursor)  # if it is a step's it is done, and to be undone
    return frame.cause


def _compensate(cursor: Cursor, i: instructions.Compensate) -> Reaction:
    frame = cursor.frames[-1]
    assert isinstance(frame, Compensating)  # noqa: S101  compiled so
    if not frame.left:
        cursor.pop()
        if frame.cause is None:
            cursor.value, cursor.pc = {}, i.end
            return None
        cursor.note(history.COMPENSATED)
        return frame.cause
    *left, entry = frame.left
    undo = entry if isinstance(entry, Undo) else None
    cursor.replace(frame, changed(frame, left=tuple(left), undoing=undo, turn=cursor.turn))
    if isinstance(entry, Undo):
        cursor.value, cursor.pc = entry.value, entry.to
    else:
        assert isinstance(entry, Together)  # noqa: S101  doubts are a step's, not a saga's
        logs = [log_to_json(log, lambda value: value) for log in entry.logs]
        cursor.value, cursor.pc = {"value": [{"log": log} for log in logs]}, i.group
    return None


def _compensated(cursor: Cursor, _: instructions.Compensated) -> Reaction:
    frame = cursor.frames[-1]
    assert isinstance(frame, Compensating)  # noqa: S101  compiled so
    assert frame.undoing is not None  # noqa: S101  it has been undone
    cursor.note(history.STEP_UNDONE, {"path": frame.undoing.path})
    cursor.pc = frame.to
    return None


def _resume(cursor: Cursor, i: instructions.Resume) -> Reaction:
    log = log_from_json(cursor.value["log"], lambda value: value)
    cursor.push(Compensating(i.to, log, None))
    cursor.pc = i.to
    return None


UNDOING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.Enter: _enter,
    instructions.Begin: _begin,
    instructions.Done: _done,
    instructions.Complete: _complete,
    instructions.Compensate: _compensate,
    instructions.Compensated: _compensated,
    instructions.Resume: _resume,
}
