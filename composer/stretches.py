"""What takes long of an execution: made apart from it, for it is a pure function of what never changes.

A server that serves others must not stand still while expressions are evaluated. With `Limits.at_once`
an execution stops before what takes more; whoever runs it makes `Execution.stretch` on a thread, and hands
the transition in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .conductor import advance
from .events import Continued
from .freezing import changed, frozen

if TYPE_CHECKING:
    from .conductor import Transition
    from .cursor import Context
    from .fiber import Fiber
    from .program import Program


@frozen
class Stretch:
    """The transition of a fiber that stands before what takes long."""

    program: Program
    fiber: Fiber
    context: Context

    def make(self) -> Transition:
        """The transition, however long it takes."""
        limits = replace(self.context.limits, at_once=None)
        return advance(self.program, self.fiber, Continued(), changed(self.context, limits=limits))
