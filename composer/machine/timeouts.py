"""The timeouts of steps, runs and chains: when each counts, and the failure when it passes.

A deadline with a `bound` is one of `composer.within`, or stands at the bottom of a run's root fiber. The tighter
of two wins, because each is a frame of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..freezing import changed
from ..values import TIMEOUT, Failure, failure
from . import history
from .commands import Again
from .cursor import count_from_now
from .frames import (
    EXECUTION_TIMEOUT,
    HEARTBEAT,
    IN_ALL,
    RUN_TIMEOUT,
    TO_END,
    TO_START,
    Attempts,
    Deadline,
)
from .retries import RETRYABLE
from .waits import Sleeping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..values import JSON
    from .cursor import Cursor
    from .events import Heartbeat
    from .fiber import Fiber
    from .frames import Frame
    from .instructions import Limit
    from .waits import Invoking

RUN_TIMED_OUT: Final = "RunTimedOut"
"""The code of the failure of a run whose own time has passed. No action can fail with it."""

HEARTBEAT_PARAMETER: Final = "__ow_heartbeat"

_TEXTS: Final = {
    "": "not done within {} seconds",
    TO_START: "no worker has taken the step within {} seconds",
    TO_END: "the attempt has not ended within {} seconds",
    IN_ALL: "all attempts together have not ended within {} seconds",
    HEARTBEAT: "no heartbeat within {} seconds",
    RUN_TIMEOUT: "the run has not ended within {} seconds",
    EXECUTION_TIMEOUT: "the execution has not ended within {} seconds",
}
_OF_RUN = (RUN_TIMEOUT, EXECUTION_TIMEOUT)


def expired(deadline: Deadline) -> Failure:
    """The failure for a deadline that has passed: its error says which timeout it was."""
    bound = deadline.bound
    text = _TEXTS[bound].format(f"{deadline.timeout_ms / 1000:g}")
    if not bound:
        return failure(TIMEOUT, text)
    detail: dict[str, JSON] = {"timeout": bound}
    if bound == TO_START:  # the next attempt would wait in the same queue
        detail[RETRYABLE] = False
    made = failure(TIMEOUT, text, **detail)
    return Failure(RUN_TIMED_OUT, made.error) if bound in _OF_RUN else made


def as_step(failed: Failure) -> Failure:
    """The failure of a run as that of the step that the run is, for its parent."""
    return Failure(TIMEOUT, failed.error) if failed.code == RUN_TIMED_OUT else failed


# --- steps ---------------------------------------------------------------------------------------


def limited(i: Limit, cursor: Cursor) -> Deadline:
    """The frame that a Limit pushes. That of `to_start` counts only once the step is queued."""
    at_ms = None if i.bound == TO_START else cursor.now_ms + i.timeout_ms
    return Deadline(at_ms, i.timeout_ms, i.bound == HEARTBEAT, i.once_taken, i.bound)


def beaten(cursor: Cursor, wait: Invoking, event: Heartbeat) -> None:
    """The step that the fiber waits for is still at work."""
    cursor.wait = wait
    if event.details is not None:
        cursor.wait = changed(wait, details=event.details)
        frame = cursor.innermost(Attempts)
        if frame is not None:
            heard = changed(frame, heard=cursor.pc - 1, details=event.details)
            cursor.replace(frame, heard)
    count_from_now(cursor, lambda deadline: deadline.beats and deadline.at_ms is not None)


def forget_details(cursor: Cursor) -> None:
    """The step has succeeded: another attempt of it, if there is one, begins anew."""
    frame = cursor.innermost(Attempts)
    if frame is not None and frame.heard is not None:
        cursor.replace(frame, changed(frame, heard=None, details=None))


def queued(cursor: Cursor) -> None:
    """The step that the fiber waits for waits for a worker: only `to_start` counts."""
    count_from_now(cursor, lambda frame: frame.bound == TO_START and frame.at_ms is None)
    for frame in cursor.frames:
        if type(frame) is Deadline and frame.bound and frame.once_taken:
            cursor.replace(frame, changed(frame, at_ms=None))


def taken(cursor: Cursor) -> None:
    """A worker has taken the step that the fiber waits for."""
    for frame in cursor.frames:
        if type(frame) is Deadline and frame.bound == TO_START:
            cursor.replace(frame, changed(frame, at_ms=None))
    count_from_now(cursor, lambda frame: frame.once_taken and frame.at_ms is None)


def heartbeat_ms(frames: Sequence[Frame]) -> int | None:
    """The shortest timeout between heartbeats that these frames have."""
    found = [frame.timeout_ms for frame in frames if type(frame) is Deadline and frame.beats]
    return min(found, default=None)


def awaits_worker(frames: Sequence[Frame]) -> bool:
    """True if a deadline of these frames depends on when a worker takes the step."""
    return any(
        type(frame) is Deadline
        and bool(frame.bound)
        and (frame.once_taken or frame.bound == TO_START)
        for frame in frames
    )


def again(cursor: Cursor) -> Again | None:
    """What the step that is asked for is told of the invocations before; None for its first one."""
    for frame in reversed(cursor.frames):
        if type(frame) is Attempts:
            details = frame.details if frame.heard == cursor.pc - 1 else None
            if frame.attempt == 1 and details is None:
                return None
            return Again(frame.attempt, frame.failed, details)
    return None


def asked_again(told: Again | None, wait: Invoking) -> Again | None:
    """What a step that has sent heartbeats is told after a crash: the details of the last one."""
    return Again(1, None, wait.details) if told is None else changed(told, details=wait.details)


def note_expired(cursor: Cursor, fiber: Fiber, deadline: Deadline) -> None:
    """Writes the history of a deadline that has passed."""
    bound: dict[str, JSON] = {"bound": deadline.bound} if deadline.bound else {}
    cursor.note(history.TIMED_OUT, {"timeout_ms": deadline.timeout_ms, **bound})
    if deadline.bound in _OF_RUN and isinstance(fiber.wait, Sleeping):
        cursor.origin = fiber.turn  # a redrive sleeps on


def told_again(params: JSON, told: Again | None) -> JSON:
    """The parameters of an action, with the details of the last heartbeat as `__ow_heartbeat`."""
    if told is None or told.details is None or type(params) is not dict:
        return params
    return {**params, HEARTBEAT_PARAMETER: told.details}


# --- runs ----------------------------------------------------------------------------------------


def deadlines(
    now_ms: int, run_ms: int | None = None, chain_ms: int | None = None
) -> tuple[Deadline, ...]:
    """The frames that a run with these timeouts begins with; None is for no timeout."""
    bounds = ((EXECUTION_TIMEOUT, chain_ms), (RUN_TIMEOUT, run_ms))
    return tuple(
        Deadline(now_ms + timeout_ms, timeout_ms, bound=bound)
        for bound, timeout_ms in bounds
        if timeout_ms is not None
    )


def deadlines_told(frames: Sequence[Frame]) -> dict[str, JSON]:
    """The timeouts of a run that begins with these frames, for the first entry of its history."""
    found: list[JSON] = [
        {"bound": frame.bound, "timeout_ms": frame.timeout_ms, "until": frame.at_ms}
        for frame in frames
        if type(frame) is Deadline
    ]
    return {"timeouts": found} if found else {}


def deadlines_of(entry: Mapping[str, Any]) -> tuple[Deadline, ...]:
    """The frames that a run began with, as the first entry of its history tells."""
    return tuple(
        Deadline(told["until"], told["timeout_ms"], bound=told["bound"])
        for told in entry.get("timeouts", ())
    )
