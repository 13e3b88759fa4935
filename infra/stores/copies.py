"""Copies of a SQLite store that a server may be using: the file of a backup, and its label.

SQLite's backup API reads one snapshot, however much the server commits meanwhile. The copy is one file
without a log. Its label, a table of one row, says when it was made and by which version; a copy without a
label was not made here, or not to its end.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from . import marker
from .commit_count import accept, failure, lacking
from .errors import StoreError
from .private import OWNERS
from .sqlite import FILE

if TYPE_CHECKING:
    from pathlib import Path


class Label(NamedTuple):
    """When a copy was made, in milliseconds since the epoch, and the version that made it."""

    at_ms: int
    version: str


def copy_store(directory: Path, target: Path, label: Label) -> None:
    """Copies the store of a directory, whether a server is using it or not, to a new file.

    Raises:
        StoreError: if there is no store, it lacks commits, or one of the files cannot be used.
    """
    path = directory / FILE
    if not path.exists():
        raise StoreError(
            f"there is no store in {directory}: {FILE} is missing. Name the server's directory with --data"
        )
    mark = marker.read(directory)  # before the snapshot, which then has these commits at least
    target.touch(mode=OWNERS, exist_ok=False)
    try:
        with _read_only(path) as db, closing(sqlite3.connect(target)) as copied:
            db.backup(copied)
            _, missing = lacking(copied, mark)
            if missing and mark is not None and not mark.may_be_ahead:
                raise StoreError(
                    f"{path} lacks the last {missing} commits, so a backup of it would hide a loss: "
                    f"run xingqiao check --data {directory}"
                )
            copied.execute("PRAGMA journal_mode=DELETE").fetchone()  # one file, without a log
            copied.executescript(f"DROP TABLE IF EXISTS backup; {_TABLE}")
            copied.execute("INSERT INTO backup VALUES (?, ?)", label)
            copied.commit()
    except sqlite3.Error as error:
        raise failure(error, directory, "copied") from error


def label_of(file: Path) -> Label:
    """Reads the label of a copy.

    Raises:
        StoreError: if the file is not a copy that `copy_store` made, or cannot be read.
    """
    if not file.is_file():
        raise StoreError(f"there is no file {file}: give the file that xingqiao backup wrote")
    try:
        with _read_only(file, "&immutable=1") as db:
            row = db.execute("SELECT at_ms, version FROM backup").fetchone()
    except sqlite3.Error as error:
        raise StoreError(_no_backup(file, str(error))) from error
    if row is None:
        raise StoreError(_no_backup(file, "its label is missing"))
    return Label(*row)


def settle(directory: Path) -> None:
    """Turns the copy in a directory into a store: without a label, and with a marker that fits it."""
    with closing(sqlite3.connect(directory / FILE)) as db:
        db.execute("DROP TABLE backup")
        db.commit()
        accept(directory, db)


def _no_backup(file: Path, why: str) -> str:
    return f"{file} is not a whole backup ({why}): give a file that xingqiao backup wrote"


def _read_only(path: Path, more: str = "") -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{more}", uri=True))


_TABLE = "CREATE TABLE backup (at_ms INTEGER NOT NULL, version TEXT NOT NULL);"
