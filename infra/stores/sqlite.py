"""The store in a SQLite file: the embedded default.

WAL with `synchronous=FULL`: a commit is on the disk when it returns. One connection writes: it inserts
rows in the event loop, many with one statement, and a thread waits for the disk unless the commit is so
small that a thread costs more than the wait. Another connection reads single rows, and a third copies the
write-ahead log into the file, beside the commits. A directory belongs to one server at a time.

Each commit appends one row to the journal, which has its activations and its entries of histories
(`journal.py`). `records.py` finds them there.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from importlib import resources
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from ...actions import ActivationRow, Document, ExecutionRow, FiberRow, Saved, Standing
from .commit_count import CommitCount, check_count, check_not_emptied, counting, failure
from .errors import StoreError
from .expiry import expire
from .journal import Entries, Journal, entries, floor, newest
from .locking import lock
from .moving import move
from .page_check import PageCheck, stopped_in_order
from .private import OWNERS
from .records import Records
from .rewriting import rewrite
from .rows import PREFIX_END, census, put_documents, put_rows
from .under_way import page_under_way, saved_of
from .views import VIEWS, Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from ...actions import Expiry, Query, Record, Write
    from .expiry import Plan
    from .sealed import Change

log = logging.getLogger(__name__)

FILE = "xingqiao.db"
INLINE_ROWS = 8  # a commit of up to so many rows may be awaited in the event loop
INLINE_US = 500.0  # if commits took less, lately: handing one to the thread takes a third of that
RECENT = 8  # commits whose times count
INLINE_BYTES = 1 << 20  # of documents that are inserted without the thread
CHECKPOINT_ROWS = 4_000  # inserted before the write-ahead log is copied into the file
EMPTIED = 4  # the schema before which the tables of records are moved into the journal
PAGE = 4096
CACHE_KIB = 32 << 10  # of pages, at most, in the writer's cache


class SqliteStore:
    """Executions in a directory. A `Store`; use it with `async with`.

    Args:
        directory: created if it is missing.
        synchronous: SQLite's: `FULL`, or `NORMAL` for speed at the price of the last commits when
            the machine (not the process) dies.
        inline_us: a small commit is awaited in the event loop if commits took less than this, lately.
    """

    def __init__(
        self, directory: Path, *, synchronous: str = "FULL", inline_us: float = INLINE_US
    ) -> None:
        self._directory = directory
        self._synchronous = synchronous
        self._thread = ThreadPoolExecutor(1, "store")
        self._copying = ThreadPoolExecutor(1, "checkpoint")
        self._writer: sqlite3.Connection
        self._reader: sqlite3.Connection
        self._copier: sqlite3.Connection
        self._counted: CommitCount
        self._journal: Journal
        self._records: Records
        # The records of the open transaction, until reads see them: see `_insert`.
        self._written: tuple[int, Entries, int, int] | None = None
        self._inline_us, self._usual_us = inline_us, 0.0  # what a commit takes, lately
        self._uncopied = 0  # rows inserted since the log was last copied
        self._copied = False  # all rows but those inserted meanwhile
        self._truncating = False  # the log is being copied to free disk space
        self._turn = asyncio.Lock()
        self._opened: AsyncExitStack
        self.page_check: PageCheck | None = None  # after a stop that was not in order

    async def __aenter__(self) -> Self:
        """Opens the file and brings its schema up to date.

        Its pages are checked in the background if it was not closed in order.

        Raises:
            StoreError: if another server uses the directory, or the file cannot be opened, is damaged,
                lacks commits, or was written by a newer version.
        """
        async with AsyncExitStack() as opening:
            files = opening.enter_context(ExitStack())
            await lock(self._directory, files)
            path = self._directory / FILE
            sound = stopped_in_order(path)
            try:
                self._open(path, files)
                self._counted = files.enter_context(
                    counting(self._writer, self._directory, self._synchronous)
                )
                self._journal = Journal(self._writer)
                opening.callback(self._thread.shutdown)
                opening.callback(self._copying.shutdown)
                self._records = await opening.enter_async_context(self._find_records(path))
                if not sound:
                    self.page_check = await opening.enter_async_context(PageCheck(path))
            except sqlite3.OperationalError as error:
                raise StoreError(f"{path} cannot be opened: {error}") from error
            except sqlite3.DatabaseError as error:
                raise StoreError(f"{path} is damaged: {error}. Restore it from a copy") from error
            except OSError as error:
                raise StoreError(f"{error.filename} cannot be used: {error.strerror}") from error
            self._opened = opening.pop_all()
        return self

    def _open(self, path: Path, opening: ExitStack) -> None:
        check_not_emptied(path)
        self._writer = opening.enter_context(_connected(path))
        path.chmod(OWNERS)  # its log and index are created with its mode
        self._writer.execute("PRAGMA journal_mode=WAL")
        self._writer.execute(f"PRAGMA synchronous={self._synchronous}")
        self._writer.execute("PRAGMA wal_autocheckpoint=0")
        self._writer.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        check_count(self._writer, path)
        _migrate(self._writer, path)
        self._reader = opening.enter_context(_connected(path))
        self._reader.execute("PRAGMA query_only=ON")
        self._copier = opening.enter_context(_connected(path))

    def _find_records(self, path: Path) -> Records:
        uri, number = f"{path.resolve().as_uri()}?mode=ro", self._counted.number
        owner = Owner(uri, self._counted.database, number, floor(self._writer, number))
        return Records(owner, self._directory / VIEWS, self._notice)

    async def __aexit__(self, *exc: object) -> None:
        await self._opened.aclose()

    # --- writing -----------------------------------------------------------------------------

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        counted = census(writes)
        asked = counted.expiries
        if asked:
            await self._filled(self._records.tail.number)
        async with self._turn:
            if self._records.full:
                await self._room()
            plan = await self._planned(asked) if asked else None
            if plan is None and counted.documents <= INLINE_BYTES:
                refused = self._insert(writes, None)
            else:
                refused = await self._insert_in_thread(writes, plan)
            self._count(counted.rows + counted.values // PAGE)
            if counted.rows <= INLINE_ROWS and self._usual_us < self._inline_us:
                self._commit()
                self._committed()
            else:
                ending = asyncio.get_running_loop().run_in_executor(self._thread, self._commit)
                try:
                    await asyncio.shield(ending)
                except asyncio.CancelledError:  # the caller may give up; the commit does not
                    await asyncio.wait([ending])
                    if ending.exception() is None:
                        self._committed()
                    raise
                self._committed()
        for expired in asked:
            expired.more = plan is not None and plan.more
        return refused

    def _committed(self) -> None:
        """Lets reads see the records of the last commit, unless they do."""
        if self._written is not None:
            number, written, size, expired = self._written
            self._written = None
            self._records.add(number, written, size)
            if expired:
                self._records.drop(expired)

    def _notice(self) -> None:
        """Lets reads see the records of a commit that has not returned, if its rows can be seen already."""
        written = self._written  # the thread drops it if the commit fails
        if written is not None and newest(self._reader) >= written[0]:
            self._committed()

    async def _filled(self, number: int) -> None:
        with self._reading():
            await self._records.filled(number)

    async def _room(self) -> None:
        try:
            await self._records.room()
        except sqlite3.Error as error:
            self._free_space()
            raise failure(error, self._directory) from error

    async def _planned(self, asked: Sequence[Expiry]) -> Plan:
        """Decides what expires: as much as all ask for together."""
        with self._reading():
            return await self._records.expiring(
                max(expired.before_ms for expired in asked), sum(expired.count for expired in asked)
            )

    def _count(self, rows: int) -> None:
        """Has the log copied when it has grown enough."""
        self._uncopied += rows
        if self._uncopied >= CHECKPOINT_ROWS:
            self._uncopied = 0
            self._copying.submit(self._copy)

    def _copy(self) -> None:
        _checkpoint(self._copier)
        self._copied = True

    async def _insert_in_thread(self, writes: Sequence[Write], plan: Plan | None) -> list[int]:
        """Inserts what takes a while, such as code."""
        putting = asyncio.get_running_loop().run_in_executor(
            self._thread, self._insert, writes, plan
        )
        try:
            return await asyncio.shield(putting)
        except asyncio.CancelledError:
            await asyncio.wait([putting])
            self._roll_back()
            raise

    def _insert(self, writes: Sequence[Write], plan: Plan | None) -> list[int]:
        """Inserts everything, not yet committed. Returns the indexes of refused writes.

        Notes the records, the bytes of their bodies, and the last journal row that expires.
        """
        db = self._writer
        try:
            db.execute("BEGIN IMMEDIATE")
            refused = put_documents(db, writes)
            kept = [w for i, w in enumerate(writes) if i not in refused] if refused else writes
            put_rows(db, kept)
            written, expired, age_ms = entries(kept), 0, 0
            if plan is not None and any(write.expired is not None for write in kept):
                carried, forgotten = expire(db, plan)
                written.history[:0] = carried
                written.forgotten.extend(forgotten)
                expired = plan.upto
                if carried:
                    age_ms = max(w.expired.now_ms for w in kept if w.expired is not None)
            number = self._counted.number + 1
            size = self._journal.append(number, written, age_ms)
            self._written = number, written, size, expired
        except sqlite3.Error as error:
            self._roll_back()
            self._free_space()
            raise failure(error, self._directory) from error
        except BaseException:
            self._roll_back()
            raise
        return refused

    def _commit(self) -> None:
        began_s = perf_counter()
        try:
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            self._free_space()
            raise failure(error, self._directory) from error
        self._counted.durable()
        self._usual_us += ((perf_counter() - began_s) * 1e6 - self._usual_us) / RECENT
        if self._copied:  # the few rows inserted since are copied now: then the log starts over
            self._copied = False
            _checkpoint(self._writer)

    def _free_space(self) -> None:
        """Has the log copied and truncated: on a full disk it may be the log that takes the space."""
        if not self._truncating:
            self._truncating = True
            self._copying.submit(self._truncate_log)

    def _truncate_log(self) -> None:
        with suppress(sqlite3.Error):  # there may be no space for the copy, either
            self._copier.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._truncating = False

    def _roll_back(self) -> None:
        self._written = None
        if self._writer.in_transaction:  # a full disk has ended it
            self._writer.execute("ROLLBACK")

    async def rewrite(self, change: Change) -> int:
        """Replaces bodies, and leaves no old body in the file and its log.

        Raises:
            StoreError: if the disk has too little space.
        """
        loop = asyncio.get_running_loop()
        try:
            async with self._turn:
                await self._records.filled(self._counted.number)
                async with self._records.cleared():
                    return await loop.run_in_executor(self._thread, rewrite, self._writer, change)
        except sqlite3.Error as error:
            self._roll_back()
            raise StoreError(
                f"{self._directory / FILE} cannot be rewritten: {error}. The disk needs as much free "
                "space as the file takes: free some space, then start again"
            ) from error

    # --- reading -----------------------------------------------------------------------------

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Reads within the block see one snapshot, whatever the thread commits meanwhile."""
        try:
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("COMMIT")
        except sqlite3.Error as error:
            raise failure(error, self._directory, "read") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """An error within the block says that the store cannot be read."""
        try:
            yield
        except sqlite3.Error as error:
            raise failure(error, self._directory, "read") from error

    def _rows(self, sql: str, asked: Sequence[Any] | dict[str, Any]) -> list[Any]:
        try:
            return self._reader.execute(sql, asked).fetchall()
        except sqlite3.Error as error:
            raise failure(error, self._directory, "read") from error

    async def standing(
        self, after: str = "", limit: int | None = None, *, of: Sequence[str] | None = None
    ) -> Standing:
        with self._snapshot() as db:
            if of is None:
                return page_under_way(db, after, limit)
            found = saved_of(db, of)
        with self._reading():
            tails = await self._records.tails([saved.execution.id for saved in found])
        return Standing(
            [], [], saved=[replace(saved, tail=tails[saved.execution.id]) for saved in found]
        )

    async def load(self, execution: str) -> Saved | None:
        asked = (execution,)
        with self._snapshot() as db:
            row = db.execute("SELECT * FROM executions WHERE id = ?", asked).fetchone()
            if row is None:
                return None
            fibers = db.execute("SELECT * FROM fibers WHERE execution = ?", asked).fetchall()
        return Saved(ExecutionRow(*row), [FiberRow(*fiber) for fiber in fibers])

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        with self._reading():
            return await self._records.history(execution, after, limit)

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        marks = ",".join("?" * len(keys))
        rows = self._rows(
            f"SELECT key, body FROM large_values WHERE execution = ? AND key IN ({marks})",
            (execution, *keys),
        )
        return dict(rows)

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        with self._reading():
            records = self._records
            found: list[Any] = await (
                records.find(query) if kind is ActivationRow else records.executions(query)
            )
        return found

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        with self._reading():
            if kind is ActivationRow:
                return await self._records.count(query)
            return await self._records.executions_count(query)

    async def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        rows = self._rows(
            "SELECT kind, key, body, version FROM documents "
            "WHERE kind = ? AND key >= ? AND key < ? AND (? OR key > ?) ORDER BY key LIMIT ?",
            (
                kind,
                prefix,
                prefix + PREFIX_END,
                after is None,
                after,
                -1 if limit is None else limit,
            ),
        )  # an open cursor would keep all readers at an old snapshot
        for found, key, body, version in rows:
            yield Document(kind=found, key=key, body=body, version=version)


# --- opening -----------------------------------------------------------------------------------


def _connected(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False))


def _checkpoint(db: sqlite3.Connection) -> None:
    try:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except sqlite3.Error as error:
        log.warning("the write-ahead log cannot be copied into the file; it grows: %s", error)


def schemas() -> int:
    """Returns the number of the newest schema."""
    return len(_scripts())


def _scripts() -> list[Traversable]:
    return sorted(
        (entry for entry in resources.files(__package__).joinpath("migrations").iterdir()
         if entry.name.endswith(".sql")),
        key=lambda entry: entry.name,
    )  # fmt: skip


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    scripts = _scripts()
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > len(scripts):
        raise StoreError(
            f"{path} was written by a newer version of this program (schema {version}, this one "
            f"knows {len(scripts)}): use that version"
        )
    for number, script in enumerate(scripts[version:], version + 1):
        if number == EMPTIED:
            move(db)
        db.executescript(
            f"BEGIN; {script.read_text('utf-8')} PRAGMA user_version={number}; COMMIT;"
        )
