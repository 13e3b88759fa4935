"""Timers: one alarm of the event loop for the nearest of them all."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from actions import Clock

AT_ONCE = 500  # timers that fire before the others of the event loop have their turn
LONGEST_S = 3600.0  # the machine's clock may be set: look at least so often


class Timers:
    """Calls `fire(execution, fiber)` when the time has come. One that is stale fires in vain."""

    def __init__(self, clock: Clock, fire: Callable[[str, str], None]) -> None:
        self._clock, self._fire = clock, fire
        self._heap: list[tuple[int, str, str]] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0

    def __len__(self) -> int:
        return len(self._heap)

    def arm(self, due_ms: int, execution: str, fiber: str) -> None:
        """Adds one timer."""
        heapq.heappush(self._heap, (due_ms, execution, fiber))
        self._set()

    def arm_all(self, timers: list[tuple[int, str, str]]) -> None:
        """Adds many at once."""
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
        delay = min(max(0, due_ms - self._clock.now_ms()) / 1000, LONGEST_S)
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
