"""Combinators for messages: receive those that are told to this execution, and tell another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...expressions import Selector, Template
from ...machine import instructions as i
from ...machine.inbox import MAX_MESSAGE_NAME, check_want, is_message_name, names_of
from ..arguments import SECONDS, TEMPLATE, Argument, Kind, choice, optional
from ..composition import Effect, Row, build, define
from ..drawing import draw_data, words
from ..hosting import NO_MESSAGES, never

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...machine.inbox import Want
    from ...values import JSON
    from ..assembler import Assembler
    from ..composition import Composition


_INPUT = Template.of(Selector())


# --- receive -------------------------------------------------------------------------------------


def any_of(*messages: Want) -> Want:
    """For `receive`: any one of the messages, the first to come."""
    return {"any": list(messages)}


def all_of(*messages: Want) -> Want:
    """For `receive`: all of the messages, in any order."""
    return {"all": list(messages)}


def receive(message: Want, *, timeout: float | None = None, early: str = "keep") -> Composition:
    """Waits for a message that is told to this execution; the result is its payload.

    With `any_of` or `all_of` several names the result is `{name: payload}`. Messages of one name are received in the
    order in which they came.

    Args:
        message: the name of the message, or `any_of(...)` or `all_of(...)` of names, which may be nested.
        timeout: seconds after which it fails with `Timeout`; it has received nothing then.
        early: `keep` messages that came before this part began to wait, or `drop` them.
    """
    return build(RECEIVE, message=message, timeout=timeout, early=early)


def _lower_receive(a: Assembler, node: Composition) -> None:
    args = node.arguments
    if args["timeout"] is not None:
        a.emit(i.Limit, timeout_ms=max(1, round(args["timeout"] * 1000)))
    a.emit(i.Hear, want=args["message"], path=a.path, drop=args["early"] == "drop")
    if args["timeout"] is not None:
        a.emit(i.Leave)


def _take_name(value: Any) -> str:
    if not isinstance(value, str) or not is_message_name(value):
        raise ValueError(
            f"must be the name of a message, of 1 to 255 characters without '/', not {value!r:.100}"
        )
    return value


def _take_want(value: Any) -> Want:
    want = check_want(value)
    for name in names_of(want):
        _take_name(name)
    return want


def _title_of_receive(args: Mapping[str, Any]) -> str:
    title = f"receive {_words(args['message'])}"
    return title if args["timeout"] is None else f"{title} within {args['timeout']:g} s"


def _words(want: Want) -> str:
    if isinstance(want, str):
        return want
    ((how, parts),) = want.items()
    return "(" + (" or " if how == "any" else " and ").join(map(_words, parts)) + ")"


_NAME_SCHEMA: dict[str, JSON] = {"type": "string", "minLength": 1, "maxLength": MAX_MESSAGE_NAME}
_WANT_SCHEMA: dict[str, JSON] = {
    "anyOf": [
        _NAME_SCHEMA,
        {
            "type": "object",
            "properties": {how: {"type": "array", "minItems": 1} for how in ("any", "all")},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        },
    ]
}

RECEIVE: Final = define(
    Row(
        type="receive",
        name="receive",
        arguments={
            "message": Argument(Kind(_take_want, schema=_WANT_SCHEMA)),
            "timeout": Argument(optional(SECONDS), None),
            "early": Argument(choice("keep", "drop"), "keep"),
        },
        lower=_lower_receive,
        draw=draw_data,
        title=_title_of_receive,
        effect=Effect.APART,
        unhosted=never(NO_MESSAGES),
    )
)


# --- tell ----------------------------------------------------------------------------------------


def tell(execution: Any, message: str, payload: Any = None) -> Composition:
    """Tells another execution of this namespace a message, once; the result is `{"executionId", "message"}`.

    It fails with `NotFound`, with `Closed` if that execution has ended, or with `TooManyMessages`.

    Args:
        execution: a template for the id of the execution.
        message: the name of the message.
        payload: a template for the payload; None for the input.
    """
    return build(TELL, execution=execution, message=message, payload=payload)


def _lower_tell(a: Assembler, node: Composition) -> None:
    args = node.arguments
    a.emit(
        i.Tell,
        execution=args["execution"],
        name=args["message"],
        payload=args["payload"] or _INPUT,
        path=a.path,
    )


TELL: Final = define(
    Row(
        type="tell",
        name="tell",
        arguments={
            "execution": Argument(TEMPLATE),
            "message": Argument(Kind(_take_name, schema=_NAME_SCHEMA)),
            "payload": Argument(optional(TEMPLATE), None),
        },
        lower=_lower_tell,
        draw=draw_data,
        title=lambda args: f"tell {args['message']} to {words(args['execution'].to_json())}",
        unhosted=never(NO_MESSAGES),
    )
)
