"""The file of the views: when it is used again, and when it is made anew from the journal."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.kit.stores.contract import activation
from xingqiao.actions import ActivationRow, Query, Write
from xingqiao.infra.stores import FILE, SqliteStore, views
from xingqiao.infra.stores.views import FORMAT, VIEWS, Views

GUEST = Query(namespace="guest", limit=1000)


@pytest.fixture
def made(monkeypatch):
    """The times that views were made anew."""
    times = []
    make = Views.make
    monkeypatch.setattr(Views, "make", lambda views: (times.append(1), make(views))[1])
    return times


@pytest.fixture
async def stopped(tmp_path, made):
    """A store that was stopped in order, with all records in its views."""
    async with SqliteStore(tmp_path / "data") as store:
        await filled(store)
    assert len(made) == 1
    return tmp_path / "data"


@pytest.fixture
async def killed(tmp_path, made):
    """What a server leaves that was killed, with all records in its views."""
    async with SqliteStore(tmp_path / "first") as store:
        await filled(store)
        shutil.copytree(tmp_path / "first", tmp_path / "data")
    return tmp_path / "data"


async def filled(store):
    await store.commit([Write(activations=[activation(f"{n}", started_ms=n) for n in range(5)])])
    await store._records.filled(store._counted.number)


async def ids(directory):
    async with SqliteStore(directory) as store:
        return [row.id for row in await store.find(ActivationRow, GUEST)]


def alter(directory, sql, *values):
    with closing(sqlite3.connect(directory / VIEWS)) as db, db:
        db.execute(sql, values)


async def test_views_are_used_again_after_a_stop_in_order(stopped, made, monkeypatch):
    monkeypatch.setattr(views, "boot", lambda: b"another.")

    assert await ids(stopped) == ["4", "3", "2", "1", "0"]
    assert len(made) == 1


async def test_views_are_used_again_after_a_kill(killed, made):
    assert await ids(killed) == ["4", "3", "2", "1", "0"]
    assert len(made) == 1


@pytest.mark.parametrize("boot", [b"another.", bytes(8)], ids=["crashed", "unknown"])
async def test_views_are_made_anew_after_a_crash_of_the_machine(killed, made, monkeypatch, boot):
    monkeypatch.setattr(views, "boot", lambda: boot)

    assert await ids(killed) == ["4", "3", "2", "1", "0"]
    assert len(made) == 2


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("UPDATE state SET format = ?", FORMAT + 1),
        ("UPDATE state SET database = ?", b"another database"),
        ("UPDATE state SET number = ?", 3),  # the store has 2
        ("DELETE FROM state WHERE format = ?", FORMAT),
        ("ALTER TABLE state RENAME TO other", None),
    ],
)
async def test_views_that_do_not_fit_are_made_anew(stopped, made, sql, value):
    alter(stopped, sql, *([] if value is None else [value]))

    assert await ids(stopped) == ["4", "3", "2", "1", "0"]
    assert len(made) == 2


async def test_views_that_are_older_are_filled_up(stopped, made):
    shutil.copy(stopped / VIEWS, stopped / "older")
    async with SqliteStore(stopped) as store:
        await store.commit([Write(activations=[activation("new", started_ms=9, kind="new")])])
    shutil.copy(stopped / "older", stopped / VIEWS)

    assert await ids(stopped) == ["new", "4", "3", "2", "1", "0"]
    assert len(made) == 1


@pytest.mark.parametrize(("rows", "heads"), [(2, 1 << 19), (4000, 1), (4000, 1 << 19)])
async def test_a_long_journal_is_filled_in_with_several_transactions(
    tmp_path, monkeypatch, rows, heads
):
    monkeypatch.setattr(views, "ROWS_AT_ONCE", rows)
    monkeypatch.setattr(views, "HEADS_AT_ONCE", heads)
    async with SqliteStore(tmp_path) as store:
        for n in range(7):
            await store.commit([Write(activations=[activation(f"{n}", name=f"a{n}")])])
            await store.commit([Write()])

        await store._records.filled(store._counted.number)

        assert [row.name for row in await store.find(ActivationRow, GUEST)] == [
            f"a{n}" for n in reversed(range(7))
        ]


async def test_what_expired_is_trimmed_some_places_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(views, "TRIMMED_AT_ONCE", 2)
    async with SqliteStore(tmp_path) as store:
        await filled(store)
        db = store._records._views
        assert (db.trim(1), db.trim(2), db.trim(2), db.trim(2)) == (False, True, True, False)
        assert store._records._reader.execute(
            "SELECT count(*) FROM activation_places"
        ).fetchone() == (0,)


async def test_views_hold_no_bodies_and_are_their_owners_alone(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit(
            [Write(activations=[activation(body=b"a secret")], history=[("e", 1, b"a secret")])]
        )
        await store._records.filled(store._counted.number)
        found = {file.name: file for file in tmp_path.glob(f"{VIEWS}*")}
        assert found.keys() == {VIEWS, f"{VIEWS}-wal", f"{VIEWS}-shm"}
        for file in found.values():
            assert b"a secret" not in file.read_bytes()
            assert file.stat().st_mode & 0o777 == 0o600
    assert b"a secret" in (tmp_path / FILE).read_bytes()
