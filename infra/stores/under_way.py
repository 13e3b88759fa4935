"""Reads what is under way from a SQLite file: in pages of executions, and executions in bulk."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import orjson

from ...actions import ExecutionRow, FiberRow, Saved, Standing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_IDS = "SELECT DISTINCT execution FROM fibers WHERE execution > ? ORDER BY execution LIMIT ?"
_MARKED = """
    SELECT execution, fiber, due_ms, active FROM fibers
    WHERE execution > ? AND execution <= ? AND (active OR due_ms IS NOT NULL)
"""
_ROWS = """
    SELECT * FROM executions WHERE ended_ms IS NULL AND id IN (
        SELECT execution FROM fibers WHERE execution > ? AND execution <= ?
    )
"""
_EXECUTIONS_OF = "SELECT * FROM executions WHERE id IN (SELECT value FROM json_each(?))"
_FIBERS_OF = (
    "SELECT * FROM fibers WHERE execution IN (SELECT value FROM json_each(?)) ORDER BY 1, 2"
)


def page_under_way(db: sqlite3.Connection, after: str, limit: int | None) -> Standing:
    """Reads at most `limit` executions that have fibers, after an id; all of them without a limit."""
    ids = db.execute(_IDS, (after, -1 if limit is None else limit)).fetchall()
    if not ids:
        return Standing([], [])
    (last,) = ids[-1]
    marked = db.execute(_MARKED, (after, last)).fetchall()
    rows = db.execute(_ROWS, (after, last)).fetchall()
    active = dict.fromkeys(execution for execution, _, _, active in marked if active)
    timers = [
        (due_ms, execution, fiber) for execution, fiber, due_ms, _ in marked if due_ms is not None
    ]
    return Standing(
        list(active),
        timers,
        [ExecutionRow(*row) for row in rows],
        last if len(ids) == limit else None,
    )


def saved_of(db: sqlite3.Connection, of: Sequence[str]) -> list[Saved]:
    """Reads these executions with their fibers, by two statements."""
    asked = (orjson.dumps(list(of)).decode(),)
    fibers: defaultdict[str, list[FiberRow]] = defaultdict(list)
    for row in db.execute(_FIBERS_OF, asked):
        fibers[row[0]].append(FiberRow(*row))
    rows = [ExecutionRow(*row) for row in db.execute(_EXECUTIONS_OF, asked)]
    return [Saved(row, fibers[row.id]) for row in rows]
