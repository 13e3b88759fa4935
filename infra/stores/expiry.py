"""Deletes old records from a SQLite file, a bounded number at a time.

Activations are in order of their ends, executions in order of their starts, so that the
oldest are found without a search. An execution and its values are deleted when none of its
activations is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

DIGITS = 12  # of an execution's id are its time

_ACTIVATIONS = """
    DELETE FROM activations WHERE started_ms < :before AND rowid IN (
        SELECT rowid FROM activations ORDER BY rowid LIMIT :count
    ) RETURNING id
"""
_EXECUTIONS = """
    DELETE FROM executions WHERE id IN (
        SELECT id FROM executions e WHERE id < :digits AND ended_ms < :before AND NOT EXISTS (
            SELECT 1 FROM activations a
            WHERE a.id >= substr(e.id, 1, 12) AND a.id < substr(e.id, 1, 12) || 'g'
            AND (a.id = e.id OR a.cause = e.id)
        ) ORDER BY id LIMIT :count
    ) RETURNING id
"""
_HISTORY = "DELETE FROM history WHERE execution = ?"
_VALUES = """
    DELETE FROM large_values WHERE execution = :id
    AND NOT EXISTS (SELECT 1 FROM executions WHERE id = :id)
"""


def expire(db: sqlite3.Connection, before_ms: int, count: int) -> None:
    """Deletes at most `count` records that began, and ended, before an instant."""
    bounds = {"before": before_ms, "digits": f"{before_ms:0{DIGITS}x}", "count": count}
    activations = db.execute(_ACTIVATIONS, bounds).fetchall()
    executions = db.execute(_EXECUTIONS, bounds).fetchall()
    db.executemany(_HISTORY, executions)
    db.executemany(_VALUES, [{"id": id} for (id,) in (*activations, *executions)])
