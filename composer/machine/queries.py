"""Queries: templates over the state of an execution, which anybody may ask for and which change nothing.

A program declares queries by name. They see the main line of its execution: the value and the variables of the
root fiber. A variable whose `let` has ended keeps its last value for them, also after the end of the
execution. So the root fiber of such a program stands on a `Remembered` frame. An execution of a program without
queries has no such frame and does nothing more than before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..expressions import MISSING, Scope
from ..freezing import frozen
from .cursor import Context, Cursor, Limits
from .frames import Remembered, Variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..expressions.nodes import Missing
    from ..values import JSON, Failure, Outcome
    from .fiber import Fiber
    from .frames import Frame
    from .instructions import Instruction
    from .program import Program


VARIABLES = "$variables"  # a query that every execution has


@frozen
class QueryState:
    """The state of an execution that its queries see: the value, and variables by name."""

    value: JSON
    variables: dict[str, JSON]


class Remembering(Cursor):
    """The cursor for a program with queries: it keeps the last values of variables that go out of scope."""

    __slots__ = ("_remembered",)

    def __init__(self, fiber: Fiber, instructions: Sequence[Instruction], context: Context) -> None:
        super().__init__(fiber, instructions, context)
        bottom = fiber.frames[0] if fiber.frames else None
        self._remembered = bottom if type(bottom) is Remembered else None  # a branch has none

    def pop(self) -> Frame:
        frame = super().pop()
        if type(frame) is Variables and self._remembered is not None:
            self._remembered = Remembered({**self._remembered.variables, **frame.variables})
            self.frames = (self._remembered, *self.frames[1:])
        return frame

    @property
    def remains(self) -> tuple[Frame, ...]:
        if self._remembered is None:
            return ()
        return (Remembered({**self._remembered.variables, **self.variables()}),)


def remains(program: Program, root: Fiber | None) -> tuple[Frame, ...]:
    """The frames that a root fiber leaves for queries when its execution is ended from outside."""
    if root is None or not program.queries:
        return ()
    return Remembering(root, program.instructions, _NOTHING).remains


def last_state(root: Fiber, outcome: Outcome) -> QueryState | None:
    """The state that queries see of an execution that has ended; None if its program has no queries."""
    if root.frames and type(bottom := root.frames[0]) is Remembered:
        return QueryState(outcome.value, bottom.variables)
    return None


def state_of(program: Program, root: Fiber) -> QueryState:
    """The state that queries see of an execution whose main line is this fiber."""
    variables = Cursor(root, program.instructions, _NOTHING).variables()
    if root.frames and type(bottom := root.frames[0]) is Remembered:
        variables = {**bottom.variables, **variables}
    return QueryState(root.value, variables)


def query_answer(program: Program, name: str, state: QueryState, limit: int) -> JSON | Failure:
    """The answer to a query of a program; a Failure if the answer is larger than `limit` bytes.

    A selector that selects nothing gives its default, or null.

    Raises:
        KeyError: the program has no such query.
    """
    if name == VARIABLES:
        return state.variables
    return program.queries[name].fill(Scope(state.value, _Known(state.variables), limit))


class _Known(dict[str, "JSON"]):
    """Variables, of which those that are not declared yet select nothing."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Missing:
        return MISSING


_NOTHING = Context("", 0, Limits())  # for cursors that run nothing
