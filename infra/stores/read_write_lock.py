"""A lock for readers and writers in one event loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class ReadWriteLock:
    """Readers share the lock, a writer has it alone; granted in order of arrival."""

    def __init__(self) -> None:
        self._door = asyncio.Lock()
        self._readers = 0
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        async with self._door:
            self._readers += 1
            self._empty.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._empty.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        async with self._door:
            await self._empty.wait()
            yield
