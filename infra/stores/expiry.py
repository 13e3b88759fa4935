"""Deletes old records from a SQLite store, a bounded number at a time.

The oldest rows of the journal are deleted, each when all of its activations are old enough. Lists of histories
in them that belong to executions that are left are carried forward into the row of the commit that deletes
them. An execution and its values are deleted when none of its activations is left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from .journal import bodies, parsed
from .views import RANK_BITS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Set as AbstractSet

    from .journal import Place

DIGITS = 12  # of an execution's id are its time

_ROWS = """
    SELECT number, last_ms, ifnull(json_array_length(activations), 0) + ifnull(json_array_length(history), 0)
    FROM store.journal WHERE number > ? AND number <= ? ORDER BY number
"""
_ACTIVATIONS = "SELECT id FROM activation_places WHERE rank < ? ORDER BY rank"
_EXECUTIONS = """
    SELECT id FROM store.executions AS e
    WHERE id < :digits AND ended_ms < :before AND NOT EXISTS (
        SELECT 1 FROM activation_places AS a
        WHERE a.id >= substr(e.id, 1, 12) AND a.id < substr(e.id, 1, 12) || 'g'
        AND (a.id = e.id OR a.cause = e.id) AND +a.rank >= :next
    ) ORDER BY id
"""
_CURRENT = """
    SELECT execution, first, number FROM history_places
    WHERE number > :floor AND number <= :upto AND execution IN (
        SELECT e.value ->> 0 FROM store.journal AS j CROSS JOIN json_each(j.history) AS e
        WHERE j.number > :floor AND j.number <= :upto
    )
"""
_ENDED = """
    DELETE FROM executions WHERE id IN (SELECT value FROM json_each(?)) AND ended_ms < ? RETURNING id
"""
_HISTORY = "SELECT number, history FROM journal WHERE number <= ? AND history IS NOT NULL"
_ALIVE = "SELECT id FROM executions WHERE id IN (SELECT value FROM json_each(?))"
_INDEXED = "DELETE FROM attributes WHERE execution = ?"
_VALUES = """
    DELETE FROM large_values WHERE execution = :id
    AND NOT EXISTS (SELECT 1 FROM executions WHERE id = :id)
"""


class Plan(NamedTuple):
    """What a commit can delete.

    Args:
        before_ms: the instant before which it began and ended.
        upto: the number of the last journal row that goes.
        activations: the ids of the activations in these rows.
        executions: those without activations in other rows.
        current: the lists in these rows that were not replaced: execution, first entry and row.
        more: there may be more to delete.
    """

    before_ms: int
    upto: int
    activations: list[str]
    executions: list[str]
    current: AbstractSet[tuple[str, int, int]]
    more: bool


class Deleted(NamedTuple):
    """The lists of histories that a commit has to write again, and the executions without a history."""

    carried: list[tuple[str, int, bytes]]
    forgotten: list[str]


def plan(
    db: sqlite3.Connection,
    before_ms: int,
    count: int,
    kept: AbstractSet[str],
    rows: tuple[int, int],
) -> Plan:
    """Decides what goes: whole rows until they have `count` records, and at most `count` executions.

    The views, `db`, lack activations of the executions `kept`. `rows` are the numbers of the last journal rows
    that expired before, and that the views have.
    """
    (floor, filled), upto, total, more = rows, rows[0], 0, False
    for number, last_ms, records in db.execute(_ROWS, rows):
        more = last_ms < before_ms and total >= count
        if more or last_ms >= before_ms:
            break
        upto, total = number, total + records
    past = (upto + 1) << RANK_BITS
    activations = [row[0] for row in db.execute(_ACTIVATIONS, (past,))] if upto > floor else []
    bounds = {"before": before_ms, "digits": f"{max(before_ms, 0):0{DIGITS}x}", "next": past}
    executions: list[str] = []
    for (id,) in db.execute(_EXECUTIONS, bounds):
        if len(executions) >= count:
            more = True
            break
        if id not in kept:
            executions.append(id)
    current = {*db.execute(_CURRENT, {"floor": floor, "upto": upto})}
    return Plan(before_ms, min(upto, filled), activations, executions, current, more)


def expire(db: sqlite3.Connection, plan: Plan) -> Deleted:
    """Deletes in the open transaction what was planned, and is still old enough."""
    asked = (json.dumps(plan.executions), plan.before_ms)
    gone = [id for (id,) in db.execute(_ENDED, asked).fetchall()]
    lists: dict[str, list[tuple[int, Place]]] = {}
    for number, heads in db.execute(_HISTORY, (plan.upto,)):
        for execution, first, offset, length in parsed(heads):
            if (execution, first, number) in plan.current:
                lists.setdefault(execution, []).append((first, (number, offset, length)))
    alive = {row[0] for row in db.execute(_ALIVE, (json.dumps([*lists]),))}
    places = [place for id in alive for _, place in lists[id]]
    found = bodies(db, places, "main")
    carried = [(id, first, found[place]) for id in alive for first, place in lists[id]]
    db.execute("DELETE FROM journal WHERE number <= ?", (plan.upto,))
    db.executemany(_INDEXED, [(id,) for id in gone])
    db.executemany(_VALUES, [{"id": id} for id in (*plan.activations, *gone)])
    return Deleted(carried, list({*gone, *(lists.keys() - alive)}))
