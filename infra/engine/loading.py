"""Executions are read from the store: those that are asked for at the same time, together.

64 messages that arrive together for 64 executions cost one read, as their commits are one commit.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...actions import Saved, Store

log = logging.getLogger(__name__)

MOST = 64  # executions that are read together: each may have many fibers


class _Batch:
    """Executions that are read together, and those of them that were found."""

    __slots__ = ("asked", "found", "over")

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.found: dict[str, Saved] = {}
        self.over = asyncio.Event()


class Loading:
    """Reads executions with their fibers.

    Args:
        store: the system of record.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._gathering: _Batch | None = None

    async def load(self, execution: str) -> Saved | None:
        """Reads an execution, together with those that others ask for in this turn of the event loop.

        Nobody else may ask for this one meanwhile.

        Raises:
            UnavailableError: the store cannot be read just now.
        """
        batch, first = self._gathering, False
        if batch is None or len(batch.asked) >= MOST:
            batch, first = _Batch(), True
            self._gathering = batch
        batch.asked.append(execution)
        if first:
            await self._read(batch)
        else:
            await batch.over.wait()
        return batch.found.get(execution) or await self._store.load(execution)

    async def _read(self, batch: _Batch) -> None:
        """Reads a batch, if it is more than one; what is not found then is read by itself."""
        try:
            await asyncio.sleep(0)  # noqa: TID251  others may ask, too
            if self._gathering is batch:
                self._gathering = None
            if len(batch.asked) > 1:
                standing = await self._store.standing(of=batch.asked)
                batch.found = {saved.execution.id: saved for saved in standing.saved}
        except Exception as error:  # noqa: BLE001  each is read by itself, and tells what is wrong
            log.warning("executions cannot be read together: %s", error)
        finally:
            if self._gathering is batch:
                self._gathering = None
            batch.over.set()
