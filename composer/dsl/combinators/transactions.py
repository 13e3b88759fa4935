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
from ..lowering import lower_components
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
_AGAIN = RetryPolicy(
    retries=0, delay_ms=5, backoff=2, max_delay_ms=1_000, jitter=0.9, errors=(CONFLICT,)
)
_INSISTING = RetryPolicy(retries=None, delay_ms=500, backoff=2, max_delay_ms=60_000, jitter=0.5)
# After these nobody knows whether the participant has decided: it is asked until it says so.
_UNHEARD = (*sorted(UNKNOWN), "Unavailable", "Throttled")


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
        entity: its type: an `@entity`, or the name of an action that is one.
        key: which of that type: a string, or a path to one.
        operation: what it is to do.
        params: for the operation, a template; the value when None.
        read: it leaves the state as it is: several may do so at once.
        expected_version: fails with `VersionConflict` when the entity has changed since that one.
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
    """The name of an entity type, and what it is, to be deployed with the composition."""
    if isinstance(value, ActionFunction):
        return {"entity": value.name, "action": value}
    return {"entity": value}


def _asked(node: Composition) -> dict[str, Any]:
    """A call as JSON with templates in it."""
    args = node.arguments
    asked: dict[str, Any] = {
        "key": args["key"],
        "operation": args["operation"],
        "params": _ALL if args["params"] is None else args["params"],
    }
    if args["read"]:
        asked["read"] = True
    if args["expected_version"] is not None:
        asked["expected_version"] = args["expected_version"]
    return asked


def _lower_call(a: Assembler, node: Composition) -> None:
    message = Template.joined(_asked(node))
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
    """An operation of an entity that nobody waits for: now, after some seconds, or at an instant."""
    asked = call(entity, key, operation, params)
    if after is None and until is None:
        return asynchronous(asked)
    return asynchronous(sequence(wait(after, until=until), asked))


def semantic_lock(refs: Any, *parts: Any) -> Composition:
    """The parts in sequence while entities are flagged as this composition's, and nobody else's.

    Meanwhile whatever would change them from elsewhere fails with `Locked` (which may be retried). The
    flags go when the parts have ended, however that is, a saga's compensation included; never for time.

    Args:
        refs: pairs of an entity and a key.
        parts: what runs, with the input.
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
    """The part, and then its input: an error stays one."""
    return sequence(retain(part), path("$.params"))


# --- a transaction -------------------------------------------------------------------------------


def participant(prepare: str, commit: str, abort: str, params: Any = None) -> Composition:
    """For `transaction`: what is no entity, by three actions that prepare, commit and abort.

    Each is given `params` (the value when None) and `{"transaction": {"id", ...}}`. To prepare is to
    promise, whatever happens, to be able to commit; an error refuses. Commit and abort are asked again
    until they succeed, and abort also of one that has never prepared.
    """
    return build(PARTICIPANT, prepare=prepare, commit=commit, abort=abort, params=params)


def _lower_participant(_: Assembler, __: Composition) -> None:
    raise CompositionError(
        "participant: a participant is a part of a transaction: transaction(participant(...), ...)"
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
    """Calls of entities, all of them or none, as if nothing else happened meanwhile (two-phase commit).

    Of calls alone (and participants) the input is each one's, and the result `{"value": [results, in
    order]}`. Other parts are run in sequence, their calls each as it comes: what they read stays as it
    is until the end, and what they write nobody else sees before; the result is that of the last.

    Fails with `TransactionAborted` and `{"reason", "retryable", ...}`: then nothing is done.

    Args:
        parts: what is done.
        retries: when it has met another transaction: so many more times, after a while.
        seconds: that it may hold what it has locked before it commits, 60 at most.
        conflict: for one that works as it goes: `wait`, the older waits for the younger and a younger
            one gives way; `nowait`, whoever comes second gives way.
    """
    return build(TRANSACTION, components=parts, retries=retries, seconds=seconds, conflict=conflict)


def _declared(parts: Iterable[Any]) -> bool:
    """Whether a transaction of these parts knows its operations before it begins."""
    return all(part.row in (CALL, PARTICIPANT) for part in parts)


def _check_transaction(arguments: Mapping[str, Any]) -> Iterable[str]:
    parts = arguments["components"]
    if not parts:
        yield "give at least one call"
    if arguments["seconds"] > MAX_TRANSACTION_S:
        yield f"'seconds' must be at most {MAX_TRANSACTION_S}: nobody waits for a lock for longer"
    if _declared(parts):
        if any(part.arguments["expected_version"] is not None for part in parts
               if part.row is CALL):  # fmt: skip
            yield "'expected_version' is for calls outside: within, what is read stays as it is"
        return
    for part in parts:
        for node in part.walk():
            if node.row.effect in (Effect.APART, Effect.ANY):
                yield (
                    f"'{node.type}' cannot take part: what is not a call of an entity is not undone "
                    "when it aborts (several calls alone make a transaction of any participants)"
                )


def _participating(a: Assembler, index: int, node: Composition) -> dict[str, Any]:
    args = node.arguments
    if node.row is CALL:
        return {"index": index, "action": a.action(args["entity"]), **_asked(node)}
    actions = [a.action(args[phase]) for phase in ("prepare", "commit", "abort")]
    params = _ALL if args["params"] is None else args["params"]
    return {"index": index, "actions": actions, "params": params}


def _lower_transaction(a: Assembler, node: Composition) -> None:
    """The coordinator's code: what to send next, sending it, taking in the answers, again."""
    args, parts = node.arguments, node.arguments["components"]
    coordinate, decide, tell, many, tell_many, end = (a.label() for _ in range(6))
    a.emit(i.Stamp)
    a.emit(i.Attempt, policy=replace(_AGAIN, retries=args["retries"]))
    opening: dict[str, Any] = {"to": coordinate, "timeout_ms": round(args["seconds"] * 1000)}
    if _declared(parts):
        calls = [_participating(a, index, part) for index, part in enumerate(parts)]
        a.emit(i.Open, calls=Template.joined(calls), order="declared", **opening)
    else:
        a.emit(i.Open, order=args["conflict"], **opening)
        lower_components(a, node)
        a.emit(i.Commit)
    a.place(coordinate)
    a.emit(i.Coordinate, decide=decide, tell=tell, many=many, tell_many=tell_many, end=end)
    a.emit(i.InvokeNamed, path=a.path)
    a.emit(i.Absorb, to=coordinate)
    a.place(decide)
    _insist(a, _UNHEARD)
    a.emit(i.Absorb, to=coordinate)
    a.place(tell)
    _insist(a)
    a.emit(i.Absorb, to=coordinate)
    for place, insists in ((many, False), (tell_many, True)):
        absorb = a.label()
        a.place(place)
        a.emit(i.Each, items=_ITEMS, to=absorb, path=a.path, errors="collect")
        if insists:
            a.emit(i.Insist)
            _insist(a)
        else:
            a.emit(i.InvokeNamed, path=a.path)
        a.emit(i.End)
        a.place(absorb)
        a.emit(i.Absorb, to=coordinate)
    a.place(end)
    a.emit(i.Settle)
    a.emit(i.Leave)


def _insist(a: Assembler, errors: tuple[str, ...] = ()) -> None:
    """Sends the message until it is answered."""
    a.emit(i.Attempt, policy=replace(_INSISTING, errors=errors))
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
        unhosted=never(NO_STORE),
    )
)
