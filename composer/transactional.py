"""Combinators of entities and of what spans several of them: calls, transactions, sagas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .combinators import assign, asynchronous, ensure, let, retain, sequence, wait
from .composition import build
from .expressions import path, var
from .functions import ActionFunction

if TYPE_CHECKING:
    from datetime import datetime

    from .composition import Composition
    from .expressions import Selector


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
        "call",
        **_entity(entity),
        key=key,
        operation=operation,
        params=params,
        read=read,
        expected_version=expected_version,
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


def participant(prepare: str, commit: str, abort: str, params: Any = None) -> Composition:
    """For `transaction`: what is no entity, by three actions that prepare, commit and abort.

    Each is given `params` (the value when None) and `{"transaction": {"id", ...}}`. To prepare is to
    promise, whatever happens, to be able to commit; an error refuses. Commit and abort are asked again
    until they succeed, and abort also of one that has never prepared.
    """
    return build("participant", prepare=prepare, commit=commit, abort=abort, params=params)


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
    return build(
        "transaction", components=parts, retries=retries, seconds=seconds, conflict=conflict
    )


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


def _entity(value: Any) -> dict[str, Any]:
    """The name of an entity type, and what it is, to be deployed with the composition."""
    if isinstance(value, ActionFunction):
        return {"entity": value.name, "action": value}
    return {"entity": value}
