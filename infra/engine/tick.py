"""The tick: everything that has happened meanwhile is committed at once, then carried out.

Under load one commit pays for many executions; alone, an execution waits for no other. Committing and
carrying out are two tasks, so that while one commit is on its way to the disk the effects of the one
before are carried out, and what comes of them gathers for the next.
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

AT_MOST = 500  # units in one commit
AT_ONCE = 16  # units whose effects are carried out before the next commit may begin
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
        self._left = 0  # units whose effects are to be carried out, committed or not
        self._ready: deque[Run] = deque()
        self._committed: deque[tuple[Unit, bool]] = deque()  # and whether it was refused
        self._work, self._news = asyncio.Event(), asyncio.Event()
        self._rest = asyncio.Event()
        self._rest.set()
        self.healthy = True
        self.commits = 0

    def submit(self, unit: Unit) -> None:
        """Takes a unit for the next commit."""
        self._units.append(unit)
        self._left += 1
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
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._carry_out())
            await self._tick()

    async def _tick(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            for _ in range(len(self._ready)):
                self._proceed(self._ready.popleft())
            units, self._units = self._units[:AT_MOST], self._units[AT_MOST:]
            writes = [unit.write for unit in units]
            refused = await self._commit(writes) if any(map(_matters, writes)) else []
            self._committed += ((unit, i in refused) for i, unit in enumerate(units))
            if len(self._committed) <= AT_ONCE:
                self._take_effect(AT_ONCE)
            else:
                self._news.set()
            if self._units or self._ready:
                self._work.set()
                await asyncio.sleep(0)  # noqa: TID251  others have their turn

    async def _carry_out(self) -> None:
        while True:
            await self._news.wait()
            self._take_effect(AT_ONCE)
            if not self._committed:
                self._news.clear()
            await asyncio.sleep(0)  # noqa: TID251  what has gathered meanwhile can be committed

    def _take_effect(self, count: int) -> None:
        """Carries out the effects of so many committed units, in order."""
        for _ in range(min(count, len(self._committed))):
            unit, refused = self._committed.popleft()
            self._left -= 1
            if refused and unit.refused is not None:
                unit.refused()
                continue
            for effect in unit.effects:
                effect()
        if not (self._left or self._ready):
            self._rest.set()

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
