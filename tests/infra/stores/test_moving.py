"""A store of the version before moves its records into its journal at the first start, also after crashes."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from importlib import resources

import pytest

from tests.kit.stores.contract import activation
from xingqiao.actions import ActivationRow, Query, Write
from xingqiao.infra.stores import FILE, SqliteStore, marker, moving
from xingqiao.infra.stores.sqlite import schemas

GUEST = Query(namespace="guest", limit=1000)
COMMITS = 77
ROWS = 25


def scripts(*names):
    folder = resources.files("xingqiao.infra.stores").joinpath("migrations")
    return "".join(folder.joinpath(f"{name}.sql").read_text("utf-8") for name in names)


@pytest.fixture
def older(tmp_path):
    """A store of schema 2, with activations that were not written in the order of their ids."""
    ids = [f"{n * 7 % ROWS:032}" for n in range(ROWS)]
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.executescript(f"{scripts('0001', '0002')} PRAGMA user_version=2;")
        db.execute("INSERT INTO documents VALUES ('commits', '', ?, ?)", (COMMITS, b"d" * 16))
        for n, id in enumerate(ids):
            db.execute(
                "INSERT INTO activations VALUES (?, 'guest', 'a', 5, ?, ?, ?, 'python:3')",
                (id, n % 4, "e1" if n % 2 else None, b"x" * (n % 3)),
            )
            db.execute("INSERT INTO history VALUES (?, ?, ?)", (f"e{n % 2}", n + 1, b"%d" % n))
    with marker.Marker(tmp_path, b"d" * 16, full=True) as mark:
        mark.write(COMMITS)
    return tmp_path, ids


async def whole(directory, ids):
    async with SqliteStore(directory) as store:
        rows = await store.find(ActivationRow, GUEST)
        assert [row.id for row in rows] == ids[::-1]
        assert rows[0] == ActivationRow(
            ids[-1], "guest", "a", 5, 24 % 4, None, b"x" * (24 % 3), "python:3"
        )
        assert [row.cause for row in rows[:2]] == [None, "e1"]
        lists = await store.history("e0", 0, 100)
        assert lists == [(n + 1, b"%d" % n) for n in range(0, ROWS, 2)]
        await store.commit([Write(activations=[activation("new")])])
        assert await store.count(ActivationRow, GUEST) == ROWS + 1
    with closing(sqlite3.connect(directory / FILE)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        assert db.execute("PRAGMA user_version").fetchone() == (schemas(),)
    assert not tables & {"activations", "history"}
    assert marker.read(directory).number > COMMITS


async def test_all_records_are_moved_in_their_order(older, caplog):
    with caplog.at_level(logging.INFO):
        await whole(*older)

    assert "50 records are moved into its journal" in caplog.text


class KilledError(Exception):
    """The process ends here."""


class Mortal(sqlite3.Connection):
    """A connection whose process ends at some statement."""

    left = 0

    def execute(self, sql, *values):
        if sql in ("BEGIN IMMEDIATE", "COMMIT"):
            Mortal.left -= 1
            if Mortal.left < 0:
                raise KilledError
        return super().execute(sql, *values)


@pytest.mark.parametrize("at", range(12))
async def test_a_crash_between_any_two_commits_loses_and_doubles_nothing(older, monkeypatch, at):
    monkeypatch.setattr(moving, "AT_ONCE", 9)
    directory, ids = older
    Mortal.left = at
    with closing(sqlite3.connect(directory / FILE, factory=Mortal, isolation_level=None)) as db:
        db.executescript(f"BEGIN; {scripts('0003')} PRAGMA user_version=3; COMMIT;")
        with pytest.raises(KilledError):
            moving.move(db)

    await whole(directory, ids)


@pytest.mark.parametrize(("size", "transactions"), [(6, 1), (5, 2)])
async def test_few_large_bodies_are_moved_at_once(older, monkeypatch, size, transactions):
    monkeypatch.setattr(moving, "BYTES_AT_ONCE", size)
    monkeypatch.setattr(moving, "TOLD_EVERY", 1)
    directory, _ = older
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as db:
        db.executescript(scripts("0003"))
        db.execute("DELETE FROM activations")
        db.execute("DELETE FROM history WHERE rowid > 2")
        db.execute("UPDATE history SET body = x'0000000000'")

        moving.move(db)

        rows = db.execute("SELECT number, length(bodies) FROM journal").fetchall()
    assert rows == [(COMMITS + 1 + n, 10 // transactions) for n in range(transactions)]


async def test_a_store_without_records_has_nothing_to_move(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        async with SqliteStore(tmp_path):
            pass

    assert "moved" not in caplog.text
