"""Emits the code of a composition's parts. The combinators' own lowerings call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..machine.instructions import Inspect

if TYPE_CHECKING:
    from .assembler import Assembler
    from .composition import Composition


def lower(a: Assembler, where: str, part: Composition) -> None:
    """Emits the code of a part; `where` is the part's place in the composition that contains it."""
    with a.within(where):
        part.row.lower(a, part)


def lower_components(a: Assembler, node: Composition) -> None:
    """Emits the code of a node's components, in sequence."""
    for index, part in enumerate(node.arguments["components"]):
        lower(a, f"components[{index}]", part)
    if not node.arguments["components"]:
        a.emit(Inspect)
