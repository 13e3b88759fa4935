"""References of an expression to a context. AWS has none there, and refuses such a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .expressions import Expression
    from .library import Node

PARTS: Final = (
    "lhs", "rhs", "expression", "expressions", "condition", "then", "_else", "procedure", "arguments", "body",
)  # fmt: skip
INNER: Final = ("predicate", "stages", "group", "terms", "pattern", "update", "delete")
SIGNS: Final = {"wildcard": "*", "descendant": "**"}
ROOT: Final = "$"  # the name of `$$`


def top_level_references(expression: Expression) -> list[str]:
    """The names, and `$`, `$$`, `*`, `**`, at places without a context to look them up in.

    In the order in which they are read, each once. `$$` is nothing anywhere.
    """
    return list(dict.fromkeys(_references(expression.tree, inside=False)))


def _references(node: Node, *, inside: bool) -> Iterator[str]:
    name = _name(node, inside=inside)
    if name is not None:
        yield name
    for at, step in enumerate(node.steps or ()):
        yield from _references(step, inside=inside or at > 0)
    for part in PARTS:
        for member in _nodes(getattr(node, part)):
            yield from _references(member, inside=inside)
    for pair in node.lhs_object or ():
        for member in pair:
            yield from _references(member, inside=inside)
    for part in INNER:
        for member in _nodes(getattr(node, part)):
            yield from _references(getattr(member, "expr", None) or member, inside=True)


def _name(node: Node, *, inside: bool) -> str | None:
    if node.type == "variable" and node.value == ROOT:
        return "$$"
    if inside:
        return None
    if node.type == "variable":
        return "$" if not node.value else None
    return node.value if node.type == "name" else SIGNS.get(node.type)


def _nodes(part: Any) -> list[Node]:
    return [] if part is None else part if isinstance(part, list) else [part]
