"""The updates that a program declares, and those that its main line handles just now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..freezing import changed
from .cursor import Context, Cursor, Limits
from .fiber import member_id
from .frames import Handling, Remembered, Served, Serving
from .serving import served_by
from .update_instructions import Serve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values import JSON
    from .fiber import Fiber
    from .frames import Frame
    from .program import Program


def bottom_of(program: Program) -> tuple[Frame, ...]:
    """The frames at the bottom of the root fiber of a program."""
    remembered = (Remembered({}),) if program.queries else ()
    return (*remembered, *((Served(),) if program.updates else ()))


def serving(program: Program, root: Fiber, name: str) -> int | None:
    """The depth of the frame that handles updates of this name: the innermost that declares it."""
    for depth in range(len(root.frames) - 1, -1, -1):
        frame = root.frames[depth]
        if type(frame) is Serving and name in declared(program, frame.at).targets:
            return depth
    return None


def declared(program: Program, at: int) -> Serve:
    """The instruction at `at`, which declares updates."""
    return program.instructions[at]  # type: ignore[return-value]


def is_over(program: Program, root: Fiber, name: str) -> bool:
    """True if every part that declares updates of this name has begun, so that they were handled before."""
    served = served_by(root.frames)
    opened = () if served is None else served.opened
    return all(
        at in opened
        for at, step in enumerate(program.instructions)
        if type(step) is Serve and name in step.targets
    )


def main_line(program: Program, root: Fiber, depth: int, limits: Limits, value: JSON) -> Cursor:
    """A cursor with this value that sees the variables at the frame at `depth`."""
    outer = changed(root, frames=root.frames[:depth], value=value)
    return Cursor(outer, program.instructions, Context("", 0, limits))


def handlers(fibers: Iterable[Fiber]) -> dict[str, Handling]:
    """The updates that these fibers handle, by fiber, in order of acceptance."""
    found = {
        fiber.id: fiber.frames[0]
        for fiber in fibers
        if fiber.frames and type(fiber.frames[0]) is Handling
    }
    return dict(sorted(found.items(), key=_number))


def handler_id(number: int) -> str:
    """The id of the fiber that handles the update of this number; those that it forks begin with it."""
    return member_id(f"u{number}", 0, 0)


def _number(item: tuple[str, Handling]) -> int:
    return int(item[0].partition("/")[0][1:])
