"""The operations: a short function for each instruction, and the table that finds it.

An operation runs with the program counter already on the next instruction. It returns the reason to unwind,
or None; it never unwinds by itself, and it depends on the cursor only. A language adds operations of its own
through its dialect.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..values import (
    APPLICATION_ERROR,
    EXPRESSION_ERROR,
    LIMIT_EXCEEDED,
    NOT_MET,
    Failure,
    Success,
    boxed,
    failure,
    measured,
    truthy,
)
from . import history, instructions
from .acquiring import ACQUIRING
from .branches import BRANCHING
from .commands import Annotate
from .cursor import popped
from .emitting import EMITTING
from .frames import (
    Attempts,
    Counter,
    Finalizer,
    Finalizing,
    Frame,
    Handler,
    Mask,
    Saved,
    Variables,
)
from .hearing import HEARING
from .sagas.operations import UNDOING
from .serving import SERVING
from .steps import INVOKING, inspect
from .timeouts import limited
from .transactions.operations import TRANSACTING
from .waits import Sleeping

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..values import JSON
    from .cursor import Cursor, Reaction

YEARS = 10  # of one wait; longer ones are taken for mistakes
MAX_SLEEP_MS = YEARS * 366 * 24 * 3600 * 1000


def _bounded(cursor: Cursor, value: JSON, what: str) -> Reaction:
    """Makes a combined value the fiber's value, unless it is too large."""
    limit = cursor.limits.value_bytes
    if measured(value, limit) > limit:
        return failure(LIMIT_EXCEEDED, f"{what} makes a value of more than {limit} bytes")
    cursor.value = value
    return None


# --- data --------------------------------------------------------------------------------------


def _evaluate(cursor: Cursor, i: instructions.Evaluate) -> Reaction:
    filled = i.template.fill(cursor.scope())
    if type(filled) is Failure:
        return filled
    cursor.value = filled
    return inspect(cursor)


def _test(cursor: Cursor, i: instructions.Test) -> Reaction:
    held = i.predicate.holds(cursor.scope())
    if type(held) is Failure:
        return held
    cursor.value = {"value": held}
    return None


def _assign(cursor: Cursor, i: instructions.Assign) -> Reaction:
    scope = cursor.scope()
    changes: dict[str, JSON] = {}
    for name, template in i.assignments.items():
        filled = template.fill(scope)
        if type(filled) is Failure:
            return filled
        changes[name] = filled
    if unknown := cursor.assign(changes):
        return failure(EXPRESSION_ERROR, f"assign: no enclosing let declares {unknown!r}")
    return None


def _annotate(cursor: Cursor, i: instructions.Annotate) -> Reaction:
    scope = cursor.scope()
    attributes: dict[str, JSON] = {}
    for name, template in i.assignments.items():
        filled = template.fill(scope)
        if type(filled) is Failure:
            return filled
        attributes[name] = filled
    cursor.commands.append(Annotate(attributes))
    cursor.note(history.ANNOTATED, value=attributes)
    return None


def _inspect(cursor: Cursor, _: instructions.Inspect) -> Reaction:
    return inspect(cursor)


def _raise(cursor: Cursor, i: instructions.Raise) -> Reaction:
    message = i.template.fill(cursor.scope())
    if type(message) is Failure:
        return message
    return Failure(APPLICATION_ERROR, {"code": i.code, "message": message})


def _save(cursor: Cursor, i: instructions.Save) -> Reaction:
    saved = cursor.value if i.template is None else i.template.fill(cursor.scope())
    if type(saved) is Failure:
        return saved
    cursor.push(Saved(saved))
    return None


def _recall(cursor: Cursor, i: instructions.Recall) -> Reaction:
    saved = popped(cursor, Saved).value
    match i.how:
        case "restore":
            cursor.value = boxed(saved)
            return None
        case "retain":
            made: JSON = {"params": saved, "result": cursor.value}
            what = "retain"
        case "merge":
            made, what = {**boxed(saved), **boxed(cursor.value)}, "merge"
        case "under":
            return _bounded(cursor, {**boxed(cursor.value), **boxed(saved)}, "the state")
        case _:  # into
            made, what = {**boxed(saved), str(i.field): cursor.value}, "forward"
    return _bounded(cursor, made, what) or inspect(cursor)


# --- control -----------------------------------------------------------------------------------


def _jump(cursor: Cursor, i: instructions.Jump) -> Reaction:
    if i.to < cursor.pc and not cursor.count_steps():
        return None
    cursor.pc = i.to
    return None


def _branch(cursor: Cursor, i: instructions.Branch) -> Reaction:
    if i.predicate is None:
        held: bool | Failure = truthy(boxed(cursor.value).get("value"))
    else:
        held = i.predicate.holds(cursor.scope())
    if type(held) is Failure:
        return held
    if not held:
        cursor.pc = i.otherwise
    return None


def _push(make: Callable[[Any, Cursor], Frame]) -> Callable[[Cursor, Any], Reaction]:
    def operation(cursor: Cursor, instruction: Any) -> Reaction:
        cursor.push(make(instruction, cursor))
        return None

    return operation


def _leave(cursor: Cursor, _: instructions.Leave) -> Reaction:
    cursor.pop()
    return None


def _count(cursor: Cursor, i: instructions.Count) -> Reaction:
    left = popped(cursor, Counter).left
    if left > 0:
        cursor.push(Counter(left - 1))
    else:
        cursor.pc = i.otherwise
    return None


def _finalize(cursor: Cursor, _: instructions.Finalize) -> Reaction:
    popped(cursor, Finalizer)
    cursor.push(Finalizing())
    return None


def _finalized(cursor: Cursor, _: instructions.Finalized) -> Reaction:
    reason: Reaction = popped(cursor, Finalizing).unwind_reason
    return reason


def _attempt(cursor: Cursor, i: instructions.Attempt) -> Reaction:
    each: list[JSON] | None = None
    if i.each is not None:
        made = i.each.fill(cursor.scope())
        if type(made) is Failure:
            return made
        if type(made) is not list or not made:
            text = f"saga: the values to try must be a list with at least one, not {made!r:.100}"
            return failure(EXPRESSION_ERROR, text)
        each = made
    frame = Attempts(cursor.pc - 1, 1, cursor.value, cursor.turn, 0, each)
    cursor.push(frame)
    cursor.value = attempted(frame, i)
    return None


def attempted(frame: Attempts, i: instructions.Attempt) -> JSON:
    """The value that an attempt starts from."""
    if frame.each is None or i.field is None:
        return frame.value
    return {**boxed(frame.value), i.field: frame.each[frame.attempt - 1]}


def _settle(cursor: Cursor, _: instructions.Settle) -> Reaction:
    frame = cursor.frames[-1]
    policy = cursor.instructions[frame.at].policy  # type: ignore[union-attr]
    if policy.until is not None:
        held = policy.until.holds(cursor.scope())
        if type(held) is Failure:
            return held
        if not held:
            return failure(NOT_MET, "retry: the result does not fulfil 'until'")
    cursor.pop()
    return None


def _end(cursor: Cursor, _: instructions.End) -> Reaction:
    if failed := inspect(cursor):
        return failed
    cursor.outcome = Success(boxed(cursor.value))
    return None


# --- time --------------------------------------------------------------------------------------


def _sleep(cursor: Cursor, i: instructions.Sleep) -> Reaction:
    filled = i.template.fill(cursor.scope())
    if type(filled) is Failure:
        return filled
    until_ms = _instant_ms(filled) if i.until else _delay_ms(filled, cursor.now_ms)
    if until_ms is None:
        wanted = (
            "an ISO 8601 instant or epoch seconds" if i.until else "a number of seconds, 0 or more"
        )
        return failure(EXPRESSION_ERROR, f"wait: {filled!r} is not {wanted}")
    if until_ms - cursor.now_ms > MAX_SLEEP_MS:
        return failure(LIMIT_EXCEEDED, f"wait: more than {YEARS} years")
    if cursor.count_steps():
        cursor.turn += 1
        cursor.wait = Sleeping(until_ms, i.until)
        cursor.note(history.TIMER_STARTED, {"path": i.path, "until": until_ms})
    return None


def _delay_ms(seconds: JSON, now_ms: int) -> int | None:
    if type(seconds) is not int and type(seconds) is not float:
        return None
    if not 0 <= seconds <= MAX_SLEEP_MS:
        return None
    return now_ms + int(seconds * 1000 + 0.5)


def _instant_ms(instant: JSON) -> int | None:
    if type(instant) is int or type(instant) is float:
        return round(instant * 1000) if abs(instant) < 1e11 else None  # noqa: PLR2004  year 5138
    if type(instant) is not str:
        return None
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


OPERATIONS: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.Evaluate: _evaluate,
    instructions.Test: _test,
    instructions.Assign: _assign,
    instructions.Annotate: _annotate,
    instructions.Inspect: _inspect,
    instructions.Raise: _raise,
    instructions.Save: _save,
    instructions.Recall: _recall,
    instructions.Jump: _jump,
    instructions.Branch: _branch,
    instructions.Declare: _push(lambda i, _: Variables(i.variables)),
    instructions.Hide: _push(lambda _, __: Mask()),
    instructions.Guard: _push(lambda i, _: Handler(i.to, i.errors)),
    instructions.Shield: _push(lambda i, _: Finalizer(i.to)),
    instructions.Attempt: _attempt,
    instructions.Limit: _push(limited),
    instructions.Repeat: _push(lambda i, _: Counter(i.count)),
    instructions.Count: _count,
    instructions.Leave: _leave,
    instructions.Finalize: _finalize,
    instructions.Finalized: _finalized,
    instructions.Settle: _settle,
    instructions.End: _end,
    instructions.Sleep: _sleep,
    **INVOKING,
    **BRANCHING,
    **HEARING,
    **SERVING,
    **ACQUIRING,
    **EMITTING,
    **TRANSACTING,
    **UNDOING,
}
