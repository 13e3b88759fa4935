"""The lines of all limits, in memory: who holds a slot, who waits for one, and when time lets the next one in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ....composer import UNBOUND, Bound, WaitingLine
from ..timers import Steady, Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ....actions import Clock

MANY = 1_000  # lines, before idle ones are looked for

Name: TypeAlias = tuple[str, str]
"""A limit: its namespace, and its name there."""


class Place(NamedTuple):
    """A line: its limit, and the key that it is for."""

    namespace: str
    limit: str
    key: str

    @property
    def name(self) -> Name:
        return self.namespace, self.limit


def member_id(execution: str, fiber: str, turn: int) -> str:
    """The id of a member: a fiber of an execution, in the turn in which it asked."""
    return f"{execution}:{fiber}:{turn}"


class Lines:
    """Lines by place, and members by id. A member waits at a number, which orders it, and then holds a slot.

    Nobody is admitted before `open`: who held a slot before a restart must be known.

    Args:
        clock: the time.
        admit: called with the id of each member that gets a slot and has waited for it.
        bound: the numbers that count for a limit.
        look_s: between looks at the clock.
    """

    def __init__(
        self,
        clock: Clock,
        admit: Callable[[str], None],
        bound: Callable[[Name], Bound],
        look_s: float,
    ) -> None:
        self.time = Steady(clock)
        self._admit, self._bound = admit, bound
        self._timers: Timers[Place] = Timers(self.time, self._due, look_s)
        self._due_ms: dict[Place, int] = {}
        self._lines: dict[Place, WaitingLine] = {}
        self._members: dict[str, tuple[Place, int]] = {}
        self._number = self._swept = 0
        self._opened = False

    def __contains__(self, id: str) -> bool:
        return id in self._members

    def __iter__(self) -> Iterator[tuple[Place, WaitingLine]]:
        return iter(self._lines.items())

    def open(self) -> None:
        """Lets members in from now on."""
        self._opened = True
        self.look_all()

    def close(self) -> None:
        """Lets nobody in any more."""
        self._opened = False
        self._timers.stop()

    # --- members -----------------------------------------------------------------------------

    def number(self) -> int:
        """A number after all others, also after those of before a restart: it grows with time."""
        self._number = max(self._number + 1, self.time.now_ms() * 1000)
        return self._number

    def ask(self, place: Place, id: str, number: int) -> bool:
        """Adds a member, which asks for a slot. True if it has one at once; it is not told of that."""
        line = self._line(place)
        self._members[id] = (place, number)
        alone = len(line) == 0
        line.wait(id, number)
        if self._opened and alone and line.admitted(self.time.now_ms()):
            return True
        self._arm(place, line)
        return False

    def restored(self, place: Place, id: str, number: int, *, holds: bool) -> None:
        """Adds a member that held a slot or waited before, even if more hold one than may."""
        self._number = max(self._number, number)
        self._members[id] = (place, number)
        line = self._line(place)
        if holds:
            line.hold(id)
        else:
            line.wait(id, number)

    def leave(self, id: str) -> Place | None:
        """Removes a member. Returns its place; the caller has it looked at when the leaving is durable."""
        known = self._members.pop(id, None)
        if known is None:
            return None
        self._lines[known[0]].leave(id)
        return known[0]

    def before(self, id: str) -> int:
        """The number of those who go before a member."""
        known = self._members.get(id)
        return 0 if known is None else self._lines[known[0]].before(id)

    def since_ms(self, id: str) -> int:
        """When a member asked."""
        return self._members[id][1] // 1000

    # --- looking -----------------------------------------------------------------------------

    def look(self, place: Place) -> None:
        """Lets in whom the limit allows now."""
        line = self._lines.get(place)
        if line is None or not self._opened:
            return
        for id in line.admitted(self.time.now_ms()):
            self._admit(id)
        if line.idle(self.time.now_ms()):
            self._lines.pop(place, None)
        else:
            self._arm(place, line)

    def look_all(self, name: Name | None = None) -> None:
        """Looks at the lines of a limit whose numbers have changed, or at all."""
        for place in [*self._lines]:
            if name in (None, place.name):
                self._lines[place].bound = self._bound(place.name)
                self.look(place)

    def _line(self, place: Place) -> WaitingLine:
        line = self._lines.get(place)
        if line is None:
            self._sweep()
            line = self._lines[place] = WaitingLine(UNBOUND, self.time.now_ms())
        line.bound = self._bound(place.name)
        return line

    def _sweep(self) -> None:
        """Forgets lines that nobody uses, when there are many."""
        if len(self._lines) < max(MANY, 2 * self._swept):
            return
        now_ms = self.time.now_ms()
        self._lines = {p: line for p, line in self._lines.items() if not line.idle(now_ms)}
        self._swept = len(self._lines)

    def _arm(self, place: Place, line: WaitingLine) -> None:
        now_ms = self.time.now_ms()
        opens_ms = line.opens_ms(now_ms)
        if (
            not self._opened
            or opens_ms is None
            or self._due_ms.get(place, opens_ms + 1) <= opens_ms
        ):
            return
        self._due_ms[place] = opens_ms
        self._timers.arm(opens_ms, "", place)

    def _due(self, _: str, place: Place) -> None:
        self._due_ms.pop(place, None)
        self.look(place)
