"""The journal of a SQLite store: one row for each commit, with the records that the commit wrote.

`number` counts the commits; of commits in a row without records only the last has a row. `activations`, `history` and `forgotten` are JSON lists with one entry for each
record: the record's columns, and the place of its body in `bodies`. The journal is the record of truth for
activations and histories. It has no index: `views.py` finds the records in it.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...actions import ActivationRow, Write

    Place = tuple[int, int, int]  # number of a row, and offset and length of a body in it


class Entries(NamedTuple):
    """The records of one commit that are kept in the journal, in the order of `Write`'s laws."""

    activations: list[ActivationRow]
    history: list[tuple[str, int, bytes]]
    forgotten: list[str]

    @property
    def size(self) -> int:
        return len(self.activations) + len(self.history) + len(self.forgotten)


def entries(writes: Sequence[Write]) -> Entries:
    """Returns the records of the writes of one commit."""
    return Entries(
        [row for w in writes for row in w.activations],
        [entry for w in writes for entry in w.history],
        [id for w in writes for id in w.forgotten],
    )


class Journal:
    """Appends rows to the journal of a database.

    `last_ms` of a row is the start of the youngest activation in it. A row without activations takes the
    greatest of the rows before: its records are as young as theirs.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._last_ms: int = db.execute(_LATELY, (LATELY,)).fetchone()[0] or 0

    def append(self, number: int, written: Entries, age_ms: int = 0) -> int:
        """Appends the row of a commit, which is at least as young as `age_ms`. Returns the bytes of its bodies.

        Raises:
            TypeError: a record's text is not Unicode.
        """
        heads: list[Any] = []
        bodies: list[bytes] = []
        offset, last_ms = 0, 0
        for id, namespace, name, started_ms, status, cause, body, kind in written.activations:
            size = len(body)
            heads.append((id, namespace, name, started_ms, status, cause, kind, offset, size))
            bodies.append(body)
            offset += size
            if started_ms > last_ms:  # noqa: PLR1730  a call of max takes twice the time
                last_ms = started_ms
        activations = text(heads)
        heads = []
        for execution, first, body in written.history:
            size = len(body)
            heads.append((execution, first, offset, size))
            bodies.append(body)
            offset += size
        self._last_ms = max(self._last_ms, last_ms)
        row = (activations, text(heads), text(written.forgotten), b"".join(bodies) or None)
        if any(row) or not self._db.execute(_RENUMBER, (number, number - 1)).rowcount:
            age = max(age_ms, last_ms if activations else self._last_ms)
            self._db.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", (number, age, *row))
        return offset


LATELY = 1000  # rows that tell the time of the newest: one by itself may have a long step only
_LATELY = """
    SELECT max(last_ms) FROM (SELECT last_ms FROM journal ORDER BY number DESC LIMIT ?)
"""
_RENUMBER = """
    UPDATE journal SET number = ? WHERE number = ?
    AND activations IS NULL AND history IS NULL AND forgotten IS NULL
"""


def text(heads: Sequence[Any]) -> str | None:
    """Returns the column of some entries; None if there are none."""
    return orjson.dumps(heads).decode() if heads else None


def parsed(text: str | None) -> list[Any]:
    """Returns the entries of a column; [] if it has none."""
    found: list[Any] = orjson.loads(text) if text else []
    return found


def newest(db: sqlite3.Connection) -> int:
    """Returns the number of the newest row; 0 if the journal is empty or missing."""
    there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'journal'").fetchone()
    if there is None:
        return 0
    number: int | None = db.execute("SELECT max(number) FROM journal").fetchone()[0]
    return number or 0


def bodies(db: sqlite3.Connection, places: Iterable[Place], schema: str) -> dict[Place, bytes]:
    """Reads bodies, each row of the journal once. A body whose row was deleted meanwhile is left out."""
    by_row: dict[int, list[Place]] = {}
    for place in places:
        by_row.setdefault(place[0], []).append(place)
    found: dict[Place, bytes] = {}
    for number, wanted in by_row.items():
        if not any(length for _, _, length in wanted):  # then `bodies` may be NULL
            found |= dict.fromkeys(wanted, b"")
            continue
        if db.execute(f"SELECT 1 FROM {schema}.journal WHERE number = ?", (number,)).fetchone():
            with db.blobopen("journal", "bodies", number, readonly=True, name=schema) as blob:
                for place in wanted:
                    if place[1] + place[2] > len(blob):
                        raise sqlite3.DatabaseError(f"row {number} of the journal is cut short")
                    blob.seek(place[1])
                    found[place] = blob.read(place[2])
    return found


def floor(db: sqlite3.Connection, number: int) -> int:
    """Returns the number before the oldest row; that of the newest commit if the journal is empty."""
    oldest: int | None = db.execute("SELECT min(number) FROM journal").fetchone()[0]
    return number if oldest is None else oldest - 1
