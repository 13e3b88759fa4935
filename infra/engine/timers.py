"""Timers: one alarm of the event loop for the nearest of them all.

Those that wait for an instant follow the machine's clock, also when it is set. Those that wait for so long
follow `Elapsed`: they are what an execution waits for unless it names an instant.
"""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...actions import Clock

AT_ONCE = 500  # timers that fire before the others of the event loop have their turn

FEW = 16  # a sixteenth of all timers is added one by one: to order all anew takes as long

Timer: TypeAlias = tuple[str, int, int]
"""A fiber, the instant of its execution's time that it waits for, and how far that time was ahead."""

T = TypeVar("T")


class Shows(Protocol):
    """The time that timers follow."""

    def now_ms(self) -> int: ...


class Elapsed:
    """Shows how long the machine has run: nobody can set it. A `Shows`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        return int(self._clock.elapsed_us() // 1000)


class Steady:
    """The time, which nobody sets while the server runs. Shows the time to timers, too."""

    def __init__(self, clock: Clock) -> None:
        self._elapsed = Elapsed(clock)
        self._ahead_ms = clock.now_ms() - self._elapsed.now_ms()

    def now_ms(self) -> int:
        return self._elapsed.now_ms() + self._ahead_ms


class Timers(Generic[T]):
    """Calls `fire(execution, fiber)` when the time has come. One that is stale fires in vain.

    Args:
        clock: the time that is followed.
        fire: called when the time has come.
        look_s: the longest sleep: the machine's clock may be set, and the machine may sleep.
    """

    def __init__(self, clock: Shows, fire: Callable[[str, T], None], look_s: float = 10.0) -> None:
        self._clock, self._fire, self._look_s = clock, fire, look_s
        self._heap: list[tuple[int, str, T]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0

    def __len__(self) -> int:
        return len(self._heap)

    def arm(self, due_ms: int, execution: str, fiber: T) -> None:
        """Adds one timer."""
        heapq.heappush(self._heap, (due_ms, execution, fiber))
        self._set()

    def arm_all(self, timers: list[tuple[int, str, T]]) -> None:
        """Adds many at once."""
        if len(timers) < len(self._heap) // FEW:
            for timer in timers:
                heapq.heappush(self._heap, timer)
        else:
            self._heap += timers
            heapq.heapify(self._heap)
        self._set()

    def stop(self) -> None:
        """Forgets them all."""
        self._heap.clear()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set(self) -> None:
        if not self._heap:
            return
        due_ms = self._heap[0][0]
        if self._alarm is not None:
            if self._alarm_ms <= due_ms:
                return
            self._alarm.cancel()
        delay = min(max(0, due_ms - self._clock.now_ms()) / 1000, self._look_s)
        self._alarm_ms = due_ms
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now_ms = self._clock.now_ms()
        for _ in range(AT_ONCE):
            if not self._heap or self._heap[0][0] > now_ms:
                break
            _, execution, fiber = heapq.heappop(self._heap)
            self._fire(execution, fiber)
        self._set()
