"""A stretch: a long evaluation that runs apart from its execution.

A server that serves others cannot wait for an evaluation of 0.1 s. With `Limits.at_once`, a fiber stops
before an evaluation that takes more steps than that. The server takes the `Execution.stretch`, runs it on
a thread, and hands the transition to `Execution.stretched`. The thread needs no lock, because a transition
is a pure function of values that never change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..freezing import changed, frozen
from .conductor import advance
from .events import Continued

if TYPE_CHECKING:
    from .conductor import Transition
    from .cursor import Context
    from .fiber import Fiber
    from .program import Program


@frozen
class Stretch:
    """The next transition of a fiber that has stopped before an evaluation that takes long."""

    program: Program
    fiber: Fiber
    context: Context

    def make(self) -> Transition:
        """The transition, with any number of steps."""
        limits = replace(self.context.limits, at_once=None)
        return advance(self.program, self.fiber, Continued(), changed(self.context, limits=limits))
