"""The executions that were under way at a start are found and counted, a page at a time."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from sys import intern
from typing import TYPE_CHECKING

from .fairness import FairQueue
from .lineage import lineage_of
from .offspring import note_child

if TYPE_CHECKING:
    from .bounds import Bounds
    from .lineage import Lineage
    from .shared import Parts

log = logging.getLogger(__name__)

PAGE = 200  # executions that are read and counted in one turn of the event loop, in some 2 ms
PAGES_AT_START = 4  # that are counted before the server answers


class Survivors:
    """The executions that were under way at a start. None of them goes on before all have been counted.

    The executions that begin meanwhile are counted as they begin, and left out here.

    Args:
        parts: of the engine.
        bounds: count the executions.
        lineages: is filled with those of all executions that were under way.
    """

    def __init__(self, parts: Parts, bounds: Bounds, lineages: dict[str, Lineage]) -> None:
        self._store, self._bounds, self._lineages = parts.store, bounds, lineages
        self._offspring = parts.offspring
        self._again_s = parts.settings.pacing.recovery_retry_s
        self._new: set[str] = set()  # begun since the start
        self._below: list[Lineage] = []  # executions that others have started
        self._after: str | None = ""
        self._ended, self._stopping = asyncio.Event(), asyncio.Event()
        self.complete = False  # all executions that were under way have been counted
        self.left: set[str] = set()  # the executions that are to be recovered
        self.late: FairQueue[str] = FairQueue()  # the same, in the order of their starts
        self.parents: set[str] = set()  # of children that were under way
        self.timers: list[tuple[int, str, str]] = []  # (due_ms, execution, fiber)

    def knows(self, execution: str) -> bool:
        """True if an execution is counted by now, or was not under way at the start."""
        return self.complete or execution in self._new

    async def begin(self) -> None:
        """Counts the first executions: few are all.

        Raises:
            UnavailableError: the store cannot be read.
        """
        self._bounds.note_begun(self._new)
        for _ in range(PAGES_AT_START):
            await self._page()
            if self._after is None:
                await self._relate()
                return
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time

    async def go_on(self) -> None:
        """Counts the others, in turn with all else that the server does."""
        while self._after is not None and not self._stopping.is_set():
            try:
                await self._page()
            except Exception:
                log.exception("what was under way cannot be read; it is tried again")
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._again_s):  # the store may work by then
                        await self._stopping.wait()
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time
        if self._after is None:
            await self._relate()

    async def counted(self) -> bool:
        """Waits for the end. Returns False if the server stops before it."""
        await self._ended.wait()
        return self.complete

    def stop(self) -> None:
        """Counts nothing more."""
        self._stopping.set()
        self._ended.set()

    async def _page(self) -> None:
        assert self._after is not None  # noqa: S101  the callers know
        standing = await self._store.standing(self._after, PAGE)
        found = [lineage_of(row) for row in standing.executions if row.id not in self._new]
        self._lineages.update({one.execution: one for one in found})
        self._below += [one for one in found if one.root != one.execution]
        for one in found:
            if one.parent:
                self.parents.add(one.parent)
                note_child(self._offspring, one.parent, one.execution, one.close)
        self._bounds.restored(found)
        for id in standing.active:
            if id not in self._new:
                execution, namespace = self._home(id)
                self.left.add(execution)
                self.late.add(namespace, execution)
        self.timers += [
            (due_ms, self._home(id)[0], intern(fiber))
            for due_ms, id, fiber in standing.timers
            if id not in self._new
        ]
        self._after = standing.last

    def _home(self, id: str) -> tuple[str, str]:
        """An execution's id, as one object for all who keep it, and its namespace."""
        lineage = self._lineages.get(id)
        return (id, "") if lineage is None else (lineage.execution, lineage.namespace)

    async def _relate(self) -> None:
        """Counts executions in their families: the root of a family may be on any page."""
        while self._below:
            some, self._below = self._below[-PAGE:], self._below[:-PAGE]
            self._bounds.related(self._lineages, some)
            if self._below:
                await asyncio.sleep(0)  # noqa: TID251  it has taken some time
        self._bounds.note_begun(None)
        self._new.clear()
        self.complete = True
        self._ended.set()
