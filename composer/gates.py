"""Limits that wait: how many pass at the same time and in a minute, and the line of those that wait.

No clock: the caller gives the time.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

from .freezing import frozen

TOKEN = 60_000  # the units of a token: `per_minute` of them come in each millisecond


@frozen
class Bound:
    """A limit that waits; None for no limit.

    Args:
        concurrent: tasks under way at the same time.
        per_minute: tasks that begin in a minute, evenly: at most a second's share of them at once.
    """

    concurrent: int | None = None
    per_minute: int | None = None

    @property
    def burst(self) -> int:
        """The number of tasks that may begin at once."""
        return max(1, (self.per_minute or 0) // 60)

    def to_json(self) -> dict[str, int]:
        """Its numbers; those that bound nothing are left out."""
        numbers = {"concurrent": self.concurrent, "per_minute": self.per_minute}
        return {name: number for name, number in numbers.items() if number is not None}


UNBOUND = Bound()


class Gate:
    """The part of one limit that is in use. `parked` are those that wait until it opens, as its owner keeps them."""

    __slots__ = ("_at_ms", "_level", "_under_way", "bound", "due_ms", "parked")

    def __init__(self, bound: Bound, now_ms: int) -> None:
        self.bound = bound
        self._under_way = 0
        self._level, self._at_ms = TOKEN, now_ms  # one token: a restart must not begin with a burst
        self.parked: list[Any] = []
        self.due_ms: int | None = None  # when it is looked at again

    def opens_ms(self, now_ms: int) -> int | None:
        """The instant from which a task may pass; None if one must end first."""
        concurrent, per_minute = self.bound.concurrent, self.bound.per_minute
        if concurrent is not None and self._under_way >= concurrent:
            return None
        if per_minute is None:
            return now_ms
        lacking = TOKEN - self._filled(now_ms, per_minute)
        return now_ms if lacking <= 0 else now_ms - (-lacking // per_minute)

    def enter(self, now_ms: int, *, counted: bool = True) -> None:
        """Lets a task pass; one that is not `counted` has used its token before a restart."""
        self._under_way += 1
        if self.bound.per_minute is not None and counted:
            self._level = self._filled(now_ms, self.bound.per_minute) - TOKEN
            self._at_ms = max(self._at_ms, now_ms)

    def leave(self) -> None:
        """Notes the end of a task."""
        self._under_way -= 1

    def reset(self) -> None:
        """Counts no task as under way."""
        self._under_way = 0

    def idle(self, now_ms: int) -> bool:
        """True if a new gate would not differ from it."""
        if self._under_way or self.parked or self.due_ms is not None:
            return False
        per_minute = self.bound.per_minute
        return per_minute is None or self._filled(now_ms, per_minute) >= TOKEN

    def _filled(self, now_ms: int, per_minute: int) -> int:
        come = max(0, now_ms - self._at_ms) * per_minute
        return min(self._level + come, self.bound.burst * TOKEN)


class WaitingLine:
    """Those that hold a slot of one limit, and those that wait for one, in the order of their places.

    A place is a number that no other has; a smaller one goes first. Nobody passes those that wait.
    """

    __slots__ = ("_gate", "_places", "_waiting", "holders")

    def __init__(self, bound: Bound, now_ms: int) -> None:
        self._gate = Gate(bound, now_ms)
        self._waiting: list[tuple[int, str]] = []
        self._places: dict[str, int] = {}
        self.holders: set[str] = set()

    @property
    def bound(self) -> Bound:
        """Its limit; another one counts at once, for those that hold a slot as well."""
        return self._gate.bound

    @bound.setter
    def bound(self, bound: Bound) -> None:
        self._gate.bound = bound

    def __len__(self) -> int:
        """The number of those that wait."""
        return len(self._waiting)

    @property
    def waiting(self) -> list[str]:
        """Those that wait, the first of them first."""
        return [id for _, id in self._waiting]

    @property
    def first(self) -> str | None:
        """The one that is next; None if nobody waits."""
        return self._waiting[0][1] if self._waiting else None

    def before(self, id: str) -> int:
        """The number of those that go before one that waits; 0 for one that does not."""
        place = self._places.get(id)
        return 0 if place is None else bisect_left(self._waiting, (place, id))

    def wait(self, id: str, place: int) -> None:
        """Has somebody wait at a place."""
        self._places[id] = place
        insort(self._waiting, (place, id))

    def hold(self, id: str) -> None:
        """Notes a slot that is held already, before a restart for example, even if there are too many."""
        self.holders.add(id)
        self._gate.enter(0, counted=False)

    def leave(self, id: str) -> None:
        """Forgets one that waits, or takes its slot back."""
        place = self._places.pop(id, None)
        if place is not None:
            del self._waiting[bisect_left(self._waiting, (place, id))]
        elif id in self.holders:
            self.holders.discard(id)
            self._gate.leave()

    def admitted(self, now_ms: int) -> list[str]:
        """Gives slots to as many of those that wait as the limit allows now, in order. Returns them."""
        found: list[str] = []
        while self._waiting and (opens_ms := self._gate.opens_ms(now_ms)) is not None:
            if opens_ms > now_ms:
                break
            _, id = self._waiting.pop(0)
            del self._places[id]
            self.holders.add(id)
            self._gate.enter(now_ms)
            found.append(id)
        return found

    def opens_ms(self, now_ms: int) -> int | None:
        """The instant at which time lets the next one in; None if nobody waits, or one must leave first."""
        return self._gate.opens_ms(now_ms) if self._waiting else None

    def idle(self, now_ms: int) -> bool:
        """True if a new line would not differ from it."""
        return not self._waiting and self._gate.idle(now_ms)
