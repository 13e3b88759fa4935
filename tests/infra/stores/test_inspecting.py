"""A quick look at a store: it changes nothing, whether a server uses the store or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from xingqiao.actions import Document, Write
from xingqiao.infra.stores import FILE, SqliteStore, glance

WRITE = Write(documents=[Document(kind="kind", key="key", body=b"x" * 5000)])


@pytest.fixture
async def closed(tmp_path):
    """A store that was closed in order."""
    async with SqliteStore(tmp_path) as store:
        await store.commit([WRITE])
    return tmp_path


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_no_store_is_nothing(tmp_path):
    assert glance(tmp_path) is None
    assert contents(tmp_path) == {}


async def test_a_closed_store_is_sound_and_stays_as_it_is(closed):
    before = contents(closed)

    found = glance(closed)

    assert (found.fault, found.checked, found.log) == ("", True, 0)
    assert found.schema == found.newest > 0
    assert found.size == (closed / FILE).stat().st_size
    assert contents(closed) == before


async def test_a_store_in_use_is_looked_at_and_can_be_used_on(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([WRITE])
        before = contents(tmp_path)

        found = glance(tmp_path)

        assert (found.fault, found.log > 0) == ("", True)
        after = contents(tmp_path)
        assert {name: after[name] for name in after if "-shm" not in name} == {
            name: before[name] for name in before if "-shm" not in name
        }
        assert await store.commit([WRITE]) == []


async def test_a_log_without_its_index_is_left_as_it_is(tmp_path):
    elsewhere = tmp_path / "copy"
    elsewhere.mkdir()
    async with SqliteStore(tmp_path / "data") as store:
        await store.commit([WRITE])
        for name in (FILE, f"{FILE}-wal"):
            (elsewhere / name).write_bytes((tmp_path / "data" / name).read_bytes())
    before = contents(elsewhere)

    assert glance(elsewhere) is not None

    assert contents(elsewhere) == before


async def test_damage_is_a_fault(closed):
    file = closed / FILE
    content = bytearray(file.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    file.write_bytes(content)

    assert glance(closed).fault
    file.write_bytes(b"no database at all" * 300)
    assert "not a database" in glance(closed).fault


async def test_the_schema_of_a_newer_program_is_told(closed):
    with closing(sqlite3.connect(closed / FILE)) as db:
        db.execute("PRAGMA user_version=99")

    found = glance(closed)

    assert (found.schema, found.newest < 99) == (99, True)


@pytest.mark.parametrize(("more", "checked"), [(0, True), (-1, False)])
async def test_a_large_database_is_not_read_through(closed, more, checked):
    size = (closed / FILE).stat().st_size

    assert glance(closed, size + more).checked is checked
