"""Calls of entities, and transactions: all operations take effect, or none does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import CompositionError
from ...expressions import Template, path, var
from ...machine import instructions as i
from ...machine.retries import RetryPolicy
from ...machine.sagas.compensations import UNKNOWN
from ...machine.transactions.coordinator import CONFLICT
from ..arguments import COUNT, FIELD, FLAG, NAME, SECONDS, TEMPLATE, Argument, choice, optional
from ..composition import Effect, Row, build, define
from ..functions import ActionFunction
from ..grammar import COMPONENTS
from ..hosting import NO_ENTITIES, NO_STORE, never
from ..lowering import lower_components, refuse_in_handler
from .actions import DEFINITION
from .concurrency import asynchronous
from .control import sequence, wait
from .data import assign, let, retain
from .errors import ensure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from ...expressions import Selector
    from ..assembler import Assembler
    from ..composition import Composition

MAX_TRANSACTION_S = 60
_ITEMS = Template.of(path("$.value", default=None))
_ALL = Template.of(path("$"))
_AFTER_CONFLICT = RetryPolicy(
    retries=0, delay_ms=5, backoff=2, max_delay_ms=1_000, jitter=0.9, errors=(CONFLICT,)
)
_UNTIL_ANSWERED = RetryPolicy(
    retries=None, delay_ms=500, backoff=2, max_delay_ms=60_000, jitter=0.5
)
# After these failures the participant may have decided: it is asked until it answers.
_UNKNOWN = (*sorted(UNKNOWN), "Unavailable", "Throttled")


# --- one entity ----------------------------------------------------------------------------------


def call(  # noqa: PLR0913  a call has as many sides
    entity: Any,
    key: Any,
    operation: str,
    params: Any = None,
    *,
    read: bool = False,
    expected_version: Any = None,
) -> Composition:
    """An operation of an entity; its result is the result.

    Args:
        entity: the type: an `@entity`, or the name of an action that is one.
        key: the key of the entity: a string, or a path to one.
        operation: the name of the operation.
        params: the parameters of the operation, a template; None for the value.
        read: True if the operation leaves the state as it is; reads may run at the same time.
        expected_version: the call fails with `VersionConflict` if the entity has another version.
    """
    return build(
        CALL,
        **_entity(entity),
        key=key,
        operation=operation,
        params=params,
        read=read,
        expected_version=expected_version,
    )


def _entity(value: Any) -> dict[str, Any]:
    """The arguments of an entity type: its name, and its definition to deploy with the composition."""
    if isinstance(value, ActionFunction):
        return {"entity": value.name, "action": value}
    return {"entity": value}


def _request(node: Composition) -> dict[str, Any]:
    """A call as JSON with templates in it."""
    args = node.arguments
    request: dict[str, Any] = {
        "key": args["key"],
        "operation": args["operation"],
        "params": _ALL if args["params"] is None else args["params"],
    }
    if args["read"]:
        request["read"] = True
    if args["expected_version"] is not None:
        request["expected_version"] = args["expected_version"]
    return request


def _lower_call(a: Assembler, node: Composition) -> None:
    message = Template.joined(_request(node))
    a.emit(i.Operate, action=a.action(node.arguments["entity"]), message=message, path=a.path)


CALL: Final = define(
    Row(
        type="call",
        name="call",
        arguments={
            "entity": Argument(NAME),
            "key": Argument(TEMPLATE),
            "operation": Argument(FIELD),
            "params": Argument(optional(TEMPLATE), None),
            "read": Argument(FLAG, False),
            "expected_version": Argument(optional(TEMPLATE), None),
            "action": Argument(optional(DEFINITION), None),
        },
        lower=_lower_call,
        effect=Effect.ENTITY,
        unhosted=never(NO_ENTITIES),
    )
)


def read(entity: Any, key: Any) -> Composition:
    """An entity's state: `{"state": ..., "version": ..., "flag": ...}`; the state is null if it has none."""
    return call(entity, key, "$get", {}, read=True)


def signal(  # noqa: PLR0913, PLR0917  a call has as many sides
    entity: Any,
    key: Any,
    operation: str,
    params: Any = None,
    after: float | Selector | None = None,
    until: str | float | datetime | Selector | None = None,
) -> Composition:
    """A call of an entity without waiting for its end: now, after some seconds, or at an instant."""
    called = call(entity, key, operation, params)
    if after is None and until is None:
        return asynchronous(called)
    return asynchronous(sequence(wait(after, until=until), called))


def semantic_lock(refs: Any, *parts: Any) -> Composition:
    """The parts in sequence while this composition holds flags on entities.

    Meanwhile a change of these entities from elsewhere fails with `Locked` (which may be retried). The
    flags are removed after the parts have ended in any way, compensation of a saga included. They never
    expire.

    Args:
        refs: pairs of an entity and a key.
        parts: run in sequence on the input.
    """
    return _flagged(list(refs), parts)


def _flagged(refs: list[Any], parts: tuple[Any, ...]) -> Composition:
    if not refs:
        return sequence(*parts)
    (entity, key), *more = refs
    variable = f"flagged_{len(more)}"
    body = sequence(
        _aside(call(entity, var(variable), "$lock", {})),
        ensure(_flagged(more, parts), _aside(call(entity, var(variable), "$unlock", {}))),
    )
    return let({variable: None}, assign(**{variable: key}), body)


def _aside(part: Composition) -> Composition:
    """The part, with its input as its result; an error stays an error."""
    return sequence(retain(part), path("$.params"))


# --- a transaction -------------------------------------------------------------------------------


def participant(prepare: str, commit: str, abort: str, params: Any = None) -> Composition:
    """For `transaction`: a participant that is not an entity, by its actions that prepare, commit and abort.

    Each action takes `params` (None for the value) and `{"transaction": {"id", ...}}`. A participant that
    has prepared promises that it can commit, in every case; an error in `prepare` refuses. Commit and abort
    are retried until they succeed; abort may also come to a participant that has never prepared.
    """
    return build(PARTICIPANT, prepare=prepare, commit=commit, abort=abort, params=params)


def _lower_participant(_: Assembler, __: Composition) -> None:
    raise CompositionError(
        "participant: a participant must stand in a transaction: transaction(participant(...), ...)"
    )


PARTICIPANT: Final = define(
    Row(
        type="participant",
        name="participant",
        arguments={
            "prepare": Argument(NAME),
            "commit": Argument(NAME),
            "abort": Argument(NAME),
            "params": Argument(optional(TEMPLATE), None),
        },
        lower=_lower_participant,
        unhosted=never(NO_STORE),
    )
)


def transaction(
    *parts: Any, retries: int = 10, seconds: float = 10, conflict: str = "wait"
) -> Composition:
    """Calls of entities, all or none of which take effect, isolated from all others (two-phase commit).

    In a transaction of calls (and participants) alone, each takes the input, and the result is
    `{"value": [results, in order]}`. In a transaction with other parts, the parts run in sequence and make
    their calls on the way: data that they read stays unchanged until the end, data that they write is
    visible to others only after the commit, and the result is that of the last part.

    If it fails with `TransactionAborted` and `{"reason", "retryable", ...}`, nothing has taken effect.

    Args:
        parts: the calls, participants or other parts.
        retries: the number of retries, with a delay, after a conflict with another transaction.
        seconds: the time for which it may hold locks before it commits, at most 60.
        conflict: for a transaction with other parts. `wait`: an older transaction waits for a younger one,
            and a younger one aborts; `nowait`: the transaction that comes second aborts.
    """
    return build(TRANSACTION, components=parts, retries=retries, seconds=seconds, conflict=conflict)


def _declared(parts: Iterable[Any]) -> bool:
    """True if a transaction of these parts knows its operations before it begins."""
    return all(part.row in (CALL, PARTICIPANT) for part in parts)


def _check_transaction(arguments: Mapping[str, Any]) -> Iterable[str]:
    parts = arguments["components"]
    if not parts:
        yield "give at least one call"
    if arguments["seconds"] > MAX_TRANSACTION_S:
        yield f"'seconds' must be at most {MAX_TRANSACTION_S}: others wait for the locks meanwhile"
    if _declared(parts):
        if any(part.arguments["expected_version"] is not None for part in parts
               if part.row is CALL):  # fmt: skip
            yield "'expected_version' has no use in a transaction, which locks what it reads: remove it"
        return
    for part in parts:
        for node in part.walk():
            if node.row.effect in (Effect.APART, Effect.ANY):
                yield (
                    f"'{node.type}' cannot stand in a transaction: an abort undoes only calls of entities. "
                    "Move it out; participants may stand only beside calls"
                )


def _participant(a: Assembler, index: int, node: Composition) -> dict[str, Any]:
    args = node.arguments
    if node.row is CALL:
        return {"index": index, "action": a.action(args["entity"]), **_request(node)}
    actions = [a.action(args[phase]) for phase in ("prepare", "commit", "abort")]
    params = _ALL if args["params"] is None else args["params"]
    return {"index": index, "actions": actions, "params": params}


def _lower_transaction(a: Assembler, node: Composition) -> None:
    """Emits the coordinator's loop: choose the next messages, send them, absorb the answers."""
    refuse_in_handler(a, "transaction")
    args, parts = node.arguments, node.arguments["components"]
    coordinate, decide, tell, many, tell_many, end = (a.label() for _ in range(6))
    a.emit(i.Stamp)
    a.emit(i.Attempt, policy=replace(_AFTER_CONFLICT, retries=args["retries"]))
    opening: dict[str, Any] = {"to": coordinate, "timeout_ms": round(args["seconds"] * 1000)}
    if _declared(parts):
        calls = [_participant(a, index, part) for index, part in enumerate(parts)]
        a.emit(i.Open, calls=Template.joined(calls), order="declared", **opening)
    else:
        a.emit(i.Open, order=args["conflict"], **opening)
        with a.set_apart("a transaction"):
            lower_components(a, node)
        a.emit(i.Commit)
    a.place(coordinate)
    a.emit(i.Coordinate, decide=decide, tell=tell, many=many, tell_many=tell_many, end=end)
    a.emit(i.InvokeNamed, path=a.path)
    a.emit(i.Absorb, to=coordinate)
    a.place(decide)
    _send_until_answered(a, _UNKNOWN)
    a.emit(i.Absorb, to=coordinate)
    a.place(tell)
    _send_until_answered(a)
    a.emit(i.Absorb, to=coordinate)
    for place, insist in ((many, False), (tell_many, True)):
        absorb = a.label()
        a.place(place)
        a.emit(i.Each, items=_ITEMS, to=absorb, path=a.path, errors="collect")
        if insist:
            a.emit(i.Insist)
            _send_until_answered(a)
        else:
            a.emit(i.InvokeNamed, path=a.path)
        a.emit(i.End)
        a.place(absorb)
        a.emit(i.Absorb, to=coordinate)
    a.place(end)
    a.emit(i.Settle)
    a.emit(i.Leave)


def _send_until_answered(a: Assembler, errors: tuple[str, ...] = ()) -> None:
    """Emits code that sends the message until it is answered."""
    a.emit(i.Attempt, policy=replace(_UNTIL_ANSWERED, errors=errors))
    a.emit(i.InvokeNamed, path=a.path)
    a.emit(i.Settle)


TRANSACTION: Final = define(
    Row(
        type="transaction",
        name="transaction",
        arguments={
            **COMPONENTS,
            "retries": Argument(COUNT, 10),
            "seconds": Argument(SECONDS, 10.0),
            "conflict": Argument(choice("wait", "nowait"), "wait"),
        },
        check=_check_transaction,
        lower=_lower_transaction,
        whole="a transaction is decided in the run that began it: move it after the transaction",
        unhosted=never(NO_STORE),
    )
)
