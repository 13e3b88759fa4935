"""Writes rows to a SQLite database, many rows with one statement."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from ...actions import Document, Write

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


def document_bytes(writes: Sequence[Write]) -> int:
    return sum(len(doc.body) for w in writes for doc in w.documents if doc.body is not None)


def row_count(writes: Sequence[Write]) -> int:
    return sum(
        len(w.executions) + len(w.fibers) + len(w.history) + len(w.activations) + len(w.values)
        for w in writes
    )


def put_documents(db: sqlite3.Connection, writes: Sequence[Write]) -> list[int]:
    """Writes the documents of every write whose conditions hold. Returns the indexes of the others."""
    refused: list[int] = []
    last: dict[tuple[str, str], Document] = {}
    for index, write in enumerate(writes):
        if not write.documents:
            continue
        if any(document.expected is not None for document in write.documents):
            _put_last(db, last)
            if not _fits(db, write.documents):
                refused.append(index)
                continue
        for document in write.documents:
            if document.expected is None:
                if (document.kind, document.key) in last:  # each time counts, and so does its end
                    _put_last(db, last)
                last[document.kind, document.key] = document
            else:
                _put_last(db, last)
                _put_document(db, document)
    _put_last(db, last)
    return refused


def _put_last(db: sqlite3.Connection, last: dict[tuple[str, str], Document]) -> None:
    """Writes these documents, and clears the dict."""
    gone = [key for key, document in last.items() if document.body is None]
    put = [(*key, 1, document.body) for key, document in last.items() if document.body is not None]
    if gone:
        db.executemany("DELETE FROM documents WHERE kind = ? AND key = ?", gone)
    if put:
        _insert(db, "documents", put, _UPSERT)
    last.clear()


def _fits(db: sqlite3.Connection, documents: Iterable[Document]) -> bool:
    return all(
        document.expected is None or _version(db, document) == document.expected
        for document in documents
    )


def _version(db: sqlite3.Connection, document: Document) -> int:
    row = db.execute(
        "SELECT version FROM documents WHERE kind = ? AND key = ?", (document.kind, document.key)
    ).fetchone()
    return row[0] if row else 0


def _put_document(db: sqlite3.Connection, document: Document) -> None:
    if document.body is None:
        db.execute(
            "DELETE FROM documents WHERE kind = ? AND key = ?", (document.kind, document.key)
        )
    else:
        _insert(db, "documents", [(document.kind, document.key, 1, document.body)], _UPSERT)


def put_rows(db: sqlite3.Connection, writes: Sequence[Write]) -> None:
    """Writes all rows but activations and histories, which are the journal's."""
    each = chain.from_iterable
    for table, rows in (
        ("executions", [*each(w.executions for w in writes)]),
        ("fibers", [*each(w.fibers for w in writes)]),
        ("large_values", [*each(w.values for w in writes)]),
    ):
        if rows:
            _insert(db, table, rows)
    dropped = [(id, p, p + PREFIX_END) for id, p in each(w.dropped for w in writes)]
    if dropped:
        db.executemany(_DROP_FIBERS, dropped)
    forgotten = [(id,) for id in each(w.forgotten for w in writes)]
    if forgotten:
        for sql in _FORGET:
            db.executemany(sql, forgotten)


def _insert(
    db: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]], how: str = ""
) -> None:
    width, at = len(rows[0]), 0
    while left := len(rows) - at:
        size = next(size for size in CHUNKS if size <= left)
        values = [*chain.from_iterable(rows[at : at + size])]
        db.execute(_insertion(table, width, size, how), values)
        at += size


@cache
def _insertion(table: str, width: int, size: int, how: str) -> str:
    row = f"({','.join('?' * width)})"
    verb = "INSERT" if how else "INSERT OR REPLACE"
    return f"{verb} INTO {table} VALUES {','.join([row] * size)}{how}"


_UPSERT = " ON CONFLICT DO UPDATE SET version = version + 1, body = excluded.body"


_DROP_FIBERS = "DELETE FROM fibers WHERE execution = ? AND fiber >= ? AND fiber < ?"
_FORGET = (
    "DELETE FROM executions WHERE id = ?",
    "DELETE FROM fibers WHERE execution = ?",
)
