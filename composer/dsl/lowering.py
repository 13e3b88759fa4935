"""Emits the code of a composition's parts. The combinators' own lowerings call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import CompositionError
from ..machine.instructions import Inspect

if TYPE_CHECKING:
    from .assembler import Assembler
    from .composition import Composition


HANDLER: Final = "a handler of updates"
_HANDLED: Final = (
    "{part}: a handler of updates cannot contain it, because a handler may be cut off: deploy it as an action of "
    "its own and name it in the handler"
)


def refuse_in_handler(a: Assembler, part: str) -> None:
    """Refuses a part that a handler of updates cannot contain.

    Raises:
        CompositionError: the code stands in a handler.
    """
    if HANDLER in a.apart:
        raise CompositionError(_HANDLED.format(part=part))


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
