"""What the combinators become that span several entities: calls, transactions, sagas and their steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import instructions as i
from ..compensations import UNKNOWN
from ..coordinator import CONFLICT
from ..errors import CompositionError
from ..expressions import Template, path
from ..retries import RetryPolicy
from .grammar import declared
from .policies import AlwaysRevertAll, ForEach, ParameterizedForEach, Times

if TYPE_CHECKING:
    from .assembler import Assembler, Lowering
    from .composition import Composition

_ITEMS = Template.of(path("$.value", default=None))
_ALL = Template.of(path("$"))
_AGAIN = RetryPolicy(
    retries=0, delay_ms=5, backoff=2, max_delay_ms=1_000, jitter=0.9, errors=(CONFLICT,)
)
_INSISTING = RetryPolicy(retries=None, delay_ms=500, backoff=2, max_delay_ms=60_000, jitter=0.5)
# After these nobody knows whether the participant has decided: it is asked until it says so.
_UNHEARD = (*sorted(UNKNOWN), "Unavailable", "Throttled")
_FOREVER = RetryPolicy(retries=None, delay_ms=1_000, backoff=2, max_delay_ms=60_000, jitter=0.5)


# --- entities and transactions -----------------------------------------------------------------


def _call(a: Assembler, node: Composition) -> None:
    message = Template.joined(_asked(node))
    a.emit(i.Operate, action=a.action(node.arguments["entity"]), message=message, path=a.path)


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


def _participating(a: Assembler, index: int, node: Composition) -> dict[str, Any]:
    args = node.arguments
    if node.type == "call":
        return {"index": index, "action": a.action(args["entity"]), **_asked(node)}
    actions = [a.action(args[phase]) for phase in ("prepare", "commit", "abort")]
    params = _ALL if args["params"] is None else args["params"]
    return {"index": index, "actions": actions, "params": params}


def _participant(_: Assembler, __: Composition) -> None:
    raise CompositionError(
        "participant: a participant is a part of a transaction: transaction(participant(...), ...)"
    )


def _transaction(a: Assembler, node: Composition) -> None:
    """The coordinator's code: what to send next, sending it, taking in the answers, again."""
    args, parts = node.arguments, node.arguments["components"]
    coordinate, decide, tell, many, tell_many, end = (a.label() for _ in range(6))
    a.emit(i.Stamp)
    a.emit(i.Attempt, policy=replace(_AGAIN, retries=args["retries"]))
    opening: dict[str, Any] = {"to": coordinate, "timeout_ms": round(args["seconds"] * 1000)}
    if declared(parts):
        calls = [_participating(a, index, part) for index, part in enumerate(parts)]
        a.emit(i.Open, calls=Template.joined(calls), order="declared", **opening)
    else:
        a.emit(i.Open, order=args["conflict"], **opening)
        a.parts(node)
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


# --- sagas -------------------------------------------------------------------------------------


def _saga(a: Assembler, node: Composition) -> None:
    """The steps; then, where nothing comes by but by unwinding, the code that undoes them."""
    args = node.arguments
    undo, group, stop, end = (a.label() for _ in range(4))
    if args["seconds"] is not None:
        a.emit(i.Limit, timeout_ms=max(1, round(args["seconds"] * 1000)))
    tries = _tries(a, args["retry"])
    a.emit(i.Enter, to=undo, all=isinstance(args["retry"], AlwaysRevertAll))
    with a.inside("saga"):
        a.parts(node)
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


def _step(a: Assembler, node: Composition) -> None:
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
        a.part("do", args["do"])
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
            a.part("undo", args["undo"])
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


SPANNING: dict[str, Lowering] = {
    "call": _call,
    "participant": _participant,
    "transaction": _transaction,
    "saga": _saga,
    "step": _step,
}
