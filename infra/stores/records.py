"""The activations and histories of a SQLite store: the journal's, found by its views and in its tail.

A thread with its own connection, the projector, fills the views some time after the commits, many records at
once. Until then the records are in the tail, so that a read finds whatever was committed before it. Another
thread reads lists, so that none blocks the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from . import expiry, listing
from .listing import JournalError, MovedError
from .matching import matches
from .tail import Tail
from .views import Owner, Views

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from ...actions import ActivationRow, ExecutionRow, Query
    from .expiry import Plan
    from .journal import Entries

log = logging.getLogger(__name__)

T = TypeVar("T")
FILLED_AT_ONCE = 4_000  # records in the tail that are filled in at once
REST_S = 0.1  # after which fewer are
NEAR_LISTS = 200  # of a history: as many are read in the event loop
TAIL_RECORDS = 12_000  # a commit waits while the tail has more
TAIL_BYTES = 64 << 20
TRIES = 8  # of a read whose records are being written again elsewhere in the journal
RETRY_S = 0.5  # after an error, such as a full disk
TOLD_EVERY = 50_000  # commits: the progress of a long filling


class Records:
    """Finds the records of a journal. Use it with `async with`.

    Args:
        owner: the database with the journal.
        path: of the views; None for views that end with this object.
        notice: is called before each read, and adds a commit that other reads can see already.
    """

    def __init__(
        self, owner: Owner, path: Path | None, notice: Callable[[], None] = lambda: None
    ) -> None:
        self.tail = Tail(owner.number)
        self._notice = notice
        self._floor = owner.floor  # the number of the newest journal row that expired
        self._trimmed = 0
        self._views = Views(owner, path)
        self._reader: sqlite3.Connection  # for the thread
        self._near: sqlite3.Connection  # for what is read at once, in the event loop
        self._projecting = ThreadPoolExecutor(1, "projector")
        self._own = path is None  # in this process only
        # One connection cannot be used by two threads at once.
        self._reading = ThreadPoolExecutor(1, "reader") if path is not None else self._projecting
        self._number = 0  # of the journal row up to which the views are filled
        self._told = 0
        self._filling: asyncio.Future[int] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[asyncio.Future[None]] = []  # for the next filling
        self._failing = self._sound = self._held = self._closed = False
        self._making, self._made = asyncio.Lock(), 0
        self._healing: asyncio.Task[bool] | None = None

    async def __aenter__(self) -> Self:
        """Opens the views. What they lack is filled in beside the first commits, and reads wait for it.

        Raises:
            sqlite3.Error: the views cannot be made.
        """
        loop = asyncio.get_running_loop()
        try:
            self._number = await loop.run_in_executor(self._projecting, self._views.open)
            await self._open_readers()
        except BaseException:
            self._views.close()
            self._reading.shutdown()
            self._projecting.shutdown()
            raise
        self._told = self._number
        if self._number == self._floor:
            self._trimmed = self._floor  # the views have no places of what expired
        self._fill()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Closes the views, which may lack the newest records: the next start fills them in."""
        self._closed = True
        if self._healing is not None:
            await asyncio.wait([self._healing])
        self._held = True
        self._move()
        if self._filling is not None:
            await asyncio.wait([self._filling])
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        await self._close_readers()
        await loop.run_in_executor(self._projecting, self._views.settle)
        self._reading.shutdown()
        self._projecting.shutdown()

    async def _open_readers(self) -> None:
        loop = asyncio.get_running_loop()
        self._reader = await loop.run_in_executor(self._reading, self._views.reader)
        self._near = self._reader if self._own else self._views.reader()

    async def _close_readers(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._reading, self._reader.close)
        self._near.close()

    # --- filling -----------------------------------------------------------------------------

    def add(self, number: int, written: Entries, size: int) -> None:
        """Adds the records of a commit, whose bodies have `size` bytes."""
        self.tail.add(number, written, size)
        if self.tail.size >= FILLED_AT_ONCE:
            self._fill()
        elif self._timer is None and self._filling is None:
            self._timer = asyncio.get_running_loop().call_later(REST_S, self._fill)

    def drop(self, floor: int) -> None:
        """Leaves out the rows of the journal up to a number, which expired."""
        self._floor = max(self._floor, floor)

    def _fill(self) -> None:
        """Has the projector fill in what is new, unless it is at it."""
        if self._held or self._filling is not None or (self._failing and self._timer is not None):
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._number >= self.tail.number and self._trimmed >= self._floor:
            self._move()
            return
        loop = asyncio.get_running_loop()
        work = partial(self._filled, self._number, self.tail.number, self._floor)
        self._filling = loop.run_in_executor(self._projecting, work)
        self._filling.add_done_callback(self._after)

    def _filled(self, after: int, goal: int, floor: int) -> int:
        """Fills in some rows, in the projector."""
        number = self._views.fill(after, goal) if after < goal else after
        if self._trimmed < floor and not self._views.trim(floor):
            self._trimmed = floor
        return number

    def _after(self, filled: asyncio.Future[int]) -> None:
        self._filling = None
        error = filled.exception()
        if error is not None:
            self._failed(error)
            return
        self._failing = False
        self._number = filled.result()
        self.tail.drop(self._number)
        self._tell()
        self._move()
        behind = self._number < self.tail.base  # the tail lacks what the views lack
        if behind or self.tail.size >= FILLED_AT_ONCE:
            self._fill()
        elif self._number < self.tail.number or self._trimmed < self._floor:
            self._timer = asyncio.get_running_loop().call_later(REST_S, self._fill)

    def _failed(self, error: BaseException) -> None:
        """Tries again later; whoever waits hears of the error."""
        if not self._failing:
            log.error("the views of the store cannot be written, and are tried again: %s", error)
        self._failing = True
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_exception(error)
        loop = asyncio.get_running_loop()
        passing = isinstance(error, sqlite3.OperationalError)  # such as a full disk
        if isinstance(error, sqlite3.DatabaseError) and not (passing or self._closed):
            self._healing = loop.create_task(self._remade(self._made))
        self._timer = loop.call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._timer = None
        self._fill()

    def _tell(self) -> None:
        if self._number - self._told >= TOLD_EVERY:
            self._told = self._number
            log.info(
                "the views of the store are being filled: %d of %d commits",
                self._number, self.tail.number,
            )  # fmt: skip

    def _move(self) -> None:
        """Wakes whoever waits for the projector."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def filled(self, number: int) -> None:
        """Waits until the views have the journal up to a number.

        Raises:
            sqlite3.Error: they cannot be written.
        """
        while self._number < min(number, self.tail.number):
            if self._closed:
                raise sqlite3.ProgrammingError("the store is closed")
            moved = asyncio.get_running_loop().create_future()
            self._waiting.append(moved)
            self._fill()
            await moved

    @property
    def full(self) -> bool:
        """True if the tail is so long that commits must wait."""
        return self.tail.size > TAIL_RECORDS or self.tail.bytes > TAIL_BYTES

    async def room(self) -> None:
        """Waits while the tail is full.

        Raises:
            sqlite3.Error: the views cannot be written.
        """
        while self.full:
            await self.filled(self._number + 1)

    # --- reading -----------------------------------------------------------------------------

    async def find(self, query: Query) -> list[ActivationRow]:
        """Finds activations, the newest first."""
        self._notice()
        if query.id is not None and (row := self.tail.activation(query.id)) is not None:
            return [row][query.skip :][: query.limit] if matches(row, query) else []

        def ask(db: sqlite3.Connection) -> Callable[[], list[ActivationRow]]:
            tail = self.tail.activations() if query.id is None else []
            return partial(listing.activations, db, query, tail, self._floor)

        return await self._read(ask, near=query.id is not None)

    async def executions(self, query: Query) -> list[ExecutionRow]:
        """Finds executions, the newest first."""
        return await self._read(lambda db: partial(listing.executions, db, query))

    async def count(self, query: Query) -> int:
        """Counts activations."""
        return await self._read(
            lambda db: partial(listing.count, db, query, self.tail.activations(), self._floor)
        )

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Returns lists of a history: see `Store.history`."""
        return await self._read(
            lambda db: partial(
                listing.history, db, execution, self.tail.lists(execution), (after, limit), self._floor
            ),
            near=limit <= NEAR_LISTS,
        )  # fmt: skip

    async def tails(self, of: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        """Returns the newest lists of some histories: see `Saved.tail`."""

        def ask(db: sqlite3.Connection) -> Callable[[], dict[str, list[tuple[int, bytes]]]]:
            newer = {execution: self.tail.lists(execution) for execution in of}
            return partial(listing.tails, db, newer, self._floor)

        return await self._read(ask)

    async def executions_count(self, query: Query) -> int:
        """Counts executions."""
        return await self._read(lambda db: partial(listing.executions_count, db, query))

    async def expiring(self, before_ms: int, count: int) -> Plan:
        """Decides what a commit can delete; nothing may be committed meanwhile."""
        kept = self.tail.executions()
        found = await self._read(
            lambda db: partial(
                expiry.plan, db, before_ms, count, kept, (self._floor, self._number)
            )
        )  # fmt: skip
        current = {place for place in found.current if not self.tail.replaces(place[0], place[1])}
        return found._replace(current=current)

    async def _read(
        self, ask: Callable[[sqlite3.Connection], Callable[[], T]], *, near: bool = False
    ) -> T:
        """Reads once the views have all that the tail lacks: in the event loop what is `near`, else in the thread.

        Raises:
            sqlite3.Error: the store or its views cannot be read.
        """
        tries = 0
        while True:
            made, tries = self._made, tries + 1
            try:
                await self.filled(self.tail.base)
                self._notice()
                if near and not self._own:
                    return _snapshot(self._near, ask(self._near))
                return await self._in_thread(ask(self._reader))
            except MovedError:
                if tries == TRIES:
                    raise
            except JournalError as error:
                raise error.cause from error
            except sqlite3.OperationalError:  # such as a full disk: the views may be sound
                raise
            except sqlite3.DatabaseError:
                if not await self._remade(made):
                    raise

    async def _in_thread(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, _snapshot, self._reader, work)

    # --- making the views again --------------------------------------------------------------

    async def _remade(self, made: int) -> bool:
        """Makes the views again if they are damaged. Returns True if they were.

        `made` is how often that had been done before the damage was met.
        """
        async with self._making:
            if made != self._made:
                return True
            loop = asyncio.get_running_loop()
            if (
                self._own
                or self._sound
                or not await loop.run_in_executor(self._projecting, self._views.damaged)
            ):
                self._sound = True  # then it is the store that cannot be read
                return False
            log.warning("the views of the store are damaged: they are made again from its journal")
            async with self.cleared():
                return True

    @asynccontextmanager
    async def cleared(self) -> AsyncIterator[None]:
        """Empties the views; after the block they are filled again. Reads wait meanwhile."""
        self._held = True
        try:
            if self._filling is not None:
                await asyncio.wait([self._filling])
            self._number, self._made = -1, self._made + 1  # reads wait from here on
            loop = asyncio.get_running_loop()
            await self._close_readers()
            number = await loop.run_in_executor(self._projecting, self._views.make)
            await self._open_readers()
            self._number = self._told = number
            yield
        finally:
            self._held = False
            self._fill()


def _snapshot(db: sqlite3.Connection, work: Callable[[], T]) -> T:
    """Reads from one snapshot of the views, and of the journal after them."""
    db.execute("BEGIN")
    try:
        return work()
    finally:
        with suppress(sqlite3.Error):  # the error of the work itself is told
            db.execute("COMMIT")
