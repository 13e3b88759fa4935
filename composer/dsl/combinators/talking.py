"""Combinators for executions that people can talk to: queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import ExpressionError
from ...expressions import TEMPLATE_REFERENCE, Template
from ..arguments import Argument, Kind
from ..composition import Effect, Row, build, define
from ..grammar import COMPONENTS
from ..hosting import NO_QUERIES, never
from ..lowering import lower_components

if TYPE_CHECKING:
    from ..assembler import Assembler
    from ..composition import Composition, Part


MAX_NAME = 64  # characters of the name of a query


def queries(*parts: Part, **queries: Any) -> Composition:
    """The parts in sequence, with queries: templates that anybody may ask for while the composition runs.

    A query sees the value and the variables of the composition's main line, those of enclosing and of inner
    `let`s. It does not see variables that a branch of a fork declares. A variable whose `let` has ended keeps
    its last value. A selector that selects nothing gives its default, or null.

    Args:
        parts: run in sequence; the queries do not change them.
        queries: templates, by the names of the queries.
    """
    return build(QUERIES, queries=queries, components=parts)


def _lower_queries(a: Assembler, node: Composition) -> None:
    for name, template in node.arguments["queries"].items():
        a.query(name, template.or_null())
    lower_components(a, node)


def _take_queries(value: Any) -> dict[str, Template]:
    if not isinstance(value, dict) or not value:
        raise ValueError("must name at least one query, such as progress={'left': var('left')}")
    return {_query_name(name): _query(name, template) for name, template in value.items()}


def _query_name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier() or len(name) > MAX_NAME:
        raise ValueError(
            f"has {name!r:.80}, which is not the name of a query: use letters, digits and '_', "
            f"at most {MAX_NAME}"
        )
    return name


def _query(name: str, value: Any) -> Template:
    try:
        return value if isinstance(value, Template) else Template.of(value)
    except ExpressionError as error:
        raise ValueError(f"has {name!r}, which is not a template: {error}") from error


_QUERIES: Final = Kind(
    _take_queries,
    lambda value: {name: template.to_json() for name, template in value.items()},
    lambda doc: {name: Template.from_json(item) for name, item in doc.items()},
    schema={"type": "object", "minProperties": 1, "additionalProperties": TEMPLATE_REFERENCE},
)
QUERIES: Final = define(
    Row(
        type="queries",
        name="queries",
        arguments={"queries": Argument(_QUERIES), **COMPONENTS},
        lower=_lower_queries,
        title=lambda args: "queries " + ", ".join(args["queries"]),
        effect=Effect.NONE,
        in_order=True,
        unhosted=never(NO_QUERIES),
    )
)
