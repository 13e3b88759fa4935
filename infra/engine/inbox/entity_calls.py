"""Entities are asked at once: what they do is committed with the step, so nothing need be durable before."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

AT_ONCE = 64  # entities that are asked before others of the event loop have their turn


class Asks:
    """What entities are to be asked, in turn.

    What comes of it may ask for more: all of it is done here, so that it does not nest.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._asking = False

    def add(self, ask: Callable[[], None]) -> None:
        """Adds what is asked next."""
        self._waiting.append(ask)

    def ask(self) -> None:
        """Asks, unless that is being done."""
        if self._asking:
            return
        self._asking = True
        for _ in range(AT_ONCE):
            if not self._waiting:
                break
            try:
                self._waiting.popleft()()
            except Exception:
                log.exception("an entity was not asked; it is after the next start")
        self._asking = False
        if self._waiting:  # others have their turn
            asyncio.get_running_loop().call_soon(self.ask)
