"""Entities are called at once: their writes are committed with the step, so nothing need be durable before."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

AT_ONCE = 64  # entities that are called before others of the event loop have their turn


class EntityCalls:
    """The calls of entities that are to be made, in turn.

    A call may add further calls: all are made by one loop, so that they do not nest.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._making = False

    def add(self, call: Callable[[], None]) -> None:
        """Adds a call."""
        self._waiting.append(call)

    def make(self) -> None:
        """Makes the calls, unless that is being done."""
        if self._making or not self._waiting:
            return
        self._making = True
        for _ in range(AT_ONCE):
            if not self._waiting:
                break
            try:
                self._waiting.popleft()()
            except Exception:
                log.exception("an entity was not called; it will be after the next start")
        self._making = False
        if self._waiting:  # others have their turn
            asyncio.get_running_loop().call_soon(self.make)
