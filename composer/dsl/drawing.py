"""Draws compositions on a canvas: functions that combinators share, and labels for values and predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..values import JSON
    from .canvas import Canvas, Ends
    from .composition import Composition

MAX_WORDS = 48  # characters of a label that a value has written
_SIGNS = {"eq": "=", "ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}


def draw(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a composition after the ends; returns what leads on from it."""
    if node.row.draw is not None:
        return node.row.draw(canvas, node, ends)
    return canvas.cluster(title(node), lambda: draw_components(canvas, node, ends))


def draw_components(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a node's components, in sequence."""
    for part in node.arguments.get("components", ()):
        ends = draw(canvas, part, ends)
    return ends


def draw_data(canvas: Canvas, node: Composition, ends: Ends) -> Ends:
    """Draws a node by its title, as what works on data."""
    return canvas.leaf(title(node), ends, "data")


def title(node: Composition) -> str:
    """A node in a few words."""
    return node.type if node.row.title is None else node.row.title(node.arguments)


def words(value: JSON) -> str:
    """A value, or a template's JSON, cut to a label's length."""
    if isinstance(value, dict) and "$path" in value:
        name = value.get("$var")
        return f"{name}{value['$path'][1:]}" if name else str(value["$path"])
    if isinstance(value, dict):
        inner = ", ".join(f"{key}: {words(member)}" for key, member in value.items())
        return _short("{" + inner + "}")
    return _short(value if isinstance(value, str) else str(value))


def _short(text: str) -> str:
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"


def predicate_words(doc: JSON) -> str:
    """A predicate's JSON, to read."""
    op = doc["op"]
    if op in _SIGNS:
        right = doc["right"]
        shown = repr(right["value"]) if "value" in right else _place(right)
        return f"{_place(doc['left'])} {_SIGNS[op]} {shown}"
    if op in ("and", "or"):
        return "(" + f" {op} ".join(predicate_words(item) for item in doc["of"]) + ")"
    if op == "not":
        return f"not {predicate_words(doc['of'])}"
    tests = {"exists": "exists", "true": "is true", "is": f"is {doc.get('type')}",
             "matches": f"matches {doc.get('pattern')!r}"}  # fmt: skip
    return f"{_place(doc['of'])} {tests[op]}"


def _place(doc: JSON) -> str:
    return words({f"${key}": value for key, value in doc.items()})
