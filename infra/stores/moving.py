"""Moves the activations and histories of an older store into its journal, many in each transaction.

After a crash the next start goes on with the rows that are left. Activations are moved in their order, and
histories after them, so that the oldest of them expire first.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...actions import ActivationRow
from .commit_count import counted
from .journal import Entries, Journal, newest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

log = logging.getLogger(__name__)

AT_ONCE = 1_000  # rows in one transaction
BYTES_AT_ONCE = 4 << 20  # of their bodies; the last row may go beyond
TOLD_EVERY = 100_000  # rows
COPIED_PAGES = 1_000  # of the write-ahead log, until it is copied into the file


def move(db: sqlite3.Connection) -> None:
    """Moves all rows of the tables `activations` and `history`, which are left empty."""
    total = sum(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _TABLES)
    if not total:
        return
    log.info("the store is brought up to date: %d records are moved into its journal", total)
    before = db.execute("PRAGMA wal_autocheckpoint").fetchone()[0]
    db.execute(f"PRAGMA wal_autocheckpoint={COPIED_PAGES}")
    journal, number, moved = Journal(db), max(counted(db)[0], newest(db)), 0
    for table in _TABLES:
        while rows := _chosen(
            db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid LIMIT {AT_ONCE}")
        ):
            number += 1
            db.execute("BEGIN IMMEDIATE")
            journal.append(number, _entries(table, [row[1:] for row in rows]))
            db.execute(f"DELETE FROM {table} WHERE rowid <= ?", (rows[-1][0],))
            db.execute("COMMIT")
            moved += len(rows)
            if moved % TOLD_EVERY < len(rows):
                log.info("%d of %d records are in the journal of the store", moved, total)
    db.execute(f"PRAGMA wal_autocheckpoint={before}")


def _chosen(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns the first rows, so many that their bodies are not too large."""
    chosen, size = [], 0
    for row in rows:
        chosen.append(row)
        size += max(len(value) for value in row if isinstance(value, bytes))
        if size >= BYTES_AT_ONCE:
            break
    return chosen


def _entries(table: str, rows: list[tuple[Any, ...]]) -> Entries:
    if table == "history":
        return Entries([], rows, [])
    return Entries([ActivationRow(*row) for row in rows], [], [])


_TABLES = ("activations", "history")
