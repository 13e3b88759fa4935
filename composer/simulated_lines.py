"""Limits in a simulated world: the lines in which the fibers of the one execution wait for each other."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from .gates import WaitingLine
from .machine.events import Acquired, LinedUp
from .machine.slots import acquire_again, asked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .machine.commands import Acquire
    from .machine.execution import Execution


class _Place(NamedTuple):
    """The place of a fiber: its line, the name of the limit, the turn in which it asked, and its place in the line."""

    line: WaitingLine
    limit: str
    turn: int
    place: int


class Lines:
    """The lines of all limits. They survive the conductor, as those of a server are made again after a crash."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], WaitingLine] = {}
        self._places: dict[tuple[str, int], _Place] = {}
        self._numbers = count(1)

    def ask(self, fiber: str, command: Acquire, now_ms: int) -> Acquired | LinedUp:
        """Answers a fiber that asks for a slot, or that asks again after a crash."""
        at = (fiber, command.turn)
        if at not in self._places:
            limit = command.name or command.path
            line = self._lines.setdefault((limit, command.key), WaitingLine(command.bound, now_ms))
            line.bound = command.bound
            self._places[at] = _Place(line, limit, command.turn, next(self._numbers))
            line.wait(_id(at), self._places[at].place)
            line.admitted(now_ms)
        return self._answer(at)

    def again(self, execution: Execution, now_ms: int) -> Iterator[tuple[str, Acquired | LinedUp]]:
        """The answers to those who have not got theirs, after a crash."""
        fibers = execution.fibers
        for fiber, command in acquire_again(execution.program, fibers.values()):
            answer = self.ask(fiber, command, now_ms)
            if isinstance(answer, Acquired) or not fibers[fiber].wait.place:  # type: ignore[union-attr]
                yield fiber, answer

    def look(self, execution: Execution, now_ms: int) -> Iterator[tuple[str, Acquired]]:
        """Takes back the slots of those who have left, and gives them to the next."""
        if not self._places:
            return
        standing = {
            (fiber.id, each.turn)
            for fiber in execution.fibers.values()
            for each in asked(execution.program, fiber)
        }
        for at in self._places.keys() - standing:
            self._places.pop(at).line.leave(_id(at))
        for line in self._lines.values():
            admitted = set(line.admitted(now_ms))
            for at, place in self._places.items():
                if place.line is line and _id(at) in admitted:
                    yield at[0], Acquired(place.turn, place.limit, place.place)

    def turn_over(self) -> None:
        """The run has continued as the next one, which asks for its own slots. What a rate has let in still counts."""
        for at, place in self._places.items():
            place.line.leave(_id(at))
        self._places.clear()

    def due_ms(self, now_ms: int) -> int | None:
        """The instant at which time lets somebody in."""
        opens = (line.opens_ms(now_ms) for line in self._lines.values())
        return min((ms for ms in opens if ms is not None), default=None)

    def _answer(self, at: tuple[str, int]) -> Acquired | LinedUp:
        place, id = self._places[at], _id(at)
        if id in place.line.holders:
            return Acquired(place.turn, place.limit, place.place)
        return LinedUp(place.turn, place.limit, place.place, place.line.before(id))


def _id(at: tuple[str, int]) -> str:
    return f"{at[0]}:{at[1]}"
