"""Nodes of a document: the node that a singular path selects, and the comparison of two nodes.

Nothing is ever coerced: the string "42" is not the number 42, true is not 1, and an order between
unlike values does not hold (RFC 9535, section 2.3.5.2.2, which also says that nothing equals nothing).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from ..values import JSON, equal

if TYPE_CHECKING:
    from collections.abc import Callable

Steps: TypeAlias = tuple[str | int, ...]
"""The names and indexes of a singular path."""


class Missing(Enum):
    """The result of a singular path that selects no node: RFC 9535 calls it Nothing."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return self.value


MISSING: Final = Missing.MISSING

Node: TypeAlias = "JSON | Missing"
"""A value of a document, or MISSING."""


def node_at(steps: Steps, node: JSON) -> Node:
    """The node that these steps lead to from `node`, or MISSING."""
    for step in steps:
        if isinstance(step, str):
            if type(node) is not dict or step not in node:
                return MISSING
            node = node[step]
        elif type(node) is not list or not -len(node) <= step < len(node):
            return MISSING
        else:
            node = node[step]
    return node


def _equal(left: Node, right: Node) -> bool:
    if left is MISSING or right is MISSING:
        return left is right
    return equal(left, right)


def _less(left: Node, right: Node) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    numbers = (int, float)
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return isinstance(left, numbers) and isinstance(right, numbers) and left < right


COMPARE: dict[str, Callable[[Node, Node], bool]] = {
    "eq": _equal,
    "ne": lambda left, right: not _equal(left, right),
    "lt": _less,
    "le": lambda left, right: _less(left, right) or _equal(left, right),
    "gt": lambda left, right: _less(right, left),
    "ge": lambda left, right: _less(right, left) or _equal(left, right),
}
