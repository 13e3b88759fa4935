"""The store in a DynamoDB table: no record is lost with the server's machine.

A commit reads the items it touches, computes the changes (`batch`), and makes them with one transaction, or
with a journal if they do not fit into one (`journal`). `items` has the layout of the table. A table belongs
to one server at a time (`lease`).

Every read is consistent. An execution and its fibers are read from one snapshot; so is each page of a
listing, but not the listing as a whole.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ....actions import Document, Standing
from ..errors import StoreDoubtError, StoreError
from ..read_write_lock import ReadWriteLock
from .batch import Batch, deleted_prefixes, replaced_keys
from .expiry import expire
from .items import (
    HISTORY,
    LATER,
    Item,
    cut,
    document_key,
    document_of,
    first_of,
    history_key,
    value_key,
)
from .journal import Entry, Journal
from .lease import LIVES_MS, LastCommit, Lease
from .listing import Listing
from .rewriting import pages, rewritten
from .table import Span, Table, UnmetError, connected, gather
from .under_way import UnderWay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ....actions import ActivationRow, Clock, ExecutionRow, Query, Record, Saved, Write
    from ..sealed import Change
    from .table import Pause

log = logging.getLogger(__name__)

THREADS = 16  # calls at the same time
PAGE = 200  # documents read at once
RENEWAL_S = LIVES_MS / 1000 / 4  # between renewals of a lease


@dataclass(frozen=True, slots=True)
class _InDoubt:
    """A commit that may or may not have been made."""

    writes: Sequence[Write]
    refused: list[int]
    entry: Entry
    last: LastCommit


class DynamoStore:
    """Executions in a DynamoDB table. A `Store`; use it with `async with`.

    Args:
        table: its name; it is created if there is none.
        clock: the time.
        client: boto3's, of DynamoDB; None for one with the SDK's usual credentials and region.
        threads: calls at the same time.
        pause: waits for some seconds.
    """

    def __init__(
        self,
        table: str,
        clock: Clock,
        *,
        client: Any = None,
        threads: int = THREADS,
        pause: Pause = asyncio.sleep,  # noqa: TID251  an overloaded table recovers in time
    ) -> None:
        self._name, self._clock, self._client = table, clock, client
        self._threads, self._pause = threads, pause
        self._owner = secrets.token_hex(8)
        self._commits = 0
        self._lock = ReadWriteLock()
        self._last = LastCommit("", 0)
        self._doubts: dict[str, _InDoubt] = {}
        self._recovered: _InDoubt | None = None  # it was made, though its caller saw an error
        self._statuses: set[str] = set()
        self.gone = asyncio.Event()  # another server has taken the table over
        self._opened: AsyncExitStack
        self._table: Table
        self._lease: Lease
        self._journal: Journal
        self._listing: Listing
        self._under_way: UnderWay

    async def __aenter__(self) -> Self:
        """Creates or opens the table, takes the lease, and finishes decided commits.

        Raises:
            StoreError: if boto3 is not installed, there is no region, the credentials are refused,
                another server uses the table, or it has another schema.
        """
        client = self._client or await asyncio.to_thread(connected, self._threads)
        async with AsyncExitStack() as opening:
            self._table = Table(client, self._name, self._threads, self._pause)
            opening.callback(self._table.close)
            await self._table.prepare()
            self._lease = Lease(self._table, self._clock, self._owner, self.gone)
            await self._lease.take()
            opening.push_async_callback(self._release)
            self._journal = Journal(self._table, self._lease)
            self._listing = Listing(self._table, self._reading)
            self._under_way = UnderWay(self._table, self._listing, self._reading)
            await self._journal.recover()
            self._last = await self._lease.last_commit()
            self._statuses = set(await self._listing.statuses())
            await opening.enter_async_context(self._renewing())
            self._opened = opening.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._opened.aclose()

    async def _release(self) -> None:
        try:
            await self._lease.release()
        except StoreError:
            log.exception("the lease of the table cannot be released; it ends by itself")

    @asynccontextmanager
    async def _renewing(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            renewing = tasks.create_task(self._renew())
            yield
            renewing.cancel()

    async def _renew(self) -> None:
        held = True
        while held:
            await self._pause(RENEWAL_S)
            try:
                held = await self._lease.renew()
            except StoreError:
                log.exception("the lease of the table cannot be renewed; trying again")
        log.error("another server has taken table %s over", self._name)

    # --- writing -----------------------------------------------------------------------------

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        self._lease.ensure()
        async with self._lock.writing():
            with self._table.hurried():
                return await self._committed(writes)

    async def _committed(self, writes: Sequence[Write]) -> list[int]:
        await self._resolve_doubts()
        recovered, self._recovered = self._recovered, None
        if recovered is not None and recovered.writes == writes:
            return recovered.refused
        batch = Batch(self._last.number, self._statuses)
        refused = await self._plan(batch, writes)
        changes = batch.changes()
        if changes:
            self._commits += 1
            last = LastCommit(f"{self._owner}.{self._commits}", batch.number)
            entry = Entry(last.commit, changes)
            await self._put(_InDoubt(writes, refused, entry, last))
            self._statuses = batch.statuses
        return refused

    async def _plan(self, batch: Batch, writes: Sequence[Write]) -> list[int]:
        reading = [
            self._table.first(Span(pk, prefix), bodies=False)
            for pk, prefix in deleted_prefixes(writes)
        ]
        for items in await gather(reading):
            batch.read(items)
        batch.read((await self._table.get(replaced_keys(writes), bodies=False)).values())
        refused = batch.write(writes)
        for index, write in enumerate(writes):
            if index not in refused and write.expired is not None:
                await expire(self._table, batch, write.expired)
        return refused

    async def _put(self, doubt: _InDoubt) -> None:
        """Makes a commit. Until this succeeds, the commit is in doubt."""
        self._doubts[doubt.entry.commit] = doubt
        try:
            await self._journal.commit(doubt.entry, self._last.commit, doubt.last)
        except UnmetError:
            await self._resolve_doubts()
            if self._recovered is not doubt:
                raise StoreError(
                    f"table {self._name}: an earlier commit was made in the meantime; try again"
                ) from None
            self._recovered = None
            return
        except StoreDoubtError:
            raise
        except StoreError as error:
            if not doubt.entry.small:  # the journal may hold its decision
                raise StoreDoubtError(str(error)) from error
            del self._doubts[doubt.entry.commit]  # every attempt was refused
            raise
        self._last = doubt.last
        self._doubts.clear()

    async def _resolve_doubts(self) -> None:
        """Finds out how commits in doubt have ended, and finishes one that was decided."""
        if not self._doubts:
            return
        last = await self._lease.last_commit()
        doubt = self._doubts.get(last.commit)
        if doubt is None:  # none was made; one may be yet, unless the next comes before it
            return
        await self._journal.finish(doubt.entry)
        self._last, self._recovered = doubt.last, doubt
        self._doubts.clear()

    async def rewrite(self, change: Change) -> int:
        """Replaces bodies, a page of rows at a time. Returns how many."""
        changed = 0
        async for items in pages(self._table):
            whole = await self._listing.whole(items)
            made = [rewritten(item, body, change) for item, body in whole.values()]
            writes = [write for write in made if write is not None]
            if writes:
                await self.commit(writes)
            changed += len(writes)
        return changed

    # --- reading -----------------------------------------------------------------------------

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        """Reads within the block see one snapshot."""
        self._lease.ensure()
        if self._doubts:
            async with self._lock.writing():
                await self._resolve_doubts()
        async with self._lock.reading():
            yield

    async def standing(
        self, after: str = "", limit: int | None = None, *, of: Sequence[str] | None = None
    ) -> Standing:
        if of is None:
            return await self._under_way.page(after, limit)
        found = await gather(self._under_way.saved(id) for id in of)
        return Standing([], [], saved=[saved for saved in found if saved is not None])

    async def load(self, execution: str) -> Saved | None:
        return await self._under_way.saved(execution, tail=False)

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        if not limit:
            return []
        pk, start = history_key(execution, after + 1)
        async with self._reading():
            before = Span(pk, low=HISTORY, high=start)
            holding = await self._table.first(before, 1, backward=True, size=1, bodies=False)
            start = holding[0]["sk"]["S"] if holding else start
            after_it = Span(pk, low=start, high=HISTORY + LATER)
            rows = await self._listing.whole(await self._table.first(after_it, limit, size=limit))
        return [(first_of(item), body) for item, body in rows.values()]

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        places = {value_key(execution, key): key for key in keys}
        async with self._reading():
            rows = await self._listing.rows(list(places))
        return {places[place]: body for place, (_, body) in rows.items()}

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        return await self._listing.find(kind, query)

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        return await self._listing.count(kind, query)

    async def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        left = limit
        async for group in self._groups(kind, prefix, after or "", limit):
            found = sorted((document_of(kind, *row) for row in group), key=lambda d: d.key)
            for document in found:
                if left == 0:
                    return
                if document.key.startswith(prefix) and (after is None or document.key > after):
                    yield document
                    left = None if left is None else left - 1

    async def _groups(
        self, kind: str, prefix: str, after: str, limit: int | None
    ) -> AsyncIterator[list[tuple[Item, bytes]]]:
        """Yields documents in order but for each group: keys that are cut are ordered by their digests."""
        pk, low = document_key(kind, max(cut(prefix), cut(after)))
        high = document_key(kind, cut(prefix))[1] + 2 * LATER
        span, start = Span(pk, low=low, high=high), None
        size = PAGE if limit is None else min(PAGE, limit + 1)  # with the document of key `after`
        group: list[tuple[Item, bytes]] = []
        while low <= high:
            async with self._reading():
                items, start = await self._table.page(span, start, size=size)
                rows = await self._listing.whole(items)
            for row in rows.values():
                if group and cut(group[-1][0]["key"]["S"]) != cut(row[0]["key"]["S"]):
                    yield group
                    group = []
                group.append(row)
            if start is None:
                yield group
                return
