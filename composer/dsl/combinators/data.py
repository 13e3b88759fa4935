"""Combinators that shape data: values, variables, and data kept while other parts run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...expressions import Template, path
from ...machine import instructions as i
from ..arguments import (
    ASSIGNMENTS,
    CONDITION,
    FIELD,
    JSON_VALUE,
    TEMPLATE,
    VARIABLES,
    Argument,
    Kind,
    optional,
)
from ..composition import Effect, InComposer, Row, build, define
from ..drawing import draw_data, predicate_words, words
from ..grammar import COMPONENTS
from ..hosting import NO_SEARCH, never
from ..lowering import lower_components

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...values import JSON
    from ..assembler import Assembler
    from ..composition import Composition, Part


# --- values --------------------------------------------------------------------------------------


def literal(value: JSON) -> Composition:
    """A constant; the input is not used."""
    return build(LITERAL, value=value)


value = literal  # as Composer calls it


def _lower_literal(a: Assembler, node: Composition) -> None:
    a.emit(i.Evaluate, template=Template.literal(node.arguments["value"]))


LITERAL: Final = define(
    Row(
        type="literal",
        name="literal",
        arguments={"value": Argument(JSON_VALUE)},
        lower=_lower_literal,
        draw=draw_data,
        title=lambda args: words(args["value"]),
        effect=Effect.NONE,
        composer=InComposer(names=("value",)),
    )
)


def select(template: Any) -> Composition:
    """A projection: JSON with `path()` and `var()` in it, filled in by the conductor itself."""
    return build(SELECT, template=template)


def _lower_select(a: Assembler, node: Composition) -> None:
    a.emit(i.Evaluate, template=node.arguments["template"])


SELECT: Final = define(
    Row(
        type="select",
        name="select",
        arguments={"template": Argument(TEMPLATE)},
        lower=_lower_select,
        draw=draw_data,
        title=lambda args: words(args["template"].to_json()),
        effect=Effect.NONE,
    )
)


# A predicate as a part needs no constructor: `as_part` makes a node of it.


def _lower_predicate(a: Assembler, node: Composition) -> None:
    a.emit(i.Test, predicate=node.arguments["predicate"])


PREDICATE: Final = define(
    Row(
        type="predicate",
        name="predicate",
        arguments={"predicate": Argument(CONDITION)},
        lower=_lower_predicate,
        draw=draw_data,
        title=lambda args: predicate_words(args["predicate"].to_json()),
        effect=Effect.NONE,
    )
)


# --- variables -----------------------------------------------------------------------------------


def let(declarations: dict[str, JSON], *parts: Part) -> Composition:
    """The parts in sequence, with variables that inline functions and `var()` see."""
    return build(LET, declarations=declarations, components=parts)


def _lower_let(a: Assembler, node: Composition) -> None:
    declarations = node.arguments["declarations"]
    a.emit(i.Declare, variables=declarations)
    with a.declaring(frozenset(declarations)):
        lower_components(a, node)
    a.emit(i.Leave)


LET: Final = define(
    Row(
        type="let",
        name="let",
        arguments={"declarations": Argument(VARIABLES), **COMPONENTS},
        lower=_lower_let,
        title=lambda args: (
            "let " + ", ".join(f"{name} = {words(to)}" for name, to in args["declarations"].items())
        ),
        effect=Effect.NONE,
        in_order=True,
    )
)


def mask(*parts: Part) -> Composition:
    """The parts in sequence, without the variables of the innermost enclosing `let`."""
    return build(MASK, components=parts)


def _lower_mask(a: Assembler, node: Composition) -> None:
    a.emit(i.Hide)
    with a.declaring(None):
        lower_components(a, node)
    a.emit(i.Leave)


MASK: Final = define(
    Row(
        type="mask",
        name="mask",
        arguments=COMPONENTS,
        lower=_lower_mask,
        effect=Effect.NONE,
        in_order=True,
    )
)


def assign(**values: Any) -> Composition:
    """Sets `let` variables to templates, filled in by the conductor; the value passes through."""
    return build(ASSIGN, values=values)


def _lower_assign(a: Assembler, node: Composition) -> None:
    a.emit(i.Assign, assignments=node.arguments["values"])


ASSIGN: Final = define(
    Row(
        type="assign",
        name="assign",
        arguments={"values": Argument(ASSIGNMENTS)},
        lower=_lower_assign,
        draw=draw_data,
        title=lambda args: "set " + ", ".join(args["values"]),
        effect=Effect.NONE,
    )
)


def annotate(**attributes: Any) -> Composition:
    """Sets attributes by which the execution is found to templates; the value passes through.

    The namespace declares the attributes. None removes one. A value that does not fit its attribute is left out,
    and the history says why.
    """
    return build(ANNOTATE, attributes=attributes)


def _lower_annotate(a: Assembler, node: Composition) -> None:
    a.emit(i.Annotate, assignments=node.arguments["attributes"])


ANNOTATE: Final = define(
    Row(
        type="annotate",
        name="annotate",
        arguments={"attributes": Argument(ASSIGNMENTS)},
        lower=_lower_annotate,
        draw=draw_data,
        title=lambda args: "annotate " + ", ".join(args["attributes"]),
        effect=Effect.NONE,
        unhosted=never(NO_SEARCH),
    )
)


# --- data kept around parts ----------------------------------------------------------------------


def retain(*parts: Part) -> Composition:
    """`{"params": input, "result": result}` of the parts in sequence."""
    return build(RETAIN, components=parts)


def _lower_retain(a: Assembler, node: Composition) -> None:
    a.emit(i.Save)
    lower_components(a, node)
    a.emit(i.Recall, how="retain")


RETAIN: Final = define(
    Row(
        type="retain",
        name="retain",
        arguments=COMPONENTS,
        lower=_lower_retain,
        effect=Effect.NONE,
        in_order=True,
    )
)


def retain_catch(*parts: Part) -> Composition:
    """Like `retain`, also for parts that fail, with `{"error": ...}` for their result."""
    return build(RETAIN_CATCH, components=parts)


def _lower_retain_catch(a: Assembler, node: Composition) -> None:
    caught = a.label()
    a.emit(i.Save)
    a.emit(i.Guard, to=caught)
    lower_components(a, node)
    a.emit(i.Leave)
    a.place(caught)
    a.emit(i.Recall, how="retain")


RETAIN_CATCH: Final = define(
    Row(
        type="retain_catch",
        name="retain_catch",
        arguments=COMPONENTS,
        lower=_lower_retain_catch,
        effect=Effect.NONE,
    )
)


def merge(*parts: Part) -> Composition:
    """The input, with the fields of the parts' result over it."""
    return build(MERGE, components=parts)


def _lower_merge(a: Assembler, node: Composition) -> None:
    a.emit(i.Save)
    lower_components(a, node)
    a.emit(i.Recall, how="merge")


MERGE: Final = define(
    Row(
        type="merge",
        name="merge",
        arguments=COMPONENTS,
        lower=_lower_merge,
        effect=Effect.NONE,
        in_order=True,
    )
)


def forward(take: Any, *parts: Part, carry: Any = None, into: str | None = None) -> Composition:
    """Runs the parts on a projection of the data, and adds their result to the rest.

    Args:
        take: the input of the parts: names of fields, a path, or a template.
        parts: run in sequence.
        carry: the data that is kept: names of fields, a path or a template; None for all.
        into: the field for the result; None to put the result's fields over the data that is kept.
    """
    return build(FORWARD, take=take, components=parts, carry=carry, into=into)


def _take_projection(value: Any) -> Template:
    if isinstance(value, str):
        raise ValueError(f"must be a list of fields, a path() or a template, not {value!r}")
    if isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value):
        value = {name: path(f"$[{_quoted(name)}]") for name in value}
    made: Template = TEMPLATE.take(value)
    return made


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _check_forward(arguments: Mapping[str, Any]) -> Iterable[str]:
    if not arguments["components"]:
        yield "give at least one part to run on the projection"


def _lower_forward(a: Assembler, node: Composition) -> None:
    args = node.arguments
    a.emit(i.Save, template=args["carry"])
    a.emit(i.Evaluate, template=args["take"])
    lower_components(a, node)
    if args["into"] is not None:
        a.emit(i.Recall, how="into", field=args["into"])
    else:
        a.emit(i.Recall, how="merge")


_PROJECTION = Kind(_take_projection, TEMPLATE.write, TEMPLATE.read, schema=TEMPLATE.schema)

FORWARD: Final = define(
    Row(
        type="forward",
        name="forward",
        arguments={
            "take": Argument(_PROJECTION),
            **COMPONENTS,
            "carry": Argument(optional(_PROJECTION), None),
            "into": Argument(optional(FIELD), None),
        },
        check=_check_forward,
        lower=_lower_forward,
        title=lambda args: "forward" + (f" into {args['into']}" if args["into"] else ""),
        effect=Effect.NONE,
        in_order=True,
    )
)
