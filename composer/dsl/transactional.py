"""Combinators of entities and of what spans several of them: calls, transactions, sagas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..expressions import path, var
from .combinators import assign, asynchronous, ensure, let, retain, sequence, wait
from .composition import build
from .functions import ActionFunction

if TYPE_CHECKING:
    from datetime import datetime

    from ..expressions import Selector
    from .composition import Composition
    from .policies import Policy


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


def saga(*parts: Any, retry: Policy | None = None, seconds: float | None = None) -> Composition:
    """Steps in sequence, all of them or none in the end: what is done is undone when one fails.

    Steps may stand in any other combinator (in `parallel`, in `when`, in a loop). What is undone is
    undone in reverse order, what was done in branches beside each other; then the saga fails as its
    step did: whoever hears of it hears that all is undone. A saga that is cancelled, or takes longer than
    `seconds`, is undone as well. A saga in a saga is undone with it even when it has succeeded.

    Args:
        parts: steps, and what shapes data for them.
        retry: whether it is tried again when it has been undone: `Times(3)`, `ForEach(...)`, ...
        seconds: that it may take in all, up to its pivot.
    """
    return build("saga", components=parts, retry=retry, seconds=seconds)


def step(  # noqa: PLR0913  a step has as many sides
    do: Any,
    undo: Any = None,
    *,
    pivot: bool = False,
    retriable: bool = False,
    no_undo: str | None = None,
    undo_on_failure: bool = False,
    retries: int | None = None,
    delay: float = 1,
    seconds: float | None = None,
    undo_retries: int | None = 5,
    undo_delay: float = 1,
) -> Composition:
    """A step of a saga: what is done, and how that is undone.

    Its result is that of `do`. The undo takes `{"input": ..., "result": ...}` of the step, or
    `"error"` for the result when nobody knows whether it was done. An action sees the same
    idempotency key however often it is tried.

    Args:
        do: what is done: an action, a call of an entity, any composition.
        undo: what undoes it; it is tried until it succeeds, or the saga is stuck.
        pivot: it decides: once it has succeeded the saga is not undone any more. Whether it has is asked
            until it is known.
        retriable: it is tried until it succeeds. After the pivot every step must be.
        no_undo: why there is nothing to undo ("it only reads").
        undo_on_failure: its undo runs also when it has failed, for what it has done by then.
        retries: so many more attempts; None for none, and for as many as it takes of a retriable one.
            When these are spent a retriable step leaves the saga stuck.
        delay: seconds before the first of them; each further one is twice as long, up to a minute.
        seconds: that each attempt may take.
        undo_retries: further attempts of the undo before the saga is stuck; None for no end.
        undo_delay: as `delay`.
    """
    return build(
        "step",
        do=do,
        undo=undo,
        pivot=pivot,
        retriable=retriable,
        no_undo=no_undo,
        undo_on_failure=undo_on_failure,
        retries=retries,
        delay=delay,
        seconds=seconds,
        undo_retries=undo_retries,
        undo_delay=undo_delay,
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
