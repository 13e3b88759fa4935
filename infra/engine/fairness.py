"""Turns: whose work is done next, and for how long at a time.

The event loop is one for all namespaces. Work that one of them can make without end (compositions that
start compositions, loops, retries) is not done where it comes up but queued here, by namespace, and done
in small shares.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from ...actions import Clock

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Takes from each namespace in turn; what one has added is taken in order."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, namespace: str, item: T) -> None:
        """Adds an item behind the others of its namespace."""
        self._count += 1
        queue = self._queues.get(namespace)
        if queue is None:
            queue = self._queues[namespace] = deque()
        queue.append(item)

    def take(self) -> T:
        """Removes the next item. There must be one."""
        namespace, queue = self._queues.popitem(last=False)
        self._count -= 1
        item = queue.popleft()
        if queue:
            self._queues[namespace] = queue  # behind all others
        return item

    def clear(self) -> None:
        """Forgets all items."""
        self._queues.clear()
        self._count = 0


class Share:
    """So many microseconds, or so many pieces of work, whichever is used up first."""

    def __init__(self, clock: Clock, us: float, pieces: int) -> None:
        self._clock, self._us, self._pieces = clock, us, pieces
        self._until_us: float | None = 0.0
        self._left = 0

    def begin(self) -> None:
        """Grants it anew. Its time counts from the first piece: most events take none, and read no clock."""
        self._until_us, self._left = None, self._pieces

    def take(self) -> bool:
        """Takes a piece of work. False when the share is used up."""
        self._left -= 1
        if self._left < 0:
            return False
        now_us = self._clock.elapsed_us()
        if self._until_us is None:
            self._until_us = now_us + self._us
        return now_us < self._until_us
