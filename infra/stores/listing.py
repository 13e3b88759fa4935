"""Reads of a SQLite store's views: lists of activations by each of their columns, and places of a history.

A list is read from one lane or several, each in order of time by an index: a namespace, a status or a kind in
a namespace, a name, or the steps of an execution, whose ids begin like the id of the execution. So no
list looks at more rows than it has to, but for a query with several rare columns.
"""

from __future__ import annotations

import sqlite3
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from ...actions import TAIL_LISTS, ActivationRow, ExecutionRow
from . import filtering
from .journal import bodies
from .matching import matches
from .rows import PREFIX_END
from .views import RANK_BITS, STORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...actions import Query
    from .journal import Place
    from .tail import Lists

SHARED_DIGITS = 12
SUCCESS, SUCCEEDED = 0, "succeeded"  # the status of most activations, and of most executions

_COLUMNS = (
    "p.rank, p.id, l.namespace, l.name, p.started_ms, p.status, p.cause, l.kind, p.offset, p.length"
)


class JournalError(Exception):
    """The journal cannot be read, and the views can."""

    def __init__(self, cause: sqlite3.Error) -> None:
        super().__init__(cause)
        self.cause = cause


class MovedError(sqlite3.OperationalError):
    """A list of a history was written again elsewhere in the journal after its place was looked up."""

    def __init__(self) -> None:
        super().__init__("a list of a history is missing in the journal")


class _Lane(NamedTuple):
    """A part of the places in order of time.

    Args:
        by: the index that finds it by a condition, `where`, with some values.
        whole: all names in it match the query.
    """

    by: str
    where: str
    values: dict[str, Any]
    whole: bool = False


class _Newer(NamedTuple):
    """What stands in place of the views' rows.

    Args:
        floor: the number of the newest journal row that expired.
        ids: activations that the tail has.
    """

    floor: int
    ids: list[str]


def activations(
    db: sqlite3.Connection, query: Query, tail: Sequence[ActivationRow], floor: int
) -> list[ActivationRow]:
    """Finds activations, the newest first.

    `tail` are those of the journal's tail, in the order of their writing. `floor` is the number of the newest
    journal row that expired.
    """
    newer = matching(tail, query)
    skipped = max(0, query.skip - len(newer))
    limit = query.skip + query.limit - skipped
    older: list[ActivationRow] = []
    if query.limit > 0:
        beside = _Newer(floor, [row.id for row in tail])
        places = _places(db, query, beside, (skipped, limit))
        found = _bodies(db, [_place(row) for row in places])
        older = [_row(row, found[_place(row)]) for row in places if _place(row) in found]
    rows = merge(newer, older, key=lambda row: -row.started_ms)  # of equals the newer are first
    return [*islice(rows, query.skip - skipped, limit)]


def matching(tail: Sequence[ActivationRow], query: Query) -> list[ActivationRow]:
    """Returns the rows of the tail that match, the newest first, then the last written."""
    rows = [row for row in reversed(tail) if matches(row, query)]
    rows.sort(key=lambda row: row.started_ms, reverse=True)
    return rows


def _places(
    db: sqlite3.Connection, query: Query, beside: _Newer, page: tuple[int, int]
) -> list[tuple[Any, ...]]:
    (skip, limit), lanes = page, _lanes(db, query)
    alone = len(lanes) == 1
    pages = []
    for lane in lanes:
        where, values = _where(lane, query, beside)
        sql = (
            f"SELECT {_COLUMNS} FROM activation_places AS p INDEXED BY {lane.by} "
            f"CROSS JOIN labels AS l USING (label) WHERE {where} "
            f"ORDER BY p.started_ms DESC, p.rank DESC LIMIT :limit OFFSET :offset"
        )
        values["limit"], values["offset"] = (limit, skip) if alone else (skip + limit, 0)
        pages.append(db.execute(sql, values).fetchall())
    if alone:
        return pages[0]
    rows = merge(*pages, key=lambda row: (-row[4], -row[0]))
    return [*islice(rows, skip, skip + limit)]


def count(db: sqlite3.Connection, query: Query, tail: Sequence[ActivationRow], floor: int) -> int:
    """Counts activations: see `activations`."""
    total, beside = len(matching(tail, query)), _Newer(floor, [row.id for row in tail])
    for lane in _lanes(db, query):
        where, values = _where(lane, query, beside)
        sql = f"SELECT count(*) FROM activation_places AS p INDEXED BY {lane.by} WHERE {where}"
        total += db.execute(sql, values).fetchone()[0]
    return total


def _lanes(db: sqlite3.Connection, query: Query) -> list[_Lane]:
    if query.id is not None:
        return [_Lane(_BY_ID, "p.id = :id", {"id": query.id})]
    if query.cause is not None:
        start = query.cause[:SHARED_DIGITS]
        values = {"start": start, "end": start + PREFIX_END, "cause": query.cause}
        return [_Lane(_BY_ID, "p.id >= :start AND p.id < :end AND p.cause = :cause", values)]
    failed = query.status is not None and query.status != SUCCESS  # fewer than those of a name
    column, index, more = "space", "by_space", ""
    if query.name is not None and not failed:
        column, index = "label", "by_label"
    elif query.kind is not None and not failed:
        column, index = "sort", "by_sort"
    elif query.status is not None:
        index, more = "by_status", " AND p.status = :status"
    whole = column != "space" or query.name is None is query.kind
    return [
        _Lane(index, f"p.{column} = :lane{more}", {"lane": lane}, whole)
        for lane in _labels(db, column, query)
    ]


def _labels(db: sqlite3.Connection, column: str, query: Query) -> list[int]:
    """Returns the numbers of the labels that match a query, in a column."""
    tests = {"namespace": query.namespace, "name": query.name, "kind": query.kind}
    given = {name: value for name, value in tests.items() if value is not None}
    where = " AND ".join(f"{name} = :{name}" for name in given) or "true"
    rows = db.execute(f"SELECT DISTINCT {column} FROM labels WHERE {where}", given)
    return [row[0] for row in rows]


def _where(lane: _Lane, query: Query, beside: _Newer) -> tuple[str, dict[str, Any]]:
    """Returns the condition of a lane's places that match a query, and its values."""
    values: dict[str, Any] = {**lane.values, "floor": (beside.floor + 1) << RANK_BITS}
    tests = [lane.where, "+p.rank >= :floor"]
    if beside.ids:
        tests.append("p.id NOT IN (SELECT value FROM json_each(:ids))")
        values["ids"] = orjson.dumps(beside.ids).decode()
    for test, name, value in (
        ("p.started_ms >= :since", "since", query.since_ms),
        ("p.started_ms <= :upto", "upto", query.upto_ms),
        ("+p.status = :status", "status", query.status),
    ):
        if value is not None:
            tests.append(test)
            values[name] = value
    names = {"namespace": query.namespace, "name": query.name, "kind": query.kind}
    given = {name: value for name, value in names.items() if value is not None}
    if given and not lane.whole:
        meant = " AND ".join(f"{name} = :{name}" for name in given)
        tests.append(f"+p.label IN (SELECT label FROM labels WHERE {meant})")
        values |= given
    return " AND ".join(tests), values


def _bodies(db: sqlite3.Connection, places: Sequence[Place]) -> dict[Place, bytes]:
    try:
        return bodies(db, places, STORE)
    except sqlite3.Error as error:
        raise JournalError(error) from error


def _lists(db: sqlite3.Connection, places: Sequence[Place]) -> dict[Place, bytes]:
    """Reads lists of histories.

    Raises:
        MovedError: one is not there: old rows are being deleted, and it was carried into a new one.
    """
    found = _bodies(db, places)
    if any(place not in found for place in places):
        raise MovedError
    return found


def _place(row: Sequence[Any]) -> Place:
    return row[0] >> RANK_BITS, row[8], row[9]


def _row(row: Sequence[Any], body: bytes) -> ActivationRow:
    _, id, namespace, name, started_ms, status, cause, kind, _, _ = row
    return ActivationRow(id, namespace, name, started_ms, status, cause, body, kind)


def history(
    db: sqlite3.Connection, execution: str, newer: Lists, page: tuple[int, int], floor: int
) -> list[tuple[int, bytes]]:
    """Returns lists of a history.

    `newer` is what the tail has of it. `page` is the number of an entry, after which the lists go on, and their
    greatest number. `floor` is the number of the newest journal row that expired.
    """
    after, limit = page
    places: dict[int, Place] = {}
    if not newer.forgotten:
        asked = {"execution": execution, "first": after + 1, "limit": limit + 1, "floor": floor}
        places = {row[0]: row[1:] for row in db.execute(_PLACES, asked)}
    firsts = sorted({*places, *newer.bodies})
    start = max((first for first in firsts if first <= after + 1), default=0)
    chosen = [first for first in firsts if first >= start][:limit]
    found = _lists(db, [places[n] for n in chosen if n not in newer.bodies])
    return [
        (first, newer.bodies[first] if first in newer.bodies else found[places[first]])
        for first in chosen
    ]


def tails(
    db: sqlite3.Connection, newer: dict[str, Lists], floor: int
) -> dict[str, list[tuple[int, bytes]]]:
    """Returns the newest lists of some histories, at most `TAIL_LISTS` of each.

    `newer` is what the tail has of each execution. `floor` is the number of the newest journal row that expired.
    """
    asked = {"of": orjson.dumps([*newer]).decode(), "floor": floor}
    places: dict[str, dict[int, Place]] = {execution: {} for execution in newer}
    for execution, first, *place in db.execute(_TAILS, asked):
        if not newer[execution].forgotten and first not in newer[execution].bodies:
            places[execution][first] = tuple(place)
    found = _lists(db, [place for each in places.values() for place in each.values()])
    lists = {
        execution: {first: found[place] for first, place in each.items()} | newer[execution].bodies
        for execution, each in places.items()
    }
    return {execution: sorted(each.items())[-TAIL_LISTS:] for execution, each in lists.items()}


_BY_ID = "sqlite_autoindex_activation_places_1"
_TAILS = f"""
    WITH asked AS (
        SELECT value AS id, ifnull((
            SELECT first FROM history_places WHERE execution = value AND number > :floor
            ORDER BY first DESC LIMIT 1 OFFSET {TAIL_LISTS - 1}
        ), 0) AS low FROM json_each(:of)
    )
    SELECT execution, first, number, offset, length FROM asked
    CROSS JOIN history_places ON execution = id AND first >= low AND number > :floor
"""
_PLACES = """
    SELECT first, number, offset, length FROM history_places
    WHERE execution = :execution AND number > :floor AND first >= ifnull((
        SELECT max(first) FROM history_places
        WHERE execution = :execution AND first <= :first AND number > :floor), 0)
    ORDER BY first LIMIT :limit
"""


# --- executions --------------------------------------------------------------------------------


def executions(db: sqlite3.Connection, query: Query) -> list[ExecutionRow]:
    """Finds executions, the newest first, or in the order of the query's filter."""
    if query.where is not None:
        return [ExecutionRow(*row) for row in filtering.page(db, query, query.where)]
    where, values = _tests(query)
    rows = db.execute(
        f"SELECT * FROM store.executions WHERE {where} "
        "ORDER BY started_ms DESC, id DESC LIMIT :limit OFFSET :skip",
        {**values, "limit": query.limit, "skip": query.skip},
    )
    return [ExecutionRow(*row) for row in rows]


def executions_count(db: sqlite3.Connection, query: Query) -> int:
    """Counts executions."""
    if query.where is not None:
        return filtering.count(db, query, query.where)
    where, values = _tests(query)
    total: int = db.execute(
        f"SELECT count(*) FROM store.executions WHERE {where}", values
    ).fetchone()[0]
    return total


def _tests(query: Query) -> tuple[str, dict[str, Any]]:
    tests = {
        "namespace = :namespace": query.namespace,
        "id = :id": query.id,
        "name = :name": query.name,
        "status = :status": query.status,
        "started_ms >= :since": query.since_ms,
        "started_ms <= :upto": query.upto_ms,
    }
    given = {test: value for test, value in tests.items() if value is not None}
    values = {test.split(":")[1]: value for test, value in given.items()}
    wanted = [*given]
    if query.status not in (None, SUCCEEDED):
        wanted.append(f"status <> '{SUCCEEDED}'")  # as the index says
    return " AND ".join(wanted) or "true", values
