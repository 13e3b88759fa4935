"""The operations of the instructions for sagas. `compensations` holds their frames and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...freezing import changed
from ...values import Failure, boxed
from .. import history, instructions
from ..transactions.coordinator import NEVER_RAN, UNDISTURBED, Coordinating
from ..unwind_reasons import Cancellation
from .compensations import (
    LOST,
    NOWHERE,
    REVERT_ALL,
    UNKNOWN,
    Compensating,
    Compensations,
    Doubt,
    ParallelLogs,
    SagaStep,
    Undo,
    doubtful,
    joined,
    log_from_json,
    log_to_json,
    logged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...values import JSON
    from ..cursor import Cursor, Reaction
    from ..events import Resolved
    from ..frames import Frame
    from ..stored import Document
    from ..unwind_reasons import UnwindReason
    from .compensations import Log


# --- the moments that a saga must know ----------------------------------------------------------------------


def doubt(cursor: Cursor) -> None:
    """The outcome of the invocation under way is unknown: undoing treats its step as done."""
    frame = cursor.innermost(SagaStep, Compensations, Compensating, Coordinating)
    if isinstance(frame, SagaStep):
        cursor.replace(frame, changed(frame, doubt=True))
    elif isinstance(frame, Compensations) and frame.key is not None:
        cursor.replace(frame, logged(frame, (Doubt(),)))


def with_doubt(cursor: Cursor, failed: Failure) -> Failure:
    """The failure of an attempt that did not run; `Lost` if an earlier attempt of its step may have run."""
    frame = cursor.innermost(SagaStep, Compensations, Compensating, Coordinating)
    if isinstance(frame, SagaStep) and frame.doubt and failed.code in NEVER_RAN:
        return Failure(LOST, failed.error)
    return failed


def in_a_step(cursor: Cursor) -> bool:
    """True if the fiber is in a step of a saga, and not in a saga within that step."""
    return isinstance(cursor.innermost(SagaStep, Compensations), SagaStep)


def is_unknown(failed: Failure) -> bool:
    """True if such a failure leaves open whether the action has had an effect."""
    return failed.code in UNKNOWN


def take_logs(cursor: Cursor, logs: tuple[Log, ...]) -> None:
    """Adds the logs of branches to the saga, or the step, of the fiber that forked them."""
    log = joined(logs)
    if not log:
        return
    frame = cursor.innermost(SagaStep, Compensations)
    if isinstance(frame, SagaStep):
        cursor.replace(frame, changed(frame, doubt=frame.doubt or doubtful(log)))
    else:
        cursor.replace(frame, logged(frame, log))


def resolve(cursor: Cursor, event: Resolved) -> bool:
    """Treats as done what the saga is stuck at: an undo, or a step after the pivot."""
    depth = max(
        at for at, frame in enumerate(cursor.frames) if isinstance(frame, (Compensating, SagaStep))
    )
    frame = cursor.frames[depth]
    cursor.frames = cursor.frames[: depth + 1]
    cursor.note(history.RESOLVED, {"how": event.how, **(event.detail or {})}, event.value)
    cursor.origin = None
    if isinstance(frame, Compensating):
        cursor.replace(frame, changed(frame, undoing=None))
        cursor.pc = frame.to
    else:
        assert isinstance(frame, SagaStep)  # noqa: S101  one of the two
        cursor.value, cursor.pc = {} if event.value is None else event.value, frame.done
    return True


def left_undone(cursor: Cursor, frame: SagaStep, reason: UnwindReason) -> None:
    """A step is unwound: if it may have had an effect, logs its undo."""
    if frame.undo is None or not (frame.doubt or frame.always):
        return
    saga = cursor.innermost(Compensations)
    value: dict[str, JSON] = {"input": frame.value}
    if isinstance(reason, Failure):
        value["error"] = reason.error
    cursor.replace(saga, logged(saga, (Undo(frame.undo, frame.path, value, frame.key),)))


def compensate(cursor: Cursor, frame: Compensations, reason: UnwindReason) -> bool:
    """A saga is unwound. True if its compensation begins now."""
    if frame.to == NOWHERE:
        cursor.log = frame.log
        return False
    if frame.passed:
        return False
    if isinstance(reason, Failure):
        failed = Failure(REVERT_ALL, reason.error) if frame.all else reason
        reason = frame.unwind_reason or failed
    cursor.push(Compensating(frame.to, frame.log, reason))
    cursor.pc = frame.to
    cursor.note(history.COMPENSATION_STARTED, {"steps": len(frame.log)})
    return True


def undisturbed(frame: Frame) -> bool:
    """True if an interruption must wait until this frame has ended.

    The frame is then a saga that only goes forward or is being undone, a step that is a pivot, or a
    transaction that may have been decided.
    """
    return (
        isinstance(frame, Compensating)
        or (isinstance(frame, Coordinating) and frame.phase in UNDISTURBED)
        or (isinstance(frame, SagaStep) and frame.pivot)
        or (isinstance(frame, Compensations) and frame.passed)
    )


def branch_frames(frames: tuple[Frame, ...], key: str | None) -> tuple[Frame, ...]:
    """The frame for the log of a new fiber, if it is a branch of a saga; `key` if it is one of a step."""
    for frame in reversed(frames):
        if isinstance(frame, Compensating):
            return ()
        if isinstance(frame, SagaStep):
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
    cursor.push(SagaStep(i.undo, i.done, i.path, cursor.value, key, cursor.turn, i.always, i.pivot))
    return None


def _done(cursor: Cursor, _: instructions.Done) -> Reaction:
    frame = cursor.pop()
    assert isinstance(frame, SagaStep)  # noqa: S101  compiled so
    saga = cursor.innermost(Compensations)
    if frame.pivot:
        cursor.replace(saga, changed(saga, log=(), passed=True))
        cursor.note(history.PIVOT_PASSED, {"path": frame.path})
    elif frame.undo is not None and not saga.passed:
        value: JSON = {"input": frame.value, "result": cursor.value}
        undo = Undo(frame.undo, frame.path, value, frame.key)
        cursor.replace(saga, logged(saga, (undo,)))
    return None


def _complete(cursor: Cursor, _: instructions.Complete) -> Reaction:
    frame = cursor.pop()
    assert isinstance(frame, Compensations)  # noqa: S101  compiled so
    outer = cursor.innermost(SagaStep, Compensations, Compensating)
    if isinstance(outer, Compensations) and outer.to != NOWHERE and frame.passed:
        cursor.replace(outer, changed(outer, log=(), passed=True))
    elif isinstance(outer, Compensations) and not outer.passed and outer.key is None:
        cursor.replace(outer, logged(outer, frame.log))
    if not isinstance(frame.unwind_reason, Cancellation):
        return None
    doubt(cursor)  # the saga may belong to a step, which is done and must be undone
    return frame.unwind_reason


def _compensate(cursor: Cursor, i: instructions.Compensate) -> Reaction:
    frame = cursor.frames[-1]
    assert isinstance(frame, Compensating)  # noqa: S101  compiled so
    if not frame.left:
        cursor.pop()
        if frame.unwind_reason is None:
            cursor.value, cursor.pc = {}, i.end
            return None
        cursor.note(history.COMPENSATED)
        return frame.unwind_reason
    *left, entry = frame.left
    undo = entry if isinstance(entry, Undo) else None
    cursor.replace(frame, changed(frame, left=tuple(left), undoing=undo, turn=cursor.turn))
    if isinstance(entry, Undo):
        cursor.value, cursor.pc = entry.value, entry.to
    else:
        assert isinstance(entry, ParallelLogs)  # noqa: S101  only logs of steps hold doubts
        logs: list[JSON] = [{"log": log_to_json(log, lambda value: value)} for log in entry.logs]
        cursor.value, cursor.pc = {"value": logs}, i.group
    return None


def _compensated(cursor: Cursor, _: instructions.Compensated) -> Reaction:
    frame = cursor.frames[-1]
    assert isinstance(frame, Compensating)  # noqa: S101  compiled so
    assert frame.undoing is not None  # noqa: S101  it has been undone
    cursor.note(history.STEP_UNDONE, {"path": frame.undoing.path})
    cursor.pc = frame.to
    return None


def _resume(cursor: Cursor, i: instructions.Resume) -> Reaction:
    group: Document = boxed(cursor.value)  # `_compensate` has made it
    log = log_from_json(group["log"], lambda value: value)
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
