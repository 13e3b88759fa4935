"""The views of a SQLite store: where in the journal each activation and each list of a history is.

They are a database beside the store's own file, and hold places, no bodies. The file is written without
waiting for the disk. It may be deleted at any time, and is made again from the journal: after a stop of the
machine that was not in order, if the file does not fit the store, or if it is damaged.

An activation's place has a rank, which is greater for what was written later: the number of its journal row
and its index there.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from .marker import boot
from .private import OWNERS

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

VIEWS = "views.db"
STORE = "store"  # the name of the store's file beside the views
FORMAT = 1
RANK_BITS = 24  # of an activation's rank are its index in its journal row
HEADS_AT_ONCE = 1 << 19  # characters of entries that are filled in with one transaction
ROWS_AT_ONCE = 4000  # of the journal, at most
TRIMMED_AT_ONCE = 4000  # places of what expired
CACHE_KIB = 16 << 10
BUSY_S = 5.0

_SCHEMA = """
    CREATE TABLE state (
        format INTEGER NOT NULL, database BLOB NOT NULL, boot BLOB NOT NULL, clean INTEGER NOT NULL,
        number INTEGER NOT NULL
    );
    CREATE TABLE labels (
        label INTEGER PRIMARY KEY,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        space INTEGER NOT NULL DEFAULT 0,  -- one number for a namespace
        sort INTEGER NOT NULL DEFAULT 0,   -- one number for a namespace and a kind
        UNIQUE (namespace, name, kind)
    );
    CREATE TABLE activation_places (
        rank INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        label INTEGER NOT NULL,
        space INTEGER NOT NULL,
        sort INTEGER NOT NULL,
        started_ms INTEGER NOT NULL,
        status INTEGER NOT NULL,
        cause TEXT,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL
    );
    CREATE INDEX by_space ON activation_places (space, started_ms);
    CREATE INDEX by_status ON activation_places (space, status, started_ms);
    CREATE INDEX by_label ON activation_places (label, started_ms);
    CREATE INDEX by_sort ON activation_places (sort, started_ms);
    CREATE TABLE history_places (
        execution TEXT NOT NULL,
        first INTEGER NOT NULL,
        number INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        PRIMARY KEY (execution, first)
    ) WITHOUT ROWID;
"""
_ROWS = "store.journal AS j CROSS JOIN json_each(j.{}) AS e WHERE j.number > :after AND j.number <= :upto"
_LABELS = (
    """
    INSERT OR IGNORE INTO labels (namespace, name, kind)
    SELECT DISTINCT e.value ->> 1, e.value ->> 2, e.value ->> 6 FROM """
    + _ROWS.format("activations"),
    """
    UPDATE labels SET
        space = (SELECT min(label) FROM labels AS l WHERE l.namespace = labels.namespace),
        sort = (SELECT min(label) FROM labels AS l
                WHERE l.namespace = labels.namespace AND l.kind = labels.kind)
    WHERE space = 0""",
)
# An unknown label is NULL, which the table refuses: then the labels are filled in first.
_ACTIVATIONS = f"""
    INSERT OR REPLACE INTO activation_places
    SELECT (j.number << {RANK_BITS}) + e.key, e.value ->> 0, l.label, l.space, l.sort,
        e.value ->> 3, e.value ->> 4, e.value ->> 5, e.value ->> 7, e.value ->> 8
    FROM store.journal AS j CROSS JOIN json_each(j.activations) AS e LEFT JOIN labels AS l
        ON l.namespace = e.value ->> 1 AND l.name = e.value ->> 2 AND l.kind = e.value ->> 6
    WHERE j.number > :after AND j.number <= :upto
"""
_HISTORY = """
    INSERT OR REPLACE INTO history_places
    SELECT e.value ->> 0, e.value ->> 1, j.number, e.value ->> 2, e.value ->> 3 FROM """ + _ROWS.format(
    "history"
)
_FORGOTTEN = """
    DELETE FROM history_places WHERE (execution, first) IN (
        SELECT h.execution, h.first
        FROM store.journal AS j CROSS JOIN json_each(j.forgotten) AS e
            CROSS JOIN history_places AS h ON h.execution = e.value
        WHERE j.number > :after AND j.number <= :upto AND h.number <= j.number
    )
"""
_SIZES = """
    SELECT number, ifnull(length(activations), 0) + ifnull(length(history), 0) FROM store.journal
    WHERE number > ? AND number <= ? ORDER BY number LIMIT ?
"""
_TRIM = """
    DELETE FROM activation_places WHERE rank IN (
        SELECT rank FROM activation_places WHERE rank < ? ORDER BY rank LIMIT ?
    )
"""


class Owner(NamedTuple):
    """The database that the views belong to.

    Args:
        uri: of its file.
        id: its own.
        number: of its newest commit.
        floor: the number before its oldest journal row.
    """

    uri: str
    id: bytes
    number: int
    floor: int


class Views:
    """The views, open for the projector: it fills in what is new in the journal.

    Args:
        owner: the database.
        path: of the views; None for views that end with this object.
    """

    def __init__(self, owner: Owner, path: Path | None) -> None:
        self._owner, self._path = owner, path
        self.db: sqlite3.Connection

    def open(self) -> int:
        """Opens the file, or makes it. Returns the number of the journal row up to which it is filled."""
        number = self._opened() if self._path is not None and self._path.exists() else None
        if number is None:
            number = self.make()
        with self.db:
            self.db.execute("UPDATE state SET clean = 0, boot = ?", (boot(),))
        return number

    def _opened(self) -> int | None:
        """Opens the file if it fits. Else deletes it and returns None."""
        try:
            self.db = _connected(self._owner.uri, self._path)
            found = self.db.execute(
                "SELECT format, database, boot, clean, number FROM state"
            ).fetchone()
        except sqlite3.DatabaseError:
            found = None
        if found is None or not self._fits(*found):
            return None
        number: int = found[4]
        return number

    def _fits(self, format: int, database: bytes, boot_id: bytes, clean: int, number: int) -> bool:
        kept = clean or (any(boot_id) and boot_id == boot())  # else the disk may lack some of it
        owner = self._owner
        return format == FORMAT and database == owner.id and bool(kept) and number <= owner.number

    def make(self) -> int:
        """Makes the file anew, without any place. Returns the number up to which that is all."""
        self.close()
        if self._path is not None:
            for end in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + end).unlink(missing_ok=True)
            self._path.touch(mode=OWNERS)
        self.db = _connected(self._owner.uri, self._path)
        self.db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        with self.db:
            state = (FORMAT, self._owner.id, boot(), self._owner.floor)
            self.db.execute("INSERT INTO state VALUES (?, ?, ?, 0, ?)", state)
        return self._owner.floor

    def fill(self, after: int, goal: int) -> int:
        """Fills in journal rows after a number, in one transaction. Returns the number that is reached."""
        upto = self._upto(after, goal)
        numbers = {"after": after, "upto": upto}
        try:
            self._fill(numbers)
        except sqlite3.IntegrityError:
            with self.db:
                self.db.execute("BEGIN")
                for sql in _LABELS:
                    self.db.execute(sql, numbers)
            self._fill(numbers)
        return upto

    def _fill(self, numbers: dict[str, int]) -> None:
        with self.db:
            self.db.execute("BEGIN")
            for sql in (_ACTIVATIONS, _HISTORY, _FORGOTTEN):
                self.db.execute(sql, numbers)
            self.db.execute("UPDATE state SET number = :upto", numbers)

    def _upto(self, after: int, goal: int) -> int:
        """The number of the last row that is filled in with one transaction."""
        rows: list[tuple[int, int]] = self.db.execute(
            _SIZES, (after, goal, ROWS_AT_ONCE)
        ).fetchall()
        total = 0
        for number, size in rows:
            total += size
            if total >= HEADS_AT_ONCE:
                return number
        return rows[-1][0] if len(rows) == ROWS_AT_ONCE else goal

    def trim(self, floor: int) -> bool:
        """Deletes places in journal rows that expired. Returns True if there are more of them."""
        with self.db:
            self.db.execute("BEGIN")
            found = self.db.execute(_TRIM, ((floor + 1) << RANK_BITS, TRIMMED_AT_ONCE))
            return found.rowcount == TRIMMED_AT_ONCE

    def damaged(self) -> bool:
        """True if the file is damaged, whatever a connection that is open has in its memory."""
        try:
            with closing(self.reader()) as db:
                found: str = db.execute("PRAGMA main.quick_check(1)").fetchone()[0]
                made = db.execute("SELECT number FROM state").fetchone()
        except sqlite3.DatabaseError:
            return True
        return found != "ok" or made is None

    def settle(self) -> None:
        """Closes the file, complete on the disk: it is good after a stop of the machine, too."""
        if self._path is not None:
            try:
                self.db.execute("PRAGMA synchronous=FULL")
                self.db.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchone()
                with self._path.open("rb") as file:
                    os.fsync(file.fileno())  # what was copied before was not waited for
                self.db.execute("UPDATE state SET clean = 1")
            except (sqlite3.Error, OSError) as error:
                log.warning("the views of the store are made again at the next start: %s", error)
        self.close()

    def close(self) -> None:
        with suppress(AttributeError):
            self.db.close()

    def reader(self) -> sqlite3.Connection:
        """Opens another connection, for reading."""
        if self._path is None:
            return self.db  # nothing is written any more when it is read
        db = _connected(self._owner.uri, self._path)
        db.execute("PRAGMA query_only=ON")
        return db


def _connected(store: str, views: Path | None) -> sqlite3.Connection:
    how = "mode=rw" if views is not None else ""
    db = sqlite3.connect(
        f"{views.resolve().as_uri()}?{how}" if views is not None else "",
        uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_S,
    )  # fmt: skip
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        db.execute(f"ATTACH ? AS {STORE}", (store,))
    except BaseException:
        db.close()
        raise
    return db
