"""Those who want the same thing at the same time take turns."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Turns:
    """One turn for each thing. One who waits for two things must always ask for them in the same order."""

    def __init__(self) -> None:
        self._taken: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def of(self, *things: str) -> AsyncIterator[None]:
        """Waits until nobody else has one of these things, and has them all until the end of the block."""
        mine: list[str] = []
        try:
            for thing in things:
                while (other := self._taken.get(thing)) is not None:
                    await other.wait()
                self._taken[thing] = asyncio.Event()
                mine.append(thing)
            yield
        finally:
            for thing in mine:
                self._taken.pop(thing).set()
