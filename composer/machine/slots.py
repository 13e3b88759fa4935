"""The slots of limits that fibers hold and wait for: the lines are made again of these after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..gates import Bound
from .acquiring import acquire
from .frames import Slot
from .waits import Acquiring

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .commands import Acquire
    from .fiber import Fiber
    from .program import Program


class Asked(NamedTuple):
    """A slot that a fiber holds or waits for, with the numbers that its program gives the limit.

    `place` is 0 if the fiber has not been answered yet.
    """

    turn: int
    limit: str
    key: str
    place: int
    bound: Bound
    holds: bool


def asked(program: Program, fiber: Fiber) -> Iterator[Asked]:
    """The slots that a fiber holds, the outermost first, and the one that it waits for."""
    for frame in fiber.frames:
        if type(frame) is Slot:
            bound = _bound(program, frame.at)
            yield Asked(frame.turn, frame.limit, frame.key, frame.place, bound, holds=True)
    wait = fiber.wait
    if type(wait) is Acquiring:
        bound = _bound(program, fiber.pc - 1)
        yield Asked(fiber.turn, wait.limit, wait.key, wait.place, bound, holds=False)


def _bound(program: Program, at: int) -> Bound:
    asking: Any = program.instructions[at]
    return Bound(asking.concurrent, asking.per_minute)


def acquire_again(program: Program, fibers: Iterable[Fiber]) -> list[tuple[str, Acquire]]:
    """The commands of fibers that wait for slots, each with its fiber."""
    return [
        (fiber.id, acquire(program.instructions[fiber.pc - 1], fiber.turn, fiber.wait.key))  # type: ignore[arg-type]
        for fiber in fibers
        if type(fiber.wait) is Acquiring
    ]
