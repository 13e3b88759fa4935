"""Draws compositions on a canvas: functions that combinators share, and labels for values and predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..values import JSON
    from .canvas import Canvas, Ends
    from .composition import Composition

MAX_LABEL = 48  # characters
PredicateDoc: TypeAlias = "Mapping[str, Any]"
"""A predicate, or an operand of one, as `Predicate.to_json` writes it."""

_SIGNS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


def draw(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a composition after the ends. Returns the ends that lead on from it."""
    if node.row.draw is not None:
        return node.row.draw(canvas, node, ends)
    return canvas.cluster(title(node), lambda: draw_components(canvas, node, ends))


def draw_components(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a node's components, in sequence."""
    for part in node.arguments.get("components", ()):
        ends = draw(canvas, part, ends)
    return ends


def draw_data(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a node that only works on data, as its title."""
    return canvas.leaf(title(node), ends, "data")


def title(node: Composition) -> str:
    """A node in a few words."""
    return node.type if node.row.title is None else node.row.title(node.arguments)


def words(value: JSON) -> str:
    """A value, or a template's JSON, cut to a label's length."""
    if isinstance(value, dict) and "$path" in value:
        place, variable = str(value["$path"]), value.get("$var")
        return f"{variable}{place[1:]}" if variable else place
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {words(member)}" for key, member in value.items())
        return shortened("{" + inner + "}")
    return shortened(str(value))


def shortened(text: str) -> str:
    """A text, cut to a label's length."""
    return text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"


def predicate_words(doc: PredicateDoc) -> str:
    """A predicate's JSON, to read."""
    op = doc["op"]
    if op in _SIGNS:
        right: PredicateDoc = doc["right"]
        shown = repr(right["value"]) if "value" in right else _place(right)
        return f"{_place(doc['left'])} {_SIGNS[op]} {shown}"
    if op in ("and", "or"):
        return "(" + f" {op} ".join(predicate_words(item) for item in doc["of"]) + ")"
    if op == "not":
        return f"not {predicate_words(doc['of'])}"
    tests = {"exists": "exists", "true": "is true", "is": f"is {doc.get('type')}",
             "matches": f"matches {doc.get('pattern')!r}"}  # fmt: skip
    return f"{_place(doc['of'])} {tests[op]}"


def _place(selector: PredicateDoc) -> str:
    return words({f"${key}": value for key, value in selector.items()})
