"""Plain paths, such as `$order.items.price`: their values, without an evaluator where possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .library import Node


def plain_path(tree: Node) -> tuple[str, ...] | None:
    """A variable's name, then names of members; None if the tree is more than that."""
    steps = tree.steps if tree.type == "path" else [tree]
    kinds = ("variable", *["name"] * (len(steps) - 1))
    if not steps[0].value or any(map(_adorned, [tree, *steps])):
        return None
    if any(step.type != kind for step, kind in zip(steps, kinds, strict=True)):
        return None
    return tuple(step.value for step in steps)


def _adorned(node: Node) -> bool:
    """True if a node of a path is more than a name."""
    more = (
        node.predicate,
        node.stages,
        node.group,
        node.focus,
        node.index,
        node.ancestor,
        node.tuple,
    )
    return any(part is not None for part in more) or bool(
        node.keep_array or node.keep_singleton_array
    )
