"""Sagas: sequences of steps that undo the finished steps when a later step fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import CompositionError
from ...expressions import Template, path
from ...machine import instructions as i
from ...machine.retries import RetryPolicy
from ...machine.sagas.compensations import UNKNOWN
from .. import policies
from ..arguments import COUNT, DELAY, FIELD, FLAG, SECONDS, Argument, Kind, optional
from ..composition import Effect, Row, build, define
from ..grammar import COMPONENTS, PART
from ..hosting import NO_STORE, never
from ..lowering import lower, lower_components
from ..policies import AlwaysRevertAll, ForEach, ParameterizedForEach, Times
from .transactions import CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..assembler import Assembler
    from ..composition import Composition
    from ..policies import Policy

_ITEMS = Template.of(path("$.value", default=None))
_FOREVER = RetryPolicy(retries=None, delay_ms=1_000, backoff=2, max_delay_ms=60_000, jitter=0.5)


# --- a saga --------------------------------------------------------------------------------------


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
    return build(SAGA, components=parts, retry=retry, seconds=seconds)


def _check_saga(arguments: Mapping[str, Any]) -> Iterable[str]:
    if not arguments["components"]:
        yield "give at least one step"
    passed, why = False, None
    for part in arguments["components"]:
        if why is None:
            passed, why = _checked(part, passed, in_order=True)
    if why is not None:
        yield why


def _checked(node: Composition, passed: bool, *, in_order: bool) -> tuple[bool, str | None]:
    """Whether the pivot has passed after a part of a saga, and what is wrong with it."""
    if node.row is CALL and node.arguments["read"]:
        return passed, None
    if node.row.effect in (Effect.ENTITY, Effect.ANY):
        what = node.arguments.get("name") or node.arguments.get("entity") or node.type
        return passed, f"{what!r} may have an effect: make it a step, step({what!r}, undo=...)"
    if node.row is STEP:
        return _step_checked(node, passed, in_order=in_order)
    if node.row.fails and passed:
        return passed, "after the pivot it only goes forward: nothing may raise an error"
    here = in_order and node.row.in_order
    for _, child in node.children():
        passed, why = _checked(child, passed, in_order=here)
        if why is not None:
            return passed, why
    return passed, None


def _step_checked(node: Composition, passed: bool, *, in_order: bool) -> tuple[bool, str | None]:
    if node.arguments["pivot"]:
        if passed:
            return (
                passed,
                "it has two pivots: once the first has passed, there is no second decision",
            )
        if not in_order:
            return passed, "a pivot stands in the saga's own sequence, not in a branch or a loop"
        return True, None
    if passed and not node.arguments["retriable"]:
        return passed, "after the pivot it only goes forward: every step must be retriable=True"
    if (
        not passed
        and node.arguments["retriable"]
        and not (node.arguments["undo"] or node.arguments["no_undo"])
    ):
        return passed, "a retriable step before the pivot may have to be undone: give its 'undo'"
    return passed, None


def _lower_saga(a: Assembler, node: Composition) -> None:
    """The steps; then, where nothing comes by but by unwinding, the code that undoes them."""
    args = node.arguments
    undo, group, stop, end = (a.label() for _ in range(4))
    if args["seconds"] is not None:
        a.emit(i.Limit, timeout_ms=max(1, round(args["seconds"] * 1000)))
    tries = _tries(a, args["retry"])
    a.emit(i.Enter, to=undo, all=isinstance(args["retry"], AlwaysRevertAll))
    with a.inside("saga"):
        lower_components(a, node)
    a.emit(i.Complete)
    a.emit(i.Jump, to=end)
    a.place(undo)
    a.emit(i.Compensate, group=group, end=stop)
    a.place(group)
    a.emit(i.Each, items=_ITEMS, to=undo, path=a.path, errors="wait")
    a.emit(i.Resume, to=undo)
    a.place(stop)
    a.emit(i.End)
    a.place(end)
    if tries:
        a.emit(i.Settle)
    if args["seconds"] is not None:
        a.emit(i.Leave)


def _tries(a: Assembler, policy: Any) -> bool:
    """Begins the attempts of a saga that is tried again. Whether it is."""
    match policy:
        case Times(attempts, delay):
            a.emit(
                i.Attempt, policy=RetryPolicy(retries=attempts - 1, delay_ms=round(delay * 1000))
            )
        case ForEach(values, into):
            each = Template.literal(list(values))
            a.emit(i.Attempt, policy=RetryPolicy(retries=None), each=each, field=into)
        case ParameterizedForEach(values, into):
            a.emit(i.Attempt, policy=RetryPolicy(retries=None), each=values, field=into)
        case _:
            return False
    return True


SAGA: Final = define(
    Row(
        type="saga",
        name="saga",
        arguments={
            **COMPONENTS,
            "retry": Argument(Kind(policies.take, policies.write, policies.read), None),
            "seconds": Argument(optional(SECONDS), None),
        },
        check=_check_saga,
        lower=_lower_saga,
        effect=Effect.APART,
        in_order=True,
        unhosted=never(NO_STORE),
    )
)


# --- a step of it --------------------------------------------------------------------------------


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
        STEP,
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


def _check_step(arguments: Mapping[str, Any]) -> Iterable[str]:
    how = [name for name in ("undo", "pivot", "retriable", "no_undo") if arguments[name]]
    if not how:
        yield (
            "say how its effect is undone: undo=..., or pivot=True (it decides), retriable=True (it "
            "is done in the end), or no_undo='why it needs none'"
        )
    if arguments["pivot"] and len(how) > 1:
        yield (
            f"a pivot is not undone, nor tried until it is done: leave out {how[0]!r}"
            if (how[0] != "pivot")
            else f"a pivot is not undone, nor tried until it is done: leave out {how[1]!r}"
        )
    if arguments["undo"] and arguments["no_undo"]:
        yield "give 'undo', or in 'no_undo' why it needs none"
    if arguments["undo_on_failure"] and not arguments["undo"]:
        yield "'undo_on_failure' needs an 'undo'"
    if arguments["pivot"] and arguments["retries"] is not None:
        yield "a pivot's 'retries' cannot be counted: it is asked until it says yes or no"


def _lower_step(a: Assembler, node: Composition) -> None:
    args = node.arguments
    if not a.stands_in("saga"):
        raise CompositionError("step: a step is a part of a saga: saga(step(...), ...)")
    done, undo, end = a.label(), a.label(), a.label()
    undoes = args["undo"] is not None
    a.emit(
        i.Begin,
        done=done,
        undo=undo if undoes else None,
        path=a.path,
        always=args["undo_on_failure"],
        pivot=args["pivot"],
    )
    with a.inside("step"):
        policy = _policy(args)
        if policy is not None:
            a.emit(i.Attempt, policy=policy)
        if args["seconds"] is not None:
            a.emit(i.Limit, timeout_ms=max(1, round(args["seconds"] * 1000)))
        lower(a, "do", args["do"])
        if args["seconds"] is not None:
            a.emit(i.Leave)
        if policy is not None:
            a.emit(i.Settle)
        a.place(done)
        a.emit(i.Done)
        if undoes:
            a.emit(i.Jump, to=end)
            a.place(undo)
            a.emit(i.Attempt, policy=_undoing(args))
            lower(a, "undo", args["undo"])
            a.emit(i.Settle)
            a.emit(i.Compensated)
            a.place(end)


def _policy(args: Any) -> RetryPolicy | None:
    """How a step is tried again: one that must be done, until it is; a pivot, until it is known."""
    retries, delay_ms = args["retries"], round(args["delay"] * 1000)
    if args["retriable"]:
        if retries is None:
            return replace(_FOREVER, delay_ms=delay_ms)
        return replace(_FOREVER, retries=retries, delay_ms=delay_ms, pause=True, stuck=True)
    if args["pivot"]:
        return replace(_FOREVER, delay_ms=delay_ms, errors=tuple(sorted(UNKNOWN)))
    if not retries:
        return None
    return replace(_FOREVER, retries=retries, delay_ms=delay_ms)


def _undoing(args: Any) -> RetryPolicy:
    delay_ms = round(args["undo_delay"] * 1000)
    return replace(
        _FOREVER, retries=args["undo_retries"], delay_ms=delay_ms, pause=True, stuck=True
    )


STEP: Final = define(
    Row(
        type="step",
        name="step",
        arguments={
            "do": Argument(PART),
            "undo": Argument(optional(PART), None),
            "pivot": Argument(FLAG, False),
            "retriable": Argument(FLAG, False),
            "no_undo": Argument(optional(FIELD), None),
            "undo_on_failure": Argument(FLAG, False),
            "retries": Argument(optional(COUNT), None),
            "delay": Argument(DELAY, 1.0),
            "seconds": Argument(optional(SECONDS), None),
            "undo_retries": Argument(optional(COUNT), 5),
            "undo_delay": Argument(DELAY, 1.0),
        },
        check=_check_step,
        lower=_lower_step,
        effect=Effect.APART,
        unhosted=never(NO_STORE),
    )
)
