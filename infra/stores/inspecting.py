"""A quick look at a SQLite store, which a server may be using: nothing is changed and nothing is locked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .sqlite import FILE, schemas

if TYPE_CHECKING:
    from pathlib import Path

CHECKED_BYTES = 1 << 30  # a larger database takes longer to check than a quick look


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The condition of a database.

    Args:
        size, log: bytes of the database and of its write-ahead log.
        schema, newest: number of the schema, and of the newest that this program knows.
        fault: text of the first fault; "" if there is none.
        checked: False if the database is too large to be checked.
    """

    size: int
    log: int
    schema: int = 0
    newest: int
    fault: str = ""
    checked: bool = True


def glance(directory: Path, checked_bytes: int = CHECKED_BYTES) -> Glance | None:
    """Looks at the database of a data directory; None if the directory has no database.

    A database of more than `checked_bytes` is not checked.
    """
    path = directory / FILE
    if not path.is_file():
        return None
    size, log = path.stat().st_size, _size(path.with_name(f"{FILE}-wal"))
    newest, schema, fault = schemas(), 0, ""
    shared = path.with_name(f"{FILE}-shm").exists()
    # Without the shared index SQLite would create one: then the log is left out.
    how = "mode=ro" if log and shared else "immutable=1"
    checked = size <= checked_bytes
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as db:
            schema = db.execute("PRAGMA user_version").fetchone()[0]
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0] if checked else "ok"
            fault = "" if found == "ok" else str(found)
    except sqlite3.Error as error:
        fault = str(error)
    return Glance(size=size, log=log, schema=schema, newest=newest, fault=fault, checked=checked)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
