"""Rewrites every body in a SQLite file, so that no old body is left in the file or its log.

Rows are changed in place, a group in each transaction. After a crash the next attempt finds the rows that
are left. `VACUUM` then writes the file again without its free pages, and the write-ahead log is truncated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .commit_count import KIND
from .places import (
    activation_place,
    document_place,
    execution_place,
    fiber_place,
    history_place,
    value_place,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from .sealed import Change

UNSEALED = KIND  # the kind of documents that the store itself reads
AT_ONCE = 200  # rows in one transaction
_TABLES: dict[str, tuple[tuple[str, ...], Callable[..., bytes]]] = {  # keys and places
    "executions": (("id",), execution_place),
    "fibers": (("execution", "fiber"), fiber_place),
    "history": (("execution", "first"), history_place),
    "activations": (("id",), activation_place),
    "large_values": (("execution", "key"), value_place),
    "documents": (("kind", "key"), document_place),
}


def rewrite(db: sqlite3.Connection, change: Change) -> int:
    """Changes every body for which `change` returns another. Returns the number of changed rows.

    Raises:
        sqlite3.Error: if the disk is full: the file is written a second time beside the first.
    """
    before = db.execute("PRAGMA secure_delete").fetchone()[0]
    db.execute("PRAGMA secure_delete=ON")
    try:
        changed = sum(_rewrite(db, table, change) for table in _TABLES)
    finally:
        db.execute(f"PRAGMA secure_delete={before}")
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return changed


def _rewrite(db: sqlite3.Connection, table: str, change: Change) -> int:
    """Rewrites a table, in the order of its key."""
    names, place = _TABLES[table]
    keys, marks = ", ".join(names), ", ".join("?" * len(names))
    page = f"SELECT {keys}, body FROM {table} %s ORDER BY {keys} LIMIT {AT_ONCE}"
    update = f"UPDATE {table} SET body = ? WHERE ({keys}) = ({marks})"
    changed, rows = 0, db.execute(page % "").fetchall()
    while rows:
        made: list[tuple[Any, ...]] = []
        for *key, body in rows:
            new = None if key[0] == UNSEALED else change(place(*key), body)
            if new is not None:
                made.append((new, *key))
        if made:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(update, made)
            db.execute("COMMIT")
        changed += len(made)
        after = f"WHERE ({keys}) > ({marks})"
        rows = db.execute(page % after, rows[-1][:-1]).fetchall()
    return changed
