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
from ..arguments import COUNT, DELAY, FIELD, FLAG, SECONDS, Argument, optional
from ..composition import Effect, Row, build, define
from ..grammar import COMPONENTS, PART
from ..hosting import NO_STORE, never
from ..lowering import lower, lower_components, refuse_in_handler
from ..policies import AlwaysRevertAll, ForEach, ParameterizedForEach, Times
from .transactions import CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..assembler import Assembler
    from ..composition import Composition
    from ..policies import Policy

_ITEMS = Template.of(path("$.value", default=None))
_FOREVER = RetryPolicy(retries=None, delay_ms=1_000, backoff=2, max_delay_ms=60_000, jitter=0.5)
_WHOLE: Final = "a saga that has begun is done or undone in one run: move it after the saga"


# --- a saga --------------------------------------------------------------------------------------


def saga(*parts: Any, retry: Policy | None = None, seconds: float | None = None) -> Composition:
    """Steps in sequence; if a step fails, the saga undoes the completed steps.

    Steps may stand in any other combinator (in `parallel`, in `when`, in a loop). The saga undoes steps in
    reverse order, those of parallel branches in parallel. Then it fails as its step did, so its failure
    means that everything is undone. A saga that is cancelled, or that takes longer than `seconds`, is
    undone too. A saga inside a saga is undone with the outer one, even after it has succeeded.

    Args:
        parts: steps, and parts that shape data for them.
        retry: the policy by which the saga runs again after it was undone: `Times(3)`, `ForEach(...)`, ...
        seconds: the time that the saga may take up to its pivot.
    """
    return build(SAGA, components=parts, retry=retry, seconds=seconds)


def _check_saga(arguments: Mapping[str, Any]) -> Iterable[str]:
    if not arguments["components"]:
        yield "give at least one step"
    passed, why = False, None
    for part in arguments["components"]:
        if why is None:
            passed, why = _check_part(part, passed, in_order=True)
    if why is not None:
        yield why


def _check_part(node: Composition, passed: bool, *, in_order: bool) -> tuple[bool, str | None]:
    """Checks a part of a saga. True if the pivot has passed after the part; and the part's problem."""
    if node.row is CALL and node.arguments["read"]:
        return passed, None
    if node.row.effect in (Effect.ENTITY, Effect.ANY):
        what = node.arguments.get("name") or node.arguments.get("entity") or node.type
        return passed, f"{what!r} may have an effect: make it a step, step({what!r}, undo=...)"
    if node.row is STEP:
        return _check_step_in_saga(node, passed, in_order=in_order)
    if node.row.fails and passed:
        return (
            passed,
            "a saga cannot be undone after its pivot: remove the part that raises an error",
        )
    here = in_order and node.row.in_order
    for _, child in node.children():
        passed, why = _check_part(child, passed, in_order=here)
        if why is not None:
            return passed, why
    return passed, None


def _check_step_in_saga(
    node: Composition, passed: bool, *, in_order: bool
) -> tuple[bool, str | None]:
    if node.arguments["pivot"]:
        if passed:
            return (
                passed,
                "a saga has at most one pivot: remove pivot=True from the other steps",
            )
        if not in_order:
            return (
                passed,
                "a pivot must stand in the saga's own sequence, not in a branch or a loop",
            )
        return True, None
    if passed and not node.arguments["retriable"]:
        return (
            passed,
            "a saga cannot be undone after its pivot: give every later step retriable=True",
        )
    if (
        not passed
        and node.arguments["retriable"]
        and not (node.arguments["undo"] or node.arguments["no_undo"])
    ):
        return passed, "a retriable step before the pivot may have to be undone: give it an 'undo'"
    return passed, None


def _lower_saga(a: Assembler, node: Composition) -> None:
    """Emits the steps; then the code that undoes them, which only unwinding reaches."""
    args = node.arguments
    undo, group, stop, end = (a.label() for _ in range(4))
    if args["seconds"] is not None:
        a.emit(i.Limit, timeout_ms=max(1, round(args["seconds"] * 1000)))
    has_attempts = _emit_attempts(a, args["retry"])
    a.emit(i.Enter, to=undo, all=isinstance(args["retry"], AlwaysRevertAll))
    refuse_in_handler(a, "saga")
    with a.inside("saga"), a.set_apart("a saga"):
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
    if has_attempts:
        a.emit(i.Settle)
    if args["seconds"] is not None:
        a.emit(i.Leave)


def _emit_attempts(a: Assembler, policy: Any) -> bool:
    """Emits the beginning of a saga's attempts. True if its policy has any."""
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
            "retry": Argument(policies.POLICY, None),
            "seconds": Argument(optional(SECONDS), None),
        },
        check=_check_saga,
        lower=_lower_saga,
        whole=_WHOLE,
        effect=Effect.APART,
        in_order=True,
        unhosted=never(NO_STORE),
    )
)


# --- a step --------------------------------------------------------------------------------------


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
    """A step of a saga: an operation, and the operation that undoes it.

    The result of the step is that of `do`. The undo takes `{"input": ..., "result": ...}` of the step, or
    `"error"` in place of the result if the outcome of the step is unknown. All attempts of an action have
    the same idempotency key.

    Args:
        do: the operation: an action, a call of an entity, any composition.
        undo: the part that undoes it; it is retried until it succeeds or the saga is stuck.
        pivot: True if the saga is not undone any more once this step has succeeded. A pivot is retried
            until its outcome is known.
        retriable: True to retry the step until it succeeds. Every step after the pivot must be retriable.
        no_undo: the reason why there is nothing to undo ("it only reads").
        undo_on_failure: True to undo the step also after it failed, for its side effects until then.
        retries: the number of retries; None for no retries, and of a retriable step for no limit. A
            retriable step that has used up its retries leaves the saga stuck.
        delay: seconds before the first retry; each further delay is twice as long, up to a minute.
        seconds: the time that each attempt may take.
        undo_retries: the number of retries of the undo before the saga is stuck; None for no limit.
        undo_delay: as `delay`, for the undo.
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
            "say how its effect is undone: give undo=..., pivot=True (the saga is not undone after it), "
            "retriable=True (it is retried until it succeeds) or no_undo='why there is nothing to undo'"
        )
    if arguments["pivot"] and len(how) > 1:
        other = next(name for name in how if name != "pivot")
        yield f"a pivot is neither undone nor retriable: remove {other!r}"
    if arguments["undo"] and arguments["no_undo"]:
        yield "give either 'undo' or 'no_undo', not both"
    if arguments["undo_on_failure"] and not arguments["undo"]:
        yield "'undo_on_failure' needs an 'undo'"
    if arguments["pivot"] and arguments["retries"] is not None:
        yield "a pivot takes no 'retries': it is retried until its outcome is known"


def _lower_step(a: Assembler, node: Composition) -> None:
    args = node.arguments
    if not a.is_directly_inside("saga"):
        raise CompositionError("step: a step must stand in a saga: saga(step(...), ...)")
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
        policy = _step_policy(args)
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
            a.emit(i.Attempt, policy=_undo_policy(args))
            lower(a, "undo", args["undo"])
            a.emit(i.Settle)
            a.emit(i.Compensated)
            a.place(end)


def _step_policy(args: Any) -> RetryPolicy | None:
    """The retry policy of a step: a retriable one until it succeeds, a pivot until its outcome is known."""
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


def _undo_policy(args: Any) -> RetryPolicy:
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
        whole=_WHOLE,
        effect=Effect.APART,
        unhosted=never(NO_STORE),
    )
)
