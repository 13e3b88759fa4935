"""Counts the commits of a SQLite database, to detect lost ones; and explains why a commit fails.

The count is the number of the newest row of the journal. One document holds the database's id, and the count
of a store that has no journal yet.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import marker
from .errors import StoreDoubtError, StoreError
from .journal import newest
from .marker import Marker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .marker import Mark

log = logging.getLogger(__name__)

KIND = "commits"  # of one document: its body is the database's id
SYNC_EVERY = 1_000  # commits, between syncs of the marker to the disk
GO_ON = (
    "Stop here and look for the missing files, or restore a copy of the whole directory. To go on "
    "without those commits: xingqiao check --data {directory} --accept-loss"
)


def failure(error: sqlite3.Error, directory: Path, does: str = "written") -> StoreError:
    """Returns the error that explains why the database cannot be read or written."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL" or name.endswith(("_WRITE", "_SHMSIZE", "_SHMOPEN")):
        try:
            free = f"{directory} has {shutil.disk_usage(directory).free} bytes free"
        except OSError as gone:
            free = f"{directory}: {gone.strerror}"
        return StoreError(f"the disk is full, or a limit is reached: {free} ({error})")
    text = f"the database in {directory} cannot be {does}: {error} ({name})"
    if name.endswith("_FSYNC"):  # the commit is in the log, and is found after a crash now
        return StoreDoubtError(text)
    return StoreError(text)


# --- at the start ------------------------------------------------------------------------------


def check_not_emptied(path: Path) -> None:
    """Checks that a missing or empty database file never held commits.

    Raises:
        StoreError: if the marker counts commits.
    """
    found = marker.read(path.parent)
    if found is None or not found.number:
        return
    if not path.exists() or not path.stat().st_size:
        what = "is empty" if path.exists() else "is missing"
        raise StoreError(
            f"{path} {what}, but it held {found.number} commits. "
            + GO_ON.format(directory=path.parent)
        )


def check_count(db: sqlite3.Connection, path: Path) -> None:
    """Checks that a database holds all of its commits.

    Raises:
        StoreError: if some are missing.
    """
    found, (number, database) = marker.read(path.parent), counted(db)
    if found is None or found.number <= number or (database and database != found.database):
        return
    missing = found.number - number
    if found.may_be_ahead:
        log.warning(
            "%s lacks the last %d commits: the machine has stopped, and synchronous=NORMAL does not "
            "keep them then", path, missing,
        )  # fmt: skip
        return
    log_file = path.with_name(path.name + "-wal")
    raise StoreError(
        f"{path} lacks the last {missing} of {found.number} commits: its write-ahead log {log_file} is "
        "missing or damaged, or the file is an older copy. " + GO_ON.format(directory=path.parent)
    )


def missing(db: sqlite3.Connection, directory: Path) -> tuple[int, int]:
    """Returns the number of commits in a database, and the number that it lacks by its marker."""
    return lacking(db, marker.read(directory))


def lacking(db: sqlite3.Connection, found: Mark | None) -> tuple[int, int]:
    """Returns the number of commits in a database, and the number that it lacks by a marker."""
    number, database = counted(db)
    if found is None or (database and database != found.database):
        return number, 0
    return number, max(0, found.number - number)


def accept(directory: Path, db: sqlite3.Connection | None) -> None:
    """Accepts the loss of commits: the count restarts at the number that the database holds."""
    number, database = (0, b"") if db is None else counted(db)
    if not database:
        (directory / marker.FILE).unlink(missing_ok=True)
        return
    with Marker(directory, database, full=True) as mark:
        mark.write(number)
        mark.sync()


def counted(db: sqlite3.Connection) -> tuple[int, bytes]:
    """Returns the count and the id that a database holds; (0, b"") if it has no count yet."""
    try:
        row = db.execute("SELECT version, body FROM documents WHERE kind = ?", (KIND,)).fetchone()
    except sqlite3.OperationalError:  # it has no tables yet
        row = None
    return (max(row[0], newest(db)), row[1]) if row else (0, b"")


# --- while it is open --------------------------------------------------------------------------


class CommitCount:
    """Counts the commits of a database.

    Args:
        number: of commits in the database.
        database: the database's id.
        mark: is written after each durable commit.
    """

    def __init__(self, number: int, database: bytes, mark: Marker) -> None:
        self.number, self.database, self._mark = number, database, mark

    def durable(self) -> None:
        """Counts a commit, and writes the marker: the transaction was committed."""
        self.number += 1
        self._mark.write(self.number)
        if self.number % SYNC_EVERY == 0:
            self._mark.sync()


@contextmanager
def counting(db: sqlite3.Connection, directory: Path, synchronous: str) -> Iterator[CommitCount]:
    """Counts the commits of a database, whose count was checked, within the block."""
    number, database = counted(db)
    if not database:
        number, database = max(1, newest(db)), secrets.token_bytes(marker.ID_BYTES)
        db.execute("INSERT INTO documents VALUES (?, '', ?, ?)", (KIND, number, database))
    elif (found := marker.read(directory)) is None or found.database != database:
        log.warning(
            "%s has no file %s that fits the database, as after a restore: whether commits are missing "
            "is not known, and they are counted from here", directory, marker.FILE,
        )  # fmt: skip
    with Marker(directory, database, full=synchronous == "FULL") as mark:
        mark.write(number)
        mark.sync()
        yield CommitCount(number, database, mark)
        mark.sync()
