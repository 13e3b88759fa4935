"""The combinator for limits that wait: how many executions run a part at the same time, or begin it in a minute."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...machine import instructions as i
from ..arguments import POSITIVE, TEMPLATE, Argument, Kind, optional
from ..composition import Effect, Row, build, define
from ..drawing import words
from ..grammar import COMPONENTS
from ..hosting import NO_LIMITS, never
from ..lowering import lower_components

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...values import JSON
    from ..assembler import Assembler
    from ..composition import Composition, Part

NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,254}"


def limit(
    *parts: Part,
    key: Any = None,
    concurrent: int | None = None,
    per_minute: int | None = None,
    name: str | None = None,
) -> Composition:
    """The parts in sequence, once a slot of a limit is free; until then the execution waits in order of arrival.

    The slot is given back when the parts end, in whichever way. Nothing is refused. A `timeout` or a `within` around
    it bounds the wait together with the parts.

    Args:
        parts: run in sequence, with one slot for all of them.
        key: a template; each of its values has the limit for itself, for example each tenant.
        concurrent: the number of slots.
        per_minute: the number of slots that are given in a minute, evenly.
        name: of the limit, which all compositions of the namespace share that use it. By default the limit is this
            part's own.
    """
    return build(
        LIMIT, components=parts, key=key, concurrent=concurrent, per_minute=per_minute, name=name
    )


def _check_limit(arguments: Mapping[str, Any]) -> Iterable[str]:
    if arguments["concurrent"] is None and arguments["per_minute"] is None:
        yield "give 'concurrent', 'per_minute', or both"
    name = arguments["name"]
    inner = (node for part in arguments["components"] for node in part.walk())
    if name is not None and any(
        node.row is LIMIT and node.arguments["name"] == name for node in inner
    ):
        yield (
            f"the limit {name!r} stands inside itself, where it would wait for its own slot: "
            "leave one of the two out, or give it another name"
        )


def _lower_limit(a: Assembler, node: Composition) -> None:
    args = node.arguments
    a.emit(
        i.Acquire,
        name=args["name"] or "",
        key=args["key"],
        concurrent=args["concurrent"],
        per_minute=args["per_minute"],
        path=a.path,
    )
    lower_components(a, node)
    a.emit(i.Leave)


def _take_name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(NAME, value, re.ASCII):
        raise ValueError(
            "must be the name of a limit: 1 to 255 letters, digits, '_', '.', '@' and '-', not "
            f"{value!r:.100}"
        )
    return value


def _title_of_limit(args: Mapping[str, Any]) -> str:
    bounds = [
        text.format(args[bound])
        for bound, text in (("concurrent", "{} at a time"), ("per_minute", "{} per minute"))
        if args[bound] is not None
    ]
    keyed = [] if args["key"] is None else [f"for each {words(args['key'].to_json())}"]
    return " ".join(["limit", *([args["name"]] if args["name"] else []), ", ".join(bounds), *keyed])


_NAME_SCHEMA: dict[str, JSON] = {"type": "string", "pattern": f"^{NAME}$"}

LIMIT: Final = define(
    Row(
        type="limit",
        name="limit",
        arguments={
            **COMPONENTS,
            "key": Argument(optional(TEMPLATE), None),
            "concurrent": Argument(optional(POSITIVE), None),
            "per_minute": Argument(optional(POSITIVE), None),
            "name": Argument(optional(Kind(_take_name, schema=_NAME_SCHEMA)), None),
        },
        check=_check_limit,
        lower=_lower_limit,
        title=_title_of_limit,
        effect=Effect.APART,
        in_order=True,
        unhosted=never(NO_LIMITS),
    )
)
