"""Writes rows to a SQLite database, many rows with one statement."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from ...actions import Document, Expiry, Indexed, Write

Place: TypeAlias = "tuple[str, str]"  # the kind and the key of a document
T = TypeVar("T")

CHUNKS = (
    64,
    32,
    16,
    8,
    4,
    2,
    1,
)  # rows in one statement: few statements, which SQLite keeps prepared
PREFIX_END = "\U0010ffff"  # the last code point, which is not a character


class Census(NamedTuple):
    """What some writes hold.

    Args:
        rows: number of rows and records, without documents.
        documents, values: bytes of documents, and of large values.
        expiries: their requests to delete what is old.
    """

    rows: int
    documents: int
    values: int
    expiries: list[Expiry]


def census(writes: Sequence[Write]) -> Census:
    """Counts what writes hold, in one pass: most hold little, and there may be many."""
    rows = documents = values = 0
    expiries = []
    for w in writes:
        rows += len(w.executions) + len(w.fibers) + len(w.history) + len(w.activations)
        if w.documents:
            documents += sum(len(doc.body) for doc in w.documents if doc.body is not None)
        if w.values:
            rows += len(w.values)
            values += sum(len(body) for _, _, body in w.values)
        if w.expired is not None:
            expiries.append(w.expired)
    return Census(rows, documents, values, expiries)


def put_documents(db: sqlite3.Connection, writes: Sequence[Write]) -> list[int]:
    """Writes the documents of every write whose conditions hold. Returns the indexes of the others."""
    refused: list[int] = []
    last: dict[Place, Document] = {}
    versions = _versions(db, writes)
    for index, write in enumerate(writes):
        if any(
            versions[document.kind, document.key] != document.expected
            for document in write.documents
            if document.expected is not None
        ):
            refused.append(index)
            continue
        for document in write.documents:
            place = document.kind, document.key
            if place in last:  # each time counts, and so does its end
                _put_last(db, last)
            last[place] = document
            if place in versions:
                versions[place] = 0 if document.body is None else versions[place] + 1
    _put_last(db, last)
    return refused


def _put_last(db: sqlite3.Connection, last: dict[Place, Document]) -> None:
    """Writes these documents, and clears the dict."""
    gone = [key for key, document in last.items() if document.body is None]
    put = [(*key, 1, document.body) for key, document in last.items() if document.body is not None]
    if gone:
        db.executemany("DELETE FROM documents WHERE kind = ? AND key = ?", gone)
    if put:
        _insert(db, "documents", put, _UPSERT)
    last.clear()


def _versions(db: sqlite3.Connection, writes: Sequence[Write]) -> dict[Place, int]:
    """The versions of the stored documents that conditions name; 0 where there is none."""
    versions = {
        (document.kind, document.key): 0
        for write in writes
        for document in write.documents
        if document.expected is not None
    }
    places = [*versions]
    for size, asked in _in_chunks(places):
        for kind, key, version in db.execute(_version_query(size), [*chain.from_iterable(asked)]):
            versions[kind, key] = version
    return versions


@cache
def _version_query(size: int) -> str:
    return (
        f"WITH asked (kind, key) AS (VALUES {','.join(['(?,?)'] * size)}) "  # noqa: S608  places, not values
        "SELECT kind, key, version FROM asked CROSS JOIN documents USING (kind, key)"
    )


def put_rows(db: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """Writes all rows but activations and histories, which are the journal's."""
    for table, rows in (
        ("executions", [row for w in writes for row in w.executions]),
        ("fibers", [row for w in writes for row in w.fibers]),
        ("large_values", [row for w in writes for row in w.values]),
    ):
        if rows:
            _insert(db, table, rows)
    dropped = [(id, p, p + PREFIX_END) for w in writes for id, p in w.dropped]
    if dropped:
        db.executemany(_DROP_FIBERS, dropped)
    if indexed := [each for w in writes for each in w.indexed]:
        _put_indexed(db, indexed)
    forgotten = [(id,) for w in writes for id in w.forgotten]
    if forgotten:
        for sql in _FORGET:
            db.executemany(sql, forgotten)


def _put_indexed(db: sqlite3.Connection, indexed: Sequence[Indexed]) -> None:
    last = {each.execution: each for each in indexed}
    db.executemany(_DROP_INDEXED, [(id,) for id in last])
    rows = [
        (each.execution, name, value, each.namespace, each.started_ms)
        for each in last.values()
        for name, value in each.values
    ]
    if rows:
        _insert(db, "attributes", rows)


def _insert(
    db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]], how: str = ""
) -> None:
    for size, some in _in_chunks(rows):
        db.execute(_insertion(table, len(some[0]), size, how), [*chain.from_iterable(some)])


def _in_chunks(rows: Sequence[T]) -> Iterator[tuple[int, Sequence[T]]]:
    """Parts of rows with their sizes, of which there are few."""
    at = 0
    while left := len(rows) - at:
        size = next(size for size in CHUNKS if size <= left)
        yield size, rows[at : at + size]
        at += size


@cache
def _insertion(table: str, width: int, size: int, how: str) -> str:
    row = f"({','.join('?' * width)})"
    verb = "INSERT" if how else "INSERT OR REPLACE"
    return f"{verb} INTO {table} VALUES {','.join([row] * size)}{how}"


_UPSERT = " ON CONFLICT DO UPDATE SET version = version + 1, body = excluded.body"


_DROP_INDEXED = "DELETE FROM attributes WHERE execution = ?"
_DROP_FIBERS = "DELETE FROM fibers WHERE execution = ? AND fiber >= ? AND fiber < ?"
_FORGET = (
    "DELETE FROM executions WHERE id = ?",
    "DELETE FROM fibers WHERE execution = ?",
    _DROP_INDEXED,
)
