"""Filters of executions in SQL, with bound parameters only, and the choice of the index that answers them.

A page is read in one of three ways. A test that few executions fit gives candidates, which are sorted. A test for
one value that many fit is read in the order of time by its index. Else executions are read in the order of time
until the page is full: that is quick, because no test in the filter is known to be rare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from ...actions import UNENDED_MS, And, Not, Or, Term

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from ...actions import Filter, Predicate, Query, Scalar

FEW = 5_000  # candidates that are looked up one by one and sorted
LAST_CHAR, SURROGATES, AFTER_SURROGATES = 0x10FFFF, 0xD800, 0xE000
SUCCEEDED = "succeeded"  # the status that the index by status leaves out
_COLUMNS = {
    "action": "e.name",
    "duration": "(e.ended_ms - e.started_ms)",
    "ended": "e.ended_ms",
    "run": "e.id",
    "started": "e.started_ms",
    "status": "e.status",
}
_ORDERS = {"started": "e.started_ms", "ended": f"ifnull(e.ended_ms, {UNENDED_MS})"}
_EXECUTIONS = "store.executions AS e"


class Lane(NamedTuple):
    """Executions that an index finds by a condition.

    Args:
        table: with its index, and "a" for its name.
        id: the column with the execution's id.
        where: the condition, with values in `values`.
        values: of the condition's marks.
        ordered: True if the index has them in the order of their start.
    """

    table: str
    id: str
    where: str
    values: tuple[Scalar, ...]
    ordered: bool = False


def prefix_end(prefix: str) -> str | None:
    """Returns the first text after all texts that begin with a prefix; None if there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at]) + 1
        if code <= LAST_CHAR:
            return prefix[:at] + chr(AFTER_SURROGATES if code == SURROGATES else code)
    return None


# --- conditions --------------------------------------------------------------------------------


def condition(predicate: Predicate, values: list[Scalar]) -> str:
    """Returns a predicate in SQL for a row `e`; its values are added to `values`. It is never NULL."""
    match predicate:
        case And(parts):
            return "(" + " AND ".join([condition(part, values) for part in parts]) + ")"
        case Or(parts):
            return "(" + " OR ".join([condition(part, values) for part in parts]) + ")"
        case Not(part):
            return f"NOT {condition(part, values)}"
        case Term():
            return _tested(predicate, values)
        case _:
            assert_never(predicate)


def _tested(test: Term, values: list[Scalar]) -> str:
    field = test.field
    if not field.key:
        column = _COLUMNS[field.name]
        test_sql = _compared(column, test, values)
        return f"ifnull({test_sql}, 0)" if "ended_ms" in column else f"({test_sql})"
    values.append(field.key)
    return (
        "EXISTS (SELECT 1 FROM store.attributes AS a WHERE a.execution = e.id AND a.name = ? AND "
        f"{_compared('a.value', test, values)})"
    )


def _compared(column: str, test: Term, values: list[Scalar]) -> str:
    match test.op:
        case "has":
            return f"{column} IS NOT NULL"
        case "in":
            values += test.values
            return f"{column} IN ({','.join('?' * len(test.values))})"
        case "between":
            values += test.values
            return f"{column} BETWEEN ? AND ?"
        case "starts_with":
            prefix = str(test.values[0])
            values.append(prefix)
            end = prefix_end(prefix)
            if end is None:
                return f"{column} >= ?"
            values.append(end)
            return f"{column} >= ? AND {column} < ?"
        case op:
            values += test.values
            return f"{column} {op} ?"


# --- lanes -------------------------------------------------------------------------------------


class Source(NamedTuple):
    """Lanes that together have all executions that a predicate holds for, and how many these are at most."""

    lanes: list[Lane]
    size: int


def source(db: sqlite3.Connection, predicate: Predicate | None, namespace: str) -> Source | None:
    """Returns the smallest source of a predicate; None if no index has one.

    A source is counted up to `FEW` executions and one more.
    """
    match predicate:
        case Term():
            lane = _lane(predicate, namespace)
            return None if lane is None else Source(lane, sum(_count(db, each) for each in lane))
        case And(parts):
            found = [made for part in parts if (made := source(db, part, namespace)) is not None]
            return min(found, key=_rank, default=None)
        case Or(parts):
            all_of = [source(db, part, namespace) for part in parts]
            known = [made for made in all_of if made is not None]
            if len(known) < len(all_of):
                return None
            return Source(
                [lane for made in known for lane in made.lanes], sum(m.size for m in known)
            )
        case _:
            return None


def _rank(found: Source) -> tuple[int, bool]:
    """Smaller is better; of sources with many executions, one that is in order."""
    return min(found.size, FEW + 1), len(found.lanes) > 1 or not found.lanes[0].ordered


def _count(db: sqlite3.Connection, lane: Lane) -> int:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {lane.table} WHERE {lane.where} LIMIT {FEW + 1})"
    total: int = db.execute(sql, lane.values).fetchone()[0]
    return total


def _lane(test: Term, namespace: str) -> list[Lane] | None:
    field, op = test.field, test.op
    if field.name == "run" and op in ("=", "in"):
        return [
            Lane("store.executions AS a", "a.id", "a.id = ?", (value,)) for value in test.values
        ]
    if field.name == "status" and not field.key and op in ("=", "in"):
        if SUCCEEDED in test.values:
            return None
        where = f"a.status = ? AND a.status <> '{SUCCEEDED}' AND a.namespace = ?"
        table = "store.executions AS a INDEXED BY executions_by_status"
        return [Lane(table, "a.id", where, (value, namespace), True) for value in test.values]
    if not field.key:
        return None
    table = "store.attributes AS a INDEXED BY attributes_by_value"
    start = "a.namespace = ? AND a.name = ?"
    if op in ("=", "in"):
        return [
            Lane(
                table,
                "a.execution",
                f"{start} AND a.value = ?",
                (namespace, field.key, value),
                True,
            )
            for value in test.values
        ]
    values: list[Scalar] = [namespace, field.key]
    where = f"{start} AND {_compared('a.value', test, values)}"
    return [Lane(table, "a.execution", where, tuple(values))]


# --- pages and counts --------------------------------------------------------------------------


def page(db: sqlite3.Connection, query: Query, where: Filter) -> list[Any]:
    """Returns the rows of a page in the order of the filter."""
    tests, values = _tests(query, where)
    key = _ORDERS[where.order]
    if query.after is not None:
        tests.append(f"({key}, e.id) {'>' if where.ascending else '<'} (?, ?)")
        values += query.after
    way = "ASC" if where.ascending else "DESC"
    ending = f"ORDER BY {key} {way}, e.id {way} LIMIT ? OFFSET ?"
    chosen = _chosen(db, query, where)
    if chosen is not None and chosen.size <= FEW:
        ids, bound = _ids(chosen.lanes)
        sql = f"SELECT e.* FROM {ids} WHERE {_all(tests)} {ending}"
        return db.execute(sql, [*bound, *values, query.limit, query.skip]).fetchall()
    if chosen is not None and where.order == "started" and _rank(chosen)[1] is False:
        return _in_order(db, query, where, chosen.lanes[0])
    index = "NOT INDEXED" if query.id is not None else "INDEXED BY executions_by_time"
    if query.namespace is None:
        index = ""
    sql = f"SELECT e.* FROM {_EXECUTIONS} {index} WHERE {_all(tests)} {ending}"
    return db.execute(sql, [*values, query.limit, query.skip]).fetchall()


def _in_order(db: sqlite3.Connection, query: Query, where: Filter, lane: Lane) -> list[Any]:
    """Reads a page by an index that has its executions in the order of their start."""
    tests, values = _tests(query, where)
    beyond = ""
    bound = [*lane.values]
    if query.after is not None:
        beyond = f" AND (a.started_ms, {lane.id}) {'>' if where.ascending else '<'} (?, ?)"
        bound += query.after
    way = "ASC" if where.ascending else "DESC"
    sql = (
        f"SELECT e.* FROM {lane.table} CROSS JOIN {_EXECUTIONS} ON e.id = {lane.id} "
        f"WHERE {lane.where}{beyond} AND {_all(tests)} "
        f"ORDER BY a.started_ms {way}, {lane.id} {way} LIMIT ? OFFSET ?"
    )
    return db.execute(sql, [*bound, *values, query.limit, query.skip]).fetchall()


def count(db: sqlite3.Connection, query: Query, where: Filter) -> int:
    """Counts the executions that match, regardless of the query's page."""
    tests, values = _tests(query, where)
    chosen, table = _chosen(db, query, where), _EXECUTIONS
    bound: list[Scalar] = []
    if chosen is not None:
        table, bound = _ids(chosen.lanes)
    sql = f"SELECT count(*) FROM {table} WHERE {_all(tests)}"
    total: int = db.execute(sql, [*bound, *values]).fetchone()[0]
    return total


def _chosen(db: sqlite3.Connection, query: Query, where: Filter) -> Source | None:
    if query.namespace is None:
        return None
    return source(db, where.predicate, query.namespace)


def _ids(lanes: Sequence[Lane]) -> tuple[str, list[Scalar]]:
    """Returns the executions of some lanes, each once, as a table `e` that is read in this way only."""
    ids = " UNION ".join(
        f"SELECT DISTINCT {lane.id} AS id FROM {lane.table} WHERE {lane.where}" for lane in lanes
    )
    values = [value for lane in lanes for value in lane.values]
    return f"({ids}) AS c CROSS JOIN {_EXECUTIONS} ON e.id = c.id", values


def _tests(query: Query, where: Filter) -> tuple[list[str], list[Any]]:
    """Returns the conditions of a query and its filter, and their values in order."""
    asked = {
        "e.namespace = ?": query.namespace,
        "e.id = ?": query.id,
        "e.name = ?": query.name,
        "e.status = ?": query.status,
        "e.started_ms >= ?": query.since_ms,
        "e.started_ms <= ?": query.upto_ms,
    }
    given = {test: value for test, value in asked.items() if value is not None}
    tests = [*given]
    values: list[Any] = [*given.values()]
    if where.predicate is not None:
        parts = where.predicate.parts if isinstance(where.predicate, And) else (where.predicate,)
        # Each by itself, so that an index can use the bounds of the start.
        tests += [condition(part, values) for part in parts]
    return tests, values


def _all(tests: Sequence[str]) -> str:
    return " AND ".join(tests) or "true"
