"""Rewrites every body in a SQLite file, so that no old body is left in the file or its log.

Rows are changed in place, a group in each transaction. After a crash the next attempt finds the rows that
are left. `VACUUM` then writes the file again without its free pages, and the write-ahead log is truncated.
The views must be made again afterwards: bodies have other places in their journal rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .commit_count import KIND
from .journal import parsed, text
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
        changed = sum(_rewrite(db, table, change) for table in _TABLES) + _journal(db, change)
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


def _journal(db: sqlite3.Connection, change: Change) -> int:
    """Rewrites the journal, in order. Returns the number of changed bodies."""
    changed, numbers = 0, [0]
    while numbers := [row[0] for row in db.execute(_NEXT, (numbers[-1], AT_ONCE))]:
        db.execute("BEGIN IMMEDIATE")
        changed += sum(_row(db, number, change) for number in numbers)
        db.execute("COMMIT")
    return changed


def _row(db: sqlite3.Connection, number: int, change: Change) -> int:
    """Rewrites a row of the journal. Returns the number of changed bodies."""
    row = db.execute(_ROW, (number,)).fetchone()
    activations, history, old = parsed(row[0]), parsed(row[1]), row[2]
    changed, bodies = 0, bytearray()
    for entry, place in (
        *((entry, activation_place(entry[0])) for entry in activations),
        *((entry, history_place(entry[0], entry[1])) for entry in history),
    ):
        offset, size = entry[-2:]
        body = old[offset : offset + size]
        new = change(place, body)
        if new is not None:
            body, changed = new, changed + 1
        entry[-2:] = len(bodies), len(body)
        bodies += body
    if changed:
        db.execute(_REPLACE, (text(activations), text(history), bytes(bodies), number))
    return changed


_NEXT = "SELECT number FROM journal WHERE number > ? AND bodies IS NOT NULL ORDER BY number LIMIT ?"
_ROW = "SELECT activations, history, bodies FROM journal WHERE number = ?"
_REPLACE = "UPDATE journal SET activations = ?, history = ?, bodies = ? WHERE number = ?"
