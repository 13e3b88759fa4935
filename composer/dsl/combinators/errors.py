"""Combinators for failures: raise an error, retry, catch, clean up, and limit the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import CompositionError
from ...expressions import Selector
from ...machine import instructions as i
from ...machine.retries import MAX_DELAY_MS, RetryPolicy
from ..arguments import (
    CONDITION,
    COUNT,
    DELAY,
    ERRORS,
    FACTOR,
    FIELD,
    SECONDS,
    SHARE,
    TEMPLATE,
    Argument,
    choice,
    optional,
)
from ..composition import Effect, Row, build, define
from ..drawing import draw, draw_data, title
from ..grammar import COMPONENTS, PART
from ..hosting import NO_STORE, NO_TIMER, never
from ..lowering import lower, lower_components
from .control import sequence
from .data import assign, let

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...expressions import Predicate
    from ..assembler import Assembler
    from ..canvas import Canvas, Ends
    from ..composition import Composition, Errors, Part


# --- raise ---------------------------------------------------------------------------------------


def raise_error(code: str, message: Any = "") -> Composition:
    """Fails with the error `{"code": code, "message": message}`; the message may be a template."""
    return build(RAISE, code=code, message=message)


def _lower_raise(a: Assembler, node: Composition) -> None:
    a.emit(i.Raise, code=node.arguments["code"], template=node.arguments["message"])


RAISE: Final = define(
    Row(
        type="raise",
        name="raise_error",
        arguments={"code": Argument(FIELD), "message": Argument(TEMPLATE, "")},
        lower=_lower_raise,
        draw=draw_data,
        title=lambda args: f"raise {args['code']}",
        effect=Effect.NONE,
        fails=True,
    )
)


# --- retry ---------------------------------------------------------------------------------------


def retry(  # noqa: PLR0913  a policy has as many sides
    count: int | None,
    *parts: Part,
    delay: float = 0,
    backoff: float = 1,
    max_delay: float | None = None,
    jitter: float = 0,
    errors: Errors = (),
    except_errors: Errors = (),
    until: Predicate | None = None,
    on_exhausted: str = "raise",
) -> Composition:
    """The parts in sequence, retried on the same input when they fail.

    Args:
        count: the maximum number of retries (so `count + 1` attempts); None for no limit.
        parts: run in sequence in each attempt.
        delay: seconds before the first retry.
        backoff: the factor by which each further delay grows.
        max_delay: the longest delay in seconds.
        jitter: the share of each delay, 0 to 1, that is random.
        errors: failures to retry, by name (`Timeout`, an error's code) or by the class of an exception
            (`ConnectionError` or "ConnectionError", which also means its subclasses); empty for all.
        except_errors: failures that are never retried, named in the same way; looked at before `errors`.
        until: a predicate on the result; a result that does not fulfil it counts as a failure.
        on_exhausted: `raise` the last failure, or `pause` until an operator resumes the execution.

    A failure whose error is an object has a say, too: `"retryable": false` ends the retry as if it were
    exhausted, and `"retry_after": seconds` replaces the next delay, up to `max_delay`.
    """
    return build(
        RETRY,
        count=count,
        components=parts,
        delay=delay,
        backoff=backoff,
        max_delay=max_delay,
        jitter=jitter,
        errors=errors,
        except_errors=except_errors,
        until=until,
        on_exhausted=on_exhausted,
    )


def _check_retry(arguments: Mapping[str, Any]) -> Iterable[str]:
    cap, delay = arguments["max_delay"], arguments["delay"]
    if cap is not None and cap < delay:
        yield f"'max_delay' ({cap:g}) must not be less than 'delay' ({delay:g})"
    if not delay and (cap is not None or arguments["backoff"] != 1 or arguments["jitter"]):
        yield "'backoff', 'max_delay' and 'jitter' need a 'delay'"


def policy_of(node: Composition) -> RetryPolicy:
    """The policy of a retry."""
    args = node.arguments
    return RetryPolicy(
        retries=args["count"],
        delay_ms=round(args["delay"] * 1000),
        backoff=args["backoff"],
        max_delay_ms=MAX_DELAY_MS if args["max_delay"] is None else round(args["max_delay"] * 1000),
        jitter=args["jitter"],
        errors=args["errors"],
        except_errors=args["except_errors"],
        until=args["until"],
        pause=args["on_exhausted"] == "pause",
    )


def _lower_retry(a: Assembler, node: Composition) -> None:
    a.emit(i.Attempt, policy=policy_of(node))
    lower_components(a, node)
    a.emit(i.Settle)


def _title_of_retry(args: Mapping[str, Any]) -> str:
    often = "until it succeeds" if args["count"] is None else f"{args['count']}x"
    return f"retry {often}" + (f", {args['delay']:g} s apart" if args["delay"] else "")


def _unhosted_retry(args: Mapping[str, Any]) -> str | None:
    if args["delay"]:
        return f"it cannot wait for a 'delay': {NO_TIMER}"
    if args["on_exhausted"] == "pause":
        return f"it cannot 'pause' for an operator: {NO_STORE}"
    return None


RETRY: Final = define(
    Row(
        type="retry",
        name="retry",
        arguments={
            "count": Argument(optional(COUNT)),
            **COMPONENTS,
            "delay": Argument(DELAY, 0.0),
            "backoff": Argument(FACTOR, 1.0),
            "max_delay": Argument(optional(DELAY), None),
            "jitter": Argument(SHARE, 0.0),
            "errors": Argument(ERRORS, ()),
            "except_errors": Argument(ERRORS, ()),
            "until": Argument(optional(CONDITION), None),
            "on_exhausted": Argument(choice("raise", "pause"), "raise"),
        },
        check=_check_retry,
        lower=_lower_retry,
        title=_title_of_retry,
        effect=Effect.NONE,
        unhosted=_unhosted_retry,
    )
)


# --- catch ---------------------------------------------------------------------------------------


def do(body: Part, handler: Part, *, errors: Errors = ()) -> Composition:
    """The body; if it fails (with one of `errors`, when given), the handler on `{"error": ...}`."""
    return build(DO, body=body, handler=handler, errors=errors)


def fallback(*parts: Part, errors: Errors = ()) -> Composition:
    """The first part; if it fails (with one of `errors`, when given), the next, on the same input.

    It is `do` with the input kept in a variable, `fallback`; a handler of `do` itself sees only the error.
    """
    if len(parts) < 2:  # noqa: PLR2004  one to fail, one to fall back on
        raise CompositionError(
            "fallback: give at least two parts: one to try, and one to fall back on"
        )
    *before, made = parts
    for part in reversed(before):
        made = do(part, sequence(Selector(variable="fallback"), made), errors=errors)
    return let({"fallback": None}, sequence(assign(fallback=Selector()), made))


def _lower_do(a: Assembler, node: Composition) -> None:
    handler, end = a.label(), a.label()
    a.emit(i.Guard, to=handler, errors=node.arguments["errors"])
    lower(a, "body", node.arguments["body"])
    a.emit(i.Leave)
    a.emit(i.Jump, to=end)
    a.place(handler)
    lower(a, "handler", node.arguments["handler"])
    a.place(end)


def _draw_do(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    def drawn() -> Ends:
        body = draw(canvas, node.arguments["body"], ends)
        failed = [(end, "error") for end, _ in body]
        handler = node.arguments["handler"]
        return body + canvas.cluster("on error", lambda: draw(canvas, handler, failed))

    return canvas.cluster(title(node), drawn)


DO: Final = define(
    Row(
        type="try",
        name="do",
        arguments={
            "body": Argument(PART),
            "handler": Argument(PART),
            "errors": Argument(ERRORS, ()),
        },
        lower=_lower_do,
        draw=_draw_do,
        effect=Effect.NONE,
    )
)


# --- clean up ------------------------------------------------------------------------------------


def ensure(body: Part, finalizer: Part) -> Composition:
    """The body, then in every case the finalizer on its result or error.

    The result is the finalizer's, as in Composer: a finalizer that passes an error on (as `empty` does)
    fails. If the body is cancelled or times out, the finalizer runs to its end first.
    """
    return build(ENSURE, body=body, finalizer=finalizer)


def _lower_ensure(a: Assembler, node: Composition) -> None:
    finalizer = a.label()
    a.emit(i.Shield, to=finalizer)
    lower(a, "body", node.arguments["body"])
    a.emit(i.Finalize)
    a.place(finalizer)
    lower(a, "finalizer", node.arguments["finalizer"])
    a.emit(i.Finalized)


def _draw_ensure(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    def drawn() -> Ends:
        body = draw(canvas, node.arguments["body"], ends)
        finalizer = node.arguments["finalizer"]
        return canvas.cluster("finally", lambda: draw(canvas, finalizer, body))

    return canvas.cluster(title(node), drawn)


ENSURE: Final = define(
    Row(
        type="finally",
        name="ensure",
        arguments={"body": Argument(PART), "finalizer": Argument(PART)},
        lower=_lower_ensure,
        whole="the finalizer must run in this run, after the body: move it after the ensure",
        draw=_draw_ensure,
        title=lambda _: "ensure",
        effect=Effect.NONE,
    )
)


# --- timeout -------------------------------------------------------------------------------------


def timeout(seconds: float, *parts: Part) -> Composition:
    """The parts in sequence; fails with `Timeout` if they have not ended after `seconds`."""
    return build(TIMEOUT, seconds=seconds, components=parts)


def _lower_timeout(a: Assembler, node: Composition) -> None:
    a.emit(i.Limit, timeout_ms=max(1, round(node.arguments["seconds"] * 1000)))
    lower_components(a, node)
    a.emit(i.Leave)


TIMEOUT: Final = define(
    Row(
        type="timeout",
        name="timeout",
        arguments={"seconds": Argument(SECONDS), **COMPONENTS},
        lower=_lower_timeout,
        title=lambda args: f"within {args['seconds']:g} s",
        effect=Effect.NONE,
        in_order=True,
        unhosted=never(NO_TIMER),
    )
)
