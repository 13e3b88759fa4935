"""Work that takes long runs on a thread, so that nobody else waits for it.

Python runs one thread at a time: the event loop gets its turn after each
`TURN_S`. Such work is done one piece after another, so that a hundred requests at once cost others no more
of each turn than one. Definitions and executions have a lane each, so they do not wait for each other.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Final, TypeVar

from ...composer import measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...composer import JSON

T = TypeVar("T")

LARGE_BYTES: Final = 16 << 10  # of a definition: it may take more than a few milliseconds to check
TURN_S: Final = 0.001  # after which a thread lets another have its turn
# Lanes: each runs one piece of work at a time.
DEFINITIONS, EXECUTIONS = "definitions", "executions"


class Threads:
    """Runs functions beside the event loop. They must not change what others see."""

    def __init__(self) -> None:
        self._turns = {lane: asyncio.Lock() for lane in (DEFINITIONS, EXECUTIONS)}
        self._running = 0
        self._usual_s = 0.0
        self.done = 0

    async def run(self, function: Callable[[], T], lane: str = DEFINITIONS) -> T:
        """Runs a function on a thread, while the event loop goes on. Returns or raises what the function does."""
        async with self._turns[lane]:
            self._begin()
            try:
                return await asyncio.to_thread(function)
            finally:
                self._end()

    def _begin(self) -> None:
        if not self._running:
            self._usual_s = sys.getswitchinterval()
            sys.setswitchinterval(TURN_S)
        self._running += 1

    def _end(self) -> None:
        self._running -= 1
        if not self._running:
            sys.setswitchinterval(self._usual_s)
        self.done += 1

    async def weigh(self, given: JSON, function: Callable[[], T]) -> T:
        """Runs a function on a thread if its input is large, else at once."""
        if is_large(given):
            return await self.run(function)
        return function()


def is_large(value: JSON) -> bool:
    """True if a value is too large to be walked in the event loop."""
    return measured(value, LARGE_BYTES) > LARGE_BYTES
