"""The machine: a pure function from a program, a fiber and an event to a transition.

No clock, no chance, no I/O: the context and the event carry everything from outside. A fiber runs until it
must wait, has ended, or has used its share of instructions; nothing here recurses over the program or over
its history.

The unwinding rule, one for all languages: frames are popped from the innermost. A failure stops at
the first retry that covers it and has attempts left, or handler that names it. A finalizer stops every
reason: a failure becomes its input (its result is then what counts, as in Composer), a cancellation or
an expired deadline goes on when it is done. A deadline frame turns its own expiry into a failure.

The machine names no language. The program's dialect defines the meaning of a completion, a failure or a join,
and unwinds the frames that a language has added: see `composer.machine.dialect`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from ..errors import OverlongError
from ..freezing import changed, frozen
from ..values import (
    CANCELLED,
    LIMIT_EXCEEDED,
    TIMEOUT,
    Failure,
    boxed,
    failure,
)
from . import history
from .acquiring import answered
from .commands import Abandon, CancelMembers, CloseUpdates, Command, Invoke, Rebind
from .cursor import Context, Cursor, stops
from .events import (
    Accepted,
    Acquired,
    Cancelled,
    Completed,
    Continued,
    Event,
    Failed,
    Heard,
    Heartbeat,
    Joined,
    LinedUp,
    Queued,
    Rebound,
    Resolved,
    Resumed,
    Taken,
    TimerFired,
)
from .fiber import NOWHERE, Fiber
from .frames import (
    Attempts,
    Deadline,
    Failing,
    Finalizer,
    Finalizing,
    Handler,
    OwnFrame,
    Serving,
)
from .growth import TOO_MANY, exhaustion
from .hearing import take
from .instructions import Adopt
from .operations import attempted
from .queries import Remembering
from .retries import final
from .sagas.compensations import REVERT_ALL, Compensations, SagaStep
from .sagas.operations import (
    compensate,
    doubt,
    in_a_step,
    left_undone,
    resolve,
    undisturbed,
)
from .serving import as_asked, own_changes
from .timeouts import asked_again, beaten, forget_details, note_expired, queued, taken
from .transactions.coordinator import Coordinating
from .transactions.operations import asks_entity
from .unwind_reasons import Cancellation, Exhaustion, Expiry, Interruption, UnwindReason, stronger
from .waits import (
    Acquiring,
    Hearing,
    Invoking,
    Joining,
    Paused,
    Sleeping,
    Watching,
    invoking,
    polling,
)

if TYPE_CHECKING:
    from .dialect import Dialect
    from .history import Entry
    from .instructions import Attempt
    from .program import Program


@frozen
class Transition:
    """The result of an event for one fiber; `ran` counts the instructions.

    It is `stale` if the event answered another turn: nothing has changed. It is `overlong` if the fiber has
    stopped before an evaluation that takes more steps than `Limits.at_once`; the fiber then has neither a wait
    nor an outcome. `events` is the number of events in a history that numbers them.
    """

    fiber: Fiber
    commands: list[Command]
    entries: list[Entry]
    ran: int = 0
    stale: bool = False
    overlong: bool = False
    events: int = 0


FINALIZER_STEPS = 100  # of a finalizer that runs when all steps are used up
WORK = 20  # steps of an expression that take as long as an instruction


def advance(program: Program, fiber: Fiber, event: Event, context: Context) -> Transition:
    """Applies `event` to `fiber`: returns the fiber afterwards, its commands and its history entries.

    Args:
        program: the one its execution is pinned to.
        fiber: as an earlier transition left it.
        event: one that is not for the turn the fiber waits in is stale and changes nothing.
        context: the execution's id, the time, and the limits.
    """
    kind = Remembering if program.queries else Cursor
    cursor = kind(fiber, program.instructions, context)
    try:
        return _advanced(program.dialect, cursor, fiber, event)
    except OverlongError:  # the same again, up to the last place where the fiber can stop
        again = kind(fiber, program.instructions, context)
        if cursor.places:
            again.stop = cursor.places
        else:
            again.limits = replace(again.limits, at_once=None)
        return _advanced(program.dialect, again, fiber, event)


def _advanced(dialect: Dialect, cursor: Cursor, fiber: Fiber, event: Event) -> Transition:
    if not _receive(dialect, cursor, fiber, event):
        return Transition(fiber, [], [], stale=True, events=cursor.events)
    if cursor.exhausted:
        _stop(dialect, cursor)
    ran = _run(dialect, cursor) if cursor.wait is None and cursor.outcome is None else 0
    made = _fiber(cursor), cursor.commands, cursor.entries, ran
    return Transition(*made, overlong=cursor.stopped, events=cursor.events)


def reissue(program: Program, fiber: Fiber, context: Context) -> Invoke | None:
    """Makes the command that a fiber waits for again, after a crash; None if it waits for no command."""
    if not invoking(fiber.wait):
        return None
    cursor = Cursor(as_asked(fiber), program.instructions, context)
    instruction = program.instructions[fiber.pc - 1]
    command = program.dialect.commands[type(instruction)](cursor, instruction, fiber.turn)
    if isinstance(command, Invoke) and fiber.wait.details is not None:  # type: ignore[union-attr]
        command = changed(command, again=asked_again(command.again, fiber.wait))  # type: ignore[arg-type]
    return command if isinstance(command, Invoke) else None


def _run(dialect: Dialect, cursor: Cursor) -> int:
    instructions, operations = cursor.instructions, dialect.operations
    ran, sliced = 0, cursor.limits.at_once is not None
    while ran < cursor.limits.instructions:
        if sliced and stops(cursor):
            break
        instruction = instructions[cursor.pc]
        cursor.pc += 1
        reason = operations[type(instruction)](cursor, instruction)
        ran += 1 + cursor.work // WORK
        cursor.spent += cursor.work
        cursor.work = 0
        if reason is not None:
            _unwind(dialect, cursor, reason)
        if cursor.exhausted:
            _stop(dialect, cursor)
        if cursor.wait is not None or cursor.outcome is not None:
            break
    return ran


def _stop(dialect: Dialect, cursor: Cursor) -> None:
    """A limit is exceeded: only undos, decisions and finalizers still run."""
    cursor.exhausted = False
    cursor.wait = None
    _unwind(dialect, cursor, exhaustion(cursor))


def _fiber(cursor: Cursor) -> Fiber:
    told = cursor.events if cursor.stopped else cursor.told
    ended = cursor.outcome is not None
    if ended and cursor.frames:  # a branch that has succeeded hands over its log
        kept = next((frame for frame in cursor.frames if isinstance(frame, Compensations)), None)
        cursor.log = kept.log if kept is not None else ()
    return Fiber(
        id=cursor.id,
        pc=NOWHERE if ended else cursor.pc,
        value=None if ended else cursor.value,
        frames=cursor.remains if ended else cursor.frames,
        turn=cursor.turn,
        steps=cursor.steps,
        origin=cursor.origin,
        wait=cursor.wait,
        outcome=cursor.outcome,
        log=cursor.log,
        event=cursor.event,
        told=told if told > cursor.event else 0,
    )


# --- events ------------------------------------------------------------------------------------


def _receive(  # noqa: C901, PLR0911, PLR0912  one case an event
    dialect: Dialect, cursor: Cursor, fiber: Fiber, event: Event
) -> bool:
    """Applies the event to the cursor. False if the event is stale."""
    wait = fiber.wait
    if fiber.outcome is not None:
        return False
    match event:
        case Continued():
            return wait is None and _continue(dialect, cursor)
        case Completed():
            return isinstance(wait, Invoking) and _complete(dialect, cursor, event, wait)
        case Failed():
            return isinstance(wait, Invoking) and _fail(dialect, cursor, event, wait)
        case Accepted():
            if not (invoking(wait) or polling(wait)) or event.turn != fiber.turn:
                return False
            details, reason = wait.details, wait.unwind_reason  # type: ignore[union-attr]
            cursor.wait = Invoking(event.ticket, event.polled, details, reason)
            dialect.accepted(cursor, event)
            return True
        case Heartbeat():
            if not isinstance(wait, Invoking) or event.turn != fiber.turn:
                return False
            beaten(cursor, wait, event)
            return True
        case Queued() | Taken():
            if not isinstance(wait, Invoking) or event.turn != fiber.turn:
                return False
            cursor.wait = wait
            (queued if isinstance(event, Queued) else taken)(cursor)
            return True
        case Joined():
            return isinstance(wait, Joining) and _join(dialect, cursor, event, wait)
        case Heard():
            return isinstance(wait, Hearing) and _hear(dialect, cursor, event)
        case LinedUp() | Acquired():
            return isinstance(wait, Acquiring) and answered(cursor, event, wait)
        case TimerFired():
            return _fire(dialect, cursor, fiber)
        case Resumed():
            return isinstance(wait, Paused) and _resume(cursor, event)
        case Resolved():
            return isinstance(wait, Paused) and wait.stuck and resolve(cursor, event)
        case Rebound():
            if not isinstance(wait, Joining) or event.turn != fiber.turn:
                return False
            cursor.wait = wait
            cursor.value = {**boxed(cursor.value), **event.bounds}
            cursor.commands.append(Rebind(cursor.turn))
            cursor.note(history.REBOUND, event.about)
            return True
        case Cancelled():
            return _interrupt(dialect, cursor, fiber, Cancellation(), 0)
        case _:
            assert_never(event)


def _continue(dialect: Dialect, cursor: Cursor) -> bool:
    if cursor.frames and isinstance(frame := cursor.frames[-1], Failing):
        cursor.pop()
        _unwind(dialect, cursor, frame.failure)
    return True


def _resume(cursor: Cursor, event: Resumed) -> bool:
    given = history.NOTHING if event.params is None else event.params
    cursor.note(history.RESUMED, event.detail, given)
    cursor.origin = None
    if event.params is not None:
        frame = cursor.frames[-1]
        assert isinstance(frame, Attempts)  # noqa: S101  only attempts pause
        cursor.replace(frame, changed(frame, value=event.params))
        cursor.value = event.params
    return True


def _complete(dialect: Dialect, cursor: Cursor, event: Completed, wait: Invoking) -> bool:
    if event.turn != cursor.turn:
        return False
    if event.variables:
        event = changed(event, variables=own_changes(cursor.frames, event.turn, event.variables))
    failed = dialect.completed(cursor, event)
    reason = failed if wait.unwind_reason is None else wait.unwind_reason
    if reason is not None:
        cursor.origin = cursor.turn
        _unwind(dialect, cursor, reason)
    elif wait.details is not None:
        forget_details(cursor)
    return True


def _fail(dialect: Dialect, cursor: Cursor, event: Failed, wait: Invoking) -> bool:
    if event.turn != cursor.turn:
        return False
    failed = dialect.failed(cursor, event)
    cursor.origin = cursor.turn
    _unwind(dialect, cursor, wait.unwind_reason or failed)
    return True


def _join(dialect: Dialect, cursor: Cursor, event: Joined, wait: Joining) -> bool:
    if event.turn != cursor.turn:
        return False
    cursor.pc = cursor.instructions[cursor.pc - 1].to  # type: ignore[union-attr]
    reason = dialect.joined(cursor, event, wait)
    if reason is not None:
        _unwind(dialect, cursor, reason)
    return True


def _hear(dialect: Dialect, cursor: Cursor, event: Heard) -> bool:
    if event.turn != cursor.turn:
        return False
    reason = take(cursor, event)
    if reason is not None:
        _unwind(dialect, cursor, reason)
    return True


def _fire(dialect: Dialect, cursor: Cursor, fiber: Fiber) -> bool:
    for depth, frame in enumerate(fiber.frames):  # the outermost deadline decides
        if type(frame) is Deadline and frame.at_ms is not None and frame.at_ms <= cursor.now_ms:
            dealt_with = changed(frame, at_ms=None)
            cursor.frames = (*fiber.frames[:depth], dealt_with, *fiber.frames[depth + 1 :])
            note_expired(cursor, fiber, frame)
            return _interrupt(dialect, cursor, fiber, Expiry(depth), depth)
    if isinstance(fiber.wait, Sleeping) and fiber.wait.until_ms <= cursor.now_ms:
        cursor.note(history.TIMER_FIRED)
        return True
    return False


def _interrupt(
    dialect: Dialect, cursor: Cursor, fiber: Fiber, reason: Interruption, above: int
) -> bool:
    """Unwinds a fiber that waits, at once or after a frame above `above` that must not be interrupted."""
    cursor.wait = fiber.wait
    for depth in range(above, len(cursor.frames)):
        frame = cursor.frames[depth]
        if isinstance(frame, Finalizing) or undisturbed(frame):
            _later(cursor, depth, reason)
            return True
    if isinstance(fiber.wait, Joining):
        cursor.wait = Joining(stronger(fiber.wait.unwind_reason, reason))
        cursor.commands.append(CancelMembers(fiber.turn))
        return True
    if isinstance(fiber.wait, Invoking) and _waits_on(cursor):
        if fiber.wait.unwind_reason is None:
            cursor.commands.append(Abandon(fiber.turn, fiber.wait.ticket, asks=True))
        stronger_one = stronger(fiber.wait.unwind_reason, reason)
        cursor.wait = changed(fiber.wait, unwind_reason=stronger_one)
        return True
    if isinstance(fiber.wait, Invoking):
        cursor.commands.append(Abandon(fiber.turn, fiber.wait.ticket))
        cursor.note(history.STEP_CANCELLED)
        if not asks_entity(cursor):
            doubt(cursor)
    if isinstance(fiber.wait, (Invoking, Hearing, Watching, Acquiring)):
        cursor.origin = fiber.turn
    cursor.wait = None
    _unwind(dialect, cursor, reason)
    return True


def _waits_on(cursor: Cursor) -> bool:
    """True if a fiber that is interrupted waits until the child that it waits for has ended."""
    asking = cursor.instructions[cursor.pc - 1]
    return type(asking) is Adopt and asking.wait and asking.on_cancel == "wait"


def _later(cursor: Cursor, depth: int, reason: Interruption) -> None:
    """Keeps the reason in the frame that must not be interrupted: unwinding goes on when that frame ends."""
    frame = cursor.frames[depth]
    if isinstance(frame, SagaStep):  # its saga keeps the reason
        frame = next(f for f in reversed(cursor.frames[:depth]) if isinstance(f, Compensations))
    held = frame.unwind_reason  # type: ignore[union-attr]
    if isinstance(held, (Cancellation, Expiry)):
        reason = stronger(held, reason)
    cursor.replace(frame, changed(frame, unwind_reason=reason))


# --- unwinding ---------------------------------------------------------------------------------


def _unwind(dialect: Dialect, cursor: Cursor, reason: UnwindReason) -> None:  # noqa: C901, PLR0912  one case a frame
    while cursor.frames:
        frame = cursor.pop()
        match frame:
            case Handler() if _handles(frame, reason):
                cursor.value, cursor.pc, cursor.origin = reason.value, frame.to, None  # type: ignore[union-attr]
                return
            case Attempts() if isinstance(reason, Failure) and _try_again(cursor, frame, reason):
                return
            case SagaStep():
                left_undone(cursor, frame, reason)
            case Compensations() if compensate(cursor, frame, reason):
                return
            case Finalizer():
                if isinstance(reason, Exhaustion):  # it may take a few steps more
                    cursor.steps = max(0, cursor.limits.steps - FINALIZER_STEPS)
                cursor.push(Finalizing(None if isinstance(reason, Failure) else reason))
                cursor.value, cursor.pc = _as_failure(reason).value, frame.to
                return
            case Coordinating():
                interrupted = reason if isinstance(reason, (Cancellation, Expiry)) else None
                cursor.push(frame.aborting(_as_failure(reason), interrupted))
                cursor.pc = frame.to
                return
            case Finalizing() if frame.unwind_reason is not None and isinstance(reason, Failure):
                reason = frame.unwind_reason  # only a finalizer on the way has failed
            case Serving():
                cursor.commands.append(CloseUpdates(len(cursor.frames)))
            case Deadline() if reason == Expiry(len(cursor.frames)):
                reason = dialect.expired(cursor, frame)
            case OwnFrame():
                if isinstance(reason, Failure) and stops(cursor):
                    cursor.frames = (*cursor.frames, frame, Failing(reason))
                    return
                left = dialect.frames[type(frame)](cursor, frame, reason)
                if left is None:
                    return
                reason = left
    cursor.outcome = _as_failure(reason)


def _handles(frame: Handler, reason: UnwindReason) -> bool:
    if not isinstance(reason, Failure):
        return False
    return not frame.errors or any(reason.named(name) for name in frame.errors)


def _as_failure(reason: UnwindReason) -> Failure:
    if isinstance(reason, Failure):
        return reason
    if isinstance(reason, Cancellation):
        return failure(CANCELLED, "cancelled")
    if isinstance(reason, Exhaustion):
        return failure(LIMIT_EXCEEDED, TOO_MANY[reason.what].format(limit=reason.limit))
    return failure(TIMEOUT, "an enclosing timeout has passed")


def _try_again(cursor: Cursor, frame: Attempts, failed: Failure) -> bool:
    """Prepares the next attempt: at once, after a delay, or when an operator resumes it."""
    attempt: Attempt = cursor.instructions[frame.at]  # type: ignore[assignment]
    policy = attempt.policy
    if frame.each is None:
        spent = policy.spent(frame.attempt) or (final(failed) and not policy.stuck)
    else:
        spent = frame.attempt >= len(frame.each)
    given_up = failed.code == REVERT_ALL and not (policy.stuck or in_a_step(cursor))
    if given_up or not policy.covers(failed) or (spent and not policy.pause):
        return False
    if not cursor.count_steps():
        return True
    if spent:
        cursor.value, cursor.pc = frame.value, frame.at + 1
        cursor.push(changed(frame, attempt=1, shift=cursor.turn - frame.turn))
        cursor.wait = Paused(failed, policy.stuck)
        kind = history.STUCK if policy.stuck else history.PAUSED
        cursor.note(kind, {**failed.detail, "attempts": frame.attempt}, failed.error)
        return True
    seed = f"{cursor.execution}/{cursor.id}/{cursor.turn}"
    delay_ms = policy.delay_after(failed, frame.attempt, seed)
    cursor.note(
        history.RETRY_SCHEDULED,
        {"attempt": frame.attempt + 1, "delay_ms": delay_ms, **failed.detail},
    )
    if delay_ms:
        cursor.turn += 1
        cursor.wait = Sleeping(cursor.now_ms + delay_ms)
    shift = cursor.turn - frame.turn
    again = changed(frame, attempt=frame.attempt + 1, shift=shift, failed=failed)
    cursor.push(again)
    cursor.value, cursor.pc = attempted(again, attempt), frame.at + 1
    cursor.origin = None
    return True
