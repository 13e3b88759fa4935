"""A line in which those with a time to meet come before those that have only heard of an end."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")

IN_A_ROW = 8  # urgent ones, before another one: else it would wait while urgent ones come


class Line(Generic[T]):
    """Things that wait to be worked on, in two queues. Each queue is in order of arrival."""

    def __init__(self) -> None:
        self._urgent: deque[T] = deque()
        self._others: OrderedDict[int, T] = OrderedDict()  # by identity: one may become urgent
        self._row = 0  # urgent ones since the last other one

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    def add(self, thing: T, *, urgent: bool) -> None:
        """Adds one at the end of its queue."""
        if urgent:
            self._urgent.append(thing)
        else:
            self._others[id(thing)] = thing

    def hurry(self, thing: T) -> None:
        """Moves one that waits with the others to the end of the urgent ones. It may not wait at all."""
        if self._others.pop(id(thing), None) is not None:
            self._urgent.append(thing)

    def take(self) -> T:
        """Takes the next one: an urgent one, but after so many in a row another one.

        Raises:
            LookupError: none waits.
        """
        if self._urgent and (self._row < IN_A_ROW or not self._others):
            self._row += 1
            return self._urgent.popleft()
        self._row = 0
        return self._others.popitem(last=False)[1]
