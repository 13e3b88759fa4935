"""The tick: everything that has happened meanwhile is committed at once, then carried out.

While a commit is on its way to the disk, what arrives is already advanced in memory and gathers for
the next one. Under load one commit pays for many executions; alone, an execution waits for no other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actions import Write

if TYPE_CHECKING:
    from collections.abc import Callable

    from actions import Store

    from .runs import Run

log = logging.getLogger(__name__)

AT_MOST = 2_000  # units in one commit
RETRY_S = 1.0  # between attempts to commit, when the store fails


@dataclass(slots=True)
class Unit:
    """One write, and what is to be done once it is durable; `refused` instead, when it is not."""

    write: Write = field(default_factory=Write)
    effects: list[Callable[[], None]] = field(default_factory=list)
    refused: Callable[[], None] | None = None


class Tick:
    """Commits units in the order in which they are submitted, many at a time.

    Args:
        store: the system of record.
        proceed: runs an execution that has more to do, and submits what comes of it.
    """

    def __init__(self, store: Store, proceed: Callable[[Run], None]) -> None:
        self._store, self._proceed = store, proceed
        self._units: list[Unit] = []
        self._ready: deque[Run] = deque()
        self._work = asyncio.Event()
        self._rest = asyncio.Event()
        self._rest.set()
        self.healthy = True
        self.commits = 0

    def submit(self, unit: Unit) -> None:
        """Takes a unit for the next commit."""
        self._units.append(unit)
        self._work.set()
        self._rest.clear()

    def resume(self, run: Run) -> None:
        """Lets an execution go on when the others have had their turn."""
        self._ready.append(run)
        self._work.set()
        self._rest.clear()

    async def settled(self) -> None:
        """Waits until there is nothing to commit and nothing to run."""
        await self._rest.wait()

    async def run(self) -> None:
        """Ticks until it is cancelled."""
        while True:
            await self._work.wait()
            for _ in range(len(self._ready)):
                self._proceed(self._ready.popleft())
            units, self._units = self._units[:AT_MOST], self._units[AT_MOST:]
            writes = [unit.write for unit in units]
            refused = await self._commit(writes) if any(map(_matters, writes)) else []
            for index, unit in enumerate(units):
                if index in refused and unit.refused is not None:
                    unit.refused()
                    continue
                for effect in unit.effects:
                    effect()
            if not self._units and not self._ready:
                self._work.clear()
                self._rest.set()
            else:
                await asyncio.sleep(0)  # noqa: TID251  others have their turn

    async def _commit(self, writes: list[Write]) -> list[int]:
        """Commits, however long it takes: until then nobody hears of anything."""
        while True:
            try:
                refused = await self._store.commit(writes)
            except Exception:
                log.exception("the store cannot commit; trying again")
                self.healthy = False
                await asyncio.sleep(RETRY_S)  # noqa: TID251  the disk may be full: give it time
            else:
                self.healthy = True
                self.commits += 1
                return refused


def _matters(write: Write) -> bool:
    return bool(
        write.fibers or write.history or write.activations or write.executions or write.documents
        or write.forgotten or write.dropped or write.values
    )  # fmt: skip
