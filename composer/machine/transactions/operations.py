"""The operations of the instructions for transactions. `coordinator` makes the decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...values import EXPRESSION_ERROR, LIMIT_EXCEEDED, Failure, boxed, failure
from .. import history, instructions
from ..frames import TransactionStart, Uncounted
from ..sagas.operations import doubt
from .coordinator import MAX_PARTICIPANTS, Coordinating
from .participants import Call, Participant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...values import JSON
    from ..cursor import Cursor, Reaction
    from ..fiber import Fiber


Message: TypeAlias = dict[str, Any]
"""The message of a call, with `key`, `operation` and `params`: the compiler has checked its template."""


def decided(fibers: Iterable[Fiber]) -> bool:
    """True if a transaction of these fibers may have committed, and not every participant knows yet."""
    return any(frame.phase in ("deciding", "committing") for frame in _coordinating(fibers))


def decision(fibers: Iterable[Fiber], transaction: str) -> Literal["commit", "abort", "undecided"]:
    """The decision of these fibers on a transaction; abort if they have no such transaction."""
    found = (frame for frame in _coordinating(fibers) if frame.transaction == transaction)
    return next((frame.decision for frame in found), "abort")


def _coordinating(fibers: Iterable[Fiber]) -> list[Coordinating]:
    frames = (frame for fiber in fibers for frame in fiber.frames)
    return [frame for frame in frames if type(frame) is Coordinating]


def message_of(cursor: Cursor, i: instructions.Operate) -> Message | Failure:
    """The message to an entity, as part of the transaction if one is under way."""
    message = _filled(cursor, i)
    if type(message) is Failure:
        return message
    frame: Coordinating | None = cursor.innermost(Coordinating)
    return message if frame is None else frame.working(i.action, message)


def _filled(cursor: Cursor, i: instructions.Operate) -> Message | Failure:
    filled: Any = i.message.fill(cursor.scope())
    message: Message | Failure = filled
    return message


def asks_entity(cursor: Cursor) -> bool:
    """True if the fiber waits for an entity. An entity has not done what it has not answered."""
    return isinstance(cursor.instructions[cursor.pc - 1], instructions.Operate)


def asks_for_whole(cursor: Cursor) -> Coordinating | None:
    """The transaction of the fiber, if it asks its host for the whole of it now."""
    frame = cursor.frames[-1] if cursor.frames else None
    return frame if type(frame) is Coordinating and frame.phase == "transacting" else None


def enlist(cursor: Cursor, i: instructions.Operate) -> Failure | None:
    """Adds the operation to its transaction before the message is sent: the entity must learn the decision."""
    frame: Coordinating | None = cursor.innermost(Coordinating)
    if frame is None:
        return None
    message = _filled(cursor, i)
    if type(message) is Failure:
        return message
    if type(message["key"]) is not str:
        return failure(EXPRESSION_ERROR, f"call: 'key' must be a string, not {message['key']!r}")
    more = frame.enlisted(i.action, message["key"], read=message.get("read") is True)
    if more is None:
        return _too_many()
    cursor.replace(frame, more)
    return None


def _too_many() -> Failure:
    text = f"a transaction has at most {MAX_PARTICIPANTS} participants"
    return failure(LIMIT_EXCEEDED, text)


def _stamp(cursor: Cursor, _: instructions.Stamp) -> Reaction:
    cursor.push(TransactionStart(cursor.now_ms))
    return None


def _insist(cursor: Cursor, _: instructions.Insist) -> Reaction:
    cursor.push(Uncounted())
    return None


def _open(cursor: Cursor, i: instructions.Open) -> Reaction:
    participants: tuple[Participant, ...] = ()
    if i.calls is not None:
        calls: Any = i.calls.fill(cursor.scope())
        if type(calls) is Failure:
            return calls
        made = _participants(calls)
        if type(made) is Failure:
            return made
        participants = made
    start = next(frame for frame in reversed(cursor.frames) if type(frame) is TransactionStart)
    frame = Coordinating(
        to=i.to,
        transaction=f"tx-{cursor.activation_of(cursor.turn)}",
        started_ms=start.at_ms,
        deadline_ms=cursor.now_ms + i.timeout_ms,
        order=i.order,
        coordinator=f"{cursor.execution}/{cursor.id}",
        phase="working" if i.calls is None else "locking",
        participants=participants,
    )
    if i.calls is not None and cursor.limits.one_store:
        frame = frame.together()
    cursor.push(frame)
    cursor.note(history.TRANSACTION_STARTED, {"transaction": frame.transaction})
    return None


def _participants(calls: list[Message]) -> tuple[Participant, ...] | Failure:
    """Participants in the order in which they are locked: entities by name and key, then others."""
    entities: dict[tuple[str, str], list[Message]] = {}
    others: list[Participant] = []
    for call in calls:
        if "actions" in call:
            alone = (Call(call["index"], {}),)
            others.append(
                Participant(tuple(call["actions"]), None, call["params"], alone, read=False)
            )
        elif type(call["key"]) is not str:
            return failure(EXPRESSION_ERROR, f"call: 'key' must be a string, not {call['key']!r}")
        else:
            entities.setdefault((call["action"], call["key"]), []).append(call)
    if len(entities) + len(others) > MAX_PARTICIPANTS:
        return _too_many()
    return (*(_entity(*place, entities[place]) for place in sorted(entities)), *others)


def _entity(action: str, key: str, calls: list[Message]) -> Participant:
    asked, read = [], True
    for call in calls:
        request = call.copy()
        del request["action"], request["key"]
        asked.append(Call(request.pop("index"), request))
        read = read and bool(call.get("read"))
    return Participant((action,), key, calls=tuple(asked), read=read)


def _commit(cursor: Cursor, _: instructions.Commit) -> Reaction:
    frame = cursor.frames[-1]
    assert type(frame) is Coordinating  # noqa: S101  compiled so
    cursor.replace(frame, frame.worked(cursor.value, one_store=cursor.limits.one_store))
    return None


def _coordinate(cursor: Cursor, i: instructions.Coordinate) -> Reaction:
    frame = cursor.frames[-1]
    assert type(frame) is Coordinating  # noqa: S101  compiled so
    if frame.phase == "transacting":  # the instruction that invokes makes the message
        return None
    before = frame.phase
    made, messages = frame.next()
    cursor.replace(frame, made)
    if made.phase == "committing" and before != "committing":
        _decided(cursor, made)
    if not messages:
        return _ended(cursor, made, i)
    tells = made.phase in ("committing", "aborting")
    if len(messages) == 1:
        cursor.value = messages[0]
        if made.phase == "deciding":
            cursor.pc = i.decide
        elif tells:
            cursor.pc = i.tell
    else:
        cursor.value = {"value": [*messages]}
        cursor.pc = i.tell_many if tells else i.many
    return None


def _decided(cursor: Cursor, frame: Coordinating) -> None:
    about: dict[str, JSON] = {
        "transaction": frame.transaction,
        "participants": len(frame.participants),
    }
    cursor.note(history.TRANSACTION_COMMITTED, about)


def _ended(cursor: Cursor, frame: Coordinating, i: instructions.Coordinate) -> Reaction:
    cursor.pop()
    outcome = frame.outcome()
    if isinstance(outcome, Failure):
        about: dict[str, JSON] = {"transaction": frame.transaction, "code": outcome.code}
        cursor.note(history.TRANSACTION_ABORTED, about, outcome.error)
        return frame.unwind_reason or outcome
    cursor.value, cursor.pc = outcome.value, i.end
    if frame.lasting is not None:
        doubt(cursor)  # the step was done, so the cancellation that goes on now must undo it
    return frame.lasting


def _absorb(cursor: Cursor, i: instructions.Absorb) -> Reaction:
    frame = cursor.frames[-1]
    assert type(frame) is Coordinating  # noqa: S101  compiled so
    made = frame.absorbed(boxed(cursor.value))
    cursor.replace(frame, made)
    if made.phase == "committing" and frame.phase != "committing":
        _decided(cursor, made)
    cursor.pc = i.to
    return None


TRANSACTING: dict[type[Any], Callable[[Cursor, Any], Reaction]] = {
    instructions.Stamp: _stamp,
    instructions.Insist: _insist,
    instructions.Open: _open,
    instructions.Commit: _commit,
    instructions.Coordinate: _coordinate,
    instructions.Absorb: _absorb,
}
