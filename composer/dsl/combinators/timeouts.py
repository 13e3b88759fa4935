"""The combinator for the timeouts of a step: in a queue, of an attempt, of all attempts, between heartbeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...machine import instructions as i
from ...machine.frames import HEARTBEAT, IN_ALL, TO_END, TO_START
from ..arguments import SECONDS, Argument, optional
from ..composition import Effect, Row, build, define
from ..grammar import COMPONENTS
from ..hosting import NO_TIMER, never
from ..lowering import lower_components
from .actions import ACTION, DYNAMIC
from .errors import RETRY, policy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..assembler import Assembler
    from ..composition import Composition, Part

_OF_ATTEMPT: Final = (TO_START, TO_END, HEARTBEAT)
_WORDS: Final = {
    TO_START: "taken within {:g} s",
    TO_END: "each attempt within {:g} s",
    HEARTBEAT: "a heartbeat every {:g} s",
    IN_ALL: "within {:g} s in all",
}


def within(
    *parts: Part,
    to_start: float | None = None,
    to_end: float | None = None,
    in_all: float | None = None,
    heartbeat: float | None = None,
) -> Composition:
    """The parts in sequence, with timeouts; the one that passes first fails with `Timeout`.

    If the only part is a `retry`, then `to_start`, `to_end` and `heartbeat` apply to each attempt of it. The
    error names the timeout in its field `timeout`.

    Args:
        parts: run in sequence; `to_start` and `heartbeat` need a single action, or a retry of one.
        to_start: seconds until a worker takes the action from its queue; this failure is not retried.
        to_end: seconds for one attempt, from when a worker takes the action.
        in_all: seconds for all attempts and the delays between them.
        heartbeat: seconds between two heartbeats of the action.
    """
    return build(
        WITHIN,
        components=parts,
        to_start=to_start,
        to_end=to_end,
        in_all=in_all,
        heartbeat=heartbeat,
    )


def _check_within(arguments: Mapping[str, Any]) -> Iterable[str]:
    if all(arguments[bound] is None for bound in _WORDS):
        yield "give at least one of 'to_start', 'to_end', 'in_all' and 'heartbeat'"
    for bound in (TO_START, HEARTBEAT):
        if arguments[bound] is not None and not _is_one_step(arguments["components"]):
            yield f"'{bound}' needs a single action, or a retry of one, as the only part"


def _is_one_step(parts: tuple[Composition, ...]) -> bool:
    """True if the parts are one action, or a retry of one."""
    if len(parts) == 1 and parts[0].row is RETRY:
        parts = parts[0].arguments["components"]
    return len(parts) == 1 and parts[0].row in (ACTION, DYNAMIC)


def _lower_within(a: Assembler, node: Composition) -> None:
    args, parts = node.arguments, node.arguments["components"]
    of_step = _is_one_step(parts)
    outer = _limits(a, args, (IN_ALL,), of_step=False)
    if len(parts) == 1 and parts[0].row is RETRY:
        with a.within("components[0]"):
            a.emit(i.Attempt, policy=policy_of(parts[0]))
            inner = _limits(a, args, _OF_ATTEMPT, of_step=of_step)
            lower_components(a, parts[0])
            _leave(a, inner)
            a.emit(i.Settle)
    else:
        inner = _limits(a, args, _OF_ATTEMPT, of_step=of_step)
        lower_components(a, node)
        _leave(a, inner)
    _leave(a, outer)


def _limits(
    a: Assembler, args: Mapping[str, Any], bounds: tuple[str, ...], *, of_step: bool
) -> int:
    """Emits the limits that are given. Returns their number."""
    given = [bound for bound in bounds if args[bound] is not None]
    for bound in given:
        timeout_ms = max(1, round(args[bound] * 1000))
        once_taken = of_step and bound != TO_START
        a.emit(i.Limit, timeout_ms=timeout_ms, bound=bound, once_taken=once_taken)
    return len(given)


def _leave(a: Assembler, frames: int) -> None:
    for _ in range(frames):
        a.emit(i.Leave)


def _title_of_within(args: Mapping[str, Any]) -> str:
    given = (text.format(args[name]) for name, text in _WORDS.items() if args[name] is not None)
    return ", ".join(given)


_BOUND: Final = Argument(optional(SECONDS), None)

WITHIN: Final = define(
    Row(
        type="within",
        name="within",
        arguments={
            **COMPONENTS,
            "to_start": _BOUND,
            "to_end": _BOUND,
            "in_all": _BOUND,
            "heartbeat": _BOUND,
        },
        check=_check_within,
        lower=_lower_within,
        title=_title_of_within,
        effect=Effect.NONE,
        unhosted=never(NO_TIMER),
    )
)
