"""The children of executions that are open, and what happens to each when its parent ends."""

from __future__ import annotations

from typing import TypeAlias

CHILD = "child"  # the kind of steps that are executions of their own
ABANDON, TERMINATE = "abandon", "terminate"

Offspring: TypeAlias = "dict[str, dict[str, str]]"
"""By parent, for each child how it is closed. Children that are abandoned are not in it."""


def note_child(offspring: Offspring, parent: str, child: str, close: str) -> None:
    """Notes that a child is open."""
    if close != ABANDON:
        offspring.setdefault(parent, {})[child] = close


def forget_child(offspring: Offspring, parent: str, child: str) -> None:
    """Notes that a child has ended."""
    children = offspring.get(parent)
    if children is not None:
        children.pop(child, None)
        if not children:
            del offspring[parent]
