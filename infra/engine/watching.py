"""Reads that wait: an activation's end, the next entries of a history, the next logs of a namespace."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import orjson

from ...actions import ActivationRow, NotEndedError, NotFoundError, Query
from .news import of
from .tick import caught_up

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ...actions import ExecutionRow
    from .core import Core
    from .news import News, Written
    from .records import Records
    from .stored_values import Stored

Page = TypeVar("Page")
PREFIX = 12  # digits that the ids of an execution and of its steps share


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """A query for activations in the order in which they were committed.

    Args:
        after: position of the page before; None for the present position, with no activations.
        name: name of the action, with its package; None for all.
        execution: execution that must have caused them, directly or not; None for all.
        limit: maximum number of activations.
    """

    after: str | None = None
    name: str | None = None
    execution: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Activations in the order in which they were committed, with their logs and without their results.

    Args:
        activations: records; one that waited for its callback may come again when it has ended.
        next: position to continue from.
        gap: True if the server does not know the position any more: read the list of activations.
    """

    activations: list[Stored]
    next: str
    gap: bool = False

    def to_json(self) -> Stored:
        """The page as a JSON document."""
        gap = {"gap": True} if self.gap else {}
        return {"activations": self.activations, "next": self.next, **gap}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Entries of a history, the execution as it stood before they were read, and logs if asked for."""

    row: ExecutionRow
    entries: list[Stored]
    logs: LogPage | None = None


class Watching:
    """Reads records, and waits for their changes if there is nothing new to read."""

    def __init__(self, core: Core, records: Records, news: News) -> None:
        self._parts, self._store, self._tick = core.parts, core.parts.store, core.tick
        self._records, self._news, self._chains = records, news, core.chains
        self._page_bytes = core.parts.settings.page_bytes

    async def activation(self, namespace: str, id: str, wait_s: float) -> Stored:
        """An activation's record. Waits for the end of a call, a step or an execution that is under way.

        The record of a chain of runs is that of its last run.

        Raises:
            NotFoundError: there is none in this namespace.
            NotEndedError: it has not ended in time.
            UnavailableError: the server is stopping.
        """
        if not wait_s:
            return await self._records.activation(namespace, id)
        until_s = asyncio.get_running_loop().time() + wait_s
        while True:
            run = await self._chains.newest(id)
            left_s = until_s - asyncio.get_running_loop().time()
            record = await self._fresh((run,), left_s, partial(self._ended, namespace, run))
            if record is not None:
                return record
            if await self._chains.newest(run) == run:
                raise NotEndedError

    async def _ended(self, namespace: str, run: str) -> tuple[Stored | None, bool]:
        """The record of a run, and True if there is nothing to wait for: it has ended, or continued as another."""
        try:
            record = await self._records.activation(namespace, run)
        except NotFoundError:
            if await self._chains.newest(run) != run:
                return None, True
            if not await self._is_under_way(namespace, run):
                raise
            return None, False
        if "response" in record and await self._goes_on(run):
            return None, False
        return record, "response" in record

    async def history(
        self, namespace: str, id: str, *, after: int, limit: int, wait_s: float = 0
    ) -> HistoryPage:
        """At most `limit` entries after number `after`. Waits for one if the execution is under way.

        Raises:
            NotFoundError: there is no such execution in this namespace.
            UnavailableError: the server is stopping.
        """

        async def read() -> tuple[HistoryPage, bool]:
            row = await self._records.row(namespace, id)
            entries = await self._records.entries(id, after=after, limit=limit)
            page = HistoryPage(row=row, entries=entries)
            return page, bool(entries) or row.ended_ms is not None

        return await self._fresh((id,), wait_s, read)

    async def logs(self, namespace: str, query: LogQuery, wait_s: float = 0) -> LogPage:
        """The activations that were committed after a position. Waits for one if there is none.

        Raises:
            UnavailableError: the server is stopping.
        """
        left = query

        async def read() -> tuple[LogPage, bool]:
            nonlocal left
            page = await self._written(namespace, left)
            left = replace(left, after=page.next)  # what does not match is not looked at again
            return page, bool(page.activations) or page.gap or query.after is None

        return await self._fresh((of(namespace),), wait_s, read)

    async def both(  # noqa: PLR0913  a page of each
        self, namespace: str, id: str, *, after: int, limit: int, logs: LogQuery, wait_s: float = 0
    ) -> HistoryPage:
        """Like `history`, with the logs of the execution and of the executions below it.

        Raises:
            NotFoundError: there is no such execution in this namespace.
            UnavailableError: the server is stopping.
        """
        left = replace(logs, execution=id)

        async def read() -> tuple[HistoryPage, bool]:
            nonlocal left
            page = await self.history(namespace, id, after=after, limit=limit)
            if page.row.ended_ms is not None:
                await caught_up(self._tick)  # the store shows a commit before its news is told
            lately = await self._written(namespace, left)
            new = lately.activations or lately.gap or logs.after is None
            left = replace(left, after=lately.next)
            ended = page.row.ended_ms is not None
            return replace(page, logs=lately), bool(page.entries or new or ended)

        return await self._fresh((id, of(namespace)), wait_s, read)

    # --- inside ------------------------------------------------------------------------------

    async def _fresh(
        self,
        keys: tuple[str, ...],
        wait_s: float,
        read: Callable[[], Awaitable[tuple[Page, bool]]],
    ) -> Page:
        """Reads until something is new, or `wait_s` seconds are over; then the last that was read."""
        if wait_s <= 0:
            return (await read())[0]
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_s
        while True:
            with self._news.watching(*keys) as news:
                page, fresh = await read()
                left_s = until_s - loop.time()
                if fresh or left_s <= 0:
                    return page
                await asyncio.wait((news,), timeout=left_s)

    async def _written(self, namespace: str, query: LogQuery) -> LogPage:
        if query.after is None:
            return LogPage(activations=[], next=self._position(self._news.count))
        life, _, number = query.after.rpartition(".")
        known = life == self._news.life and number.isdecimal()
        written = self._news.since(int(number)) if known else None
        if written is None:
            return LogPage(activations=[], next=self._position(self._news.count), gap=True)
        found, size, last, parents = [], 0, int(number), dict[str, str | None]()
        for each in written:
            if each.namespace == namespace and await self._is_below(each, query, parents):
                wanted = Query(namespace=namespace, id=each.id, name=query.name, limit=1)
                for row in await self._store.find(ActivationRow, wanted):
                    found.append(self._records.without_result(row))
                    size += len(row.body)
            last = each.number
            if len(found) >= query.limit or size > self._page_bytes:
                break
        return LogPage(activations=found, next=self._position(last))

    def _position(self, number: int) -> str:
        return f"{self._news.life}.{number}"

    async def _is_below(
        self, each: Written, query: LogQuery, parents: dict[str, str | None]
    ) -> bool:
        """True if the execution of the query has caused an activation, or is the activation."""
        if query.execution in (None, each.id, each.cause):
            return True
        above = each.cause
        while above is not None:
            if above not in parents:
                parents[above] = await self._parent(above)
            above = parents[above]
            if above == query.execution:
                return True
        return False

    async def _parent(self, execution: str) -> str | None:
        run = self._parts.runs.get(execution)
        if run is not None:
            return None if run.origin.parent is None else run.origin.parent.execution
        saved = await self._store.load(execution)
        body: Stored = {} if saved is None else orjson.loads(saved.execution.body)
        return body["parent"][0] if "parent" in body else None

    async def _goes_on(self, id: str) -> bool:
        """True if an execution that had ended, and has a record of that, goes on since: it was redriven."""
        if id in self._parts.runs:
            return True
        saved = await self._store.load(id)
        return saved is not None and saved.execution.ended_ms is None

    async def _is_under_way(self, namespace: str, id: str) -> bool:
        """True if an activation without a record will have one: a call, an execution, or one of its steps."""
        for run in self._parts.runs.values():
            if run.id[:PREFIX] != id[:PREFIX] or run.origin.namespace != namespace:
                continue
            steps = (active.opened.id for active in run.invocations.values())
            if run.id == id or run.unsettled or id in steps:
                return True
        if id in self._parts.ended:  # and that is not durable yet
            return True
        saved = await self._store.load(id)
        row = None if saved is None else saved.execution
        return row is not None and row.namespace == namespace and row.ended_ms is None
