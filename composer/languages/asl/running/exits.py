"""The exit of a state: its variables are assigned, its event is written, and the fiber goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....machine.frames import Variables
from .history import exited

if TYPE_CHECKING:
    from ....machine.cursor import Cursor, Reaction
    from .compiled import State
    from .flow import Output


def leave_to(cursor: Cursor, state: State, output: Output, to: int) -> Reaction:
    """Leaves a state with its output. A way back counts as a step, so that no loop is endless."""
    cursor.value = output.value
    if output.assigned:  # to the fiber's own variables, which are the innermost
        own = cursor.innermost(Variables)
        cursor.replace(own, Variables({**own.variables, **output.assigned}))
    exited(cursor, state, output.assigned)
    if to < cursor.pc and not cursor.count_steps():
        return None
    cursor.pc = to
    return None
