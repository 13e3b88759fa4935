"""No read is stale: records are found at once, however far the views are, and whatever becomes of them."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from contextlib import AsyncExitStack, closing
from pathlib import Path

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.test_store import everything, writes
from tests.kit.stores.contract import activation
from xingqiao.actions import ActivationRow, ExecutionRow, Query, Write
from xingqiao.infra.stores import FILE, MemoryStore, SqliteStore, StoreError, records, views
from xingqiao.infra.stores.views import VIEWS, Views

GUEST = Query(namespace="guest", limit=1000)


async def ids(store, **query):
    return [row.id for row in await store.find(ActivationRow, Query(namespace="guest", **query))]


def steps(count, start=0):
    return [
        Write(activations=[activation(f"{n:04}", started_ms=n)], history=[("e1", n + 1, b"%d" % n)])
        for n in range(start, start + count)
    ]


async def projected(store):
    """Waits until the views have all records."""
    await store._records.filled(store._counted.number)


# --- as a property -----------------------------------------------------------------------------


def deleted(directory):
    for file in directory.glob(f"{VIEWS}*"):
        file.unlink()


def damaged(directory):
    (directory / VIEWS).write_bytes(b"these are no views" * 1000)


def untouched(directory):
    pass


HARMS = (untouched, deleted, damaged)
events = st.one_of(
    st.lists(writes, max_size=3),
    st.just("fill"),
    st.tuples(st.sampled_from(["stop", "kill"]), st.sampled_from(HARMS)),
)


@settings(max_examples=60)
@given(events=st.lists(events, max_size=8))
def test_every_record_is_found_after_each_commit_start_and_crash(events):
    with tempfile.TemporaryDirectory() as path:
        asyncio.run(live(Path(path), events))


async def live(path, events):
    """Does what happens to a store, and compares it with the one in memory after each event."""
    lives = 0
    async with AsyncExitStack() as killed:
        memory = MemoryStore()
        directory = path / "0"
        store = await SqliteStore(directory).__aenter__()
        for event in events:
            if isinstance(event, list):
                assert await store.commit(event) == await memory.commit(event)
            elif event == "fill":
                await projected(store)
            else:
                how, harm = event
                lives += 1
                if how == "stop":
                    await store.__aexit__(None, None, None)
                else:
                    killed.push_async_exit(store)
                shutil.copytree(directory, path / str(lives))
                directory = path / str(lives)
                harm(directory)
                store = await SqliteStore(directory).__aenter__()
            assert await everything(store) == await everything(memory)
        await store.__aexit__(None, None, None)


# --- before and after the projector -------------------------------------------------------------


async def test_pages_that_span_the_views_and_the_tail_have_each_record_once(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(10))
        await projected(store)
        await store.commit(steps(10, start=10))
        again = [activation("0003", started_ms=3, status=2), activation("0012", started_ms=12)]
        await store.commit([Write(activations=again)])

        everyone = [f"{n:04}" for n in reversed(range(20))]
        assert await ids(store, limit=100) == everyone
        for skip in range(22):
            for limit in (1, 3, 11, 30):
                assert await ids(store, skip=skip, limit=limit) == everyone[skip : skip + limit]
        assert await store.count(ActivationRow, GUEST) == 20
        assert await ids(store, status=2) == ["0003"]
        assert await ids(store, id="0003", status=0) == []
        assert await ids(store, id="0003", status=2, skip=1) == []
        assert [first for first, _ in await store.history("e1", 8, 4)] == [9, 10, 11, 12]


async def test_a_history_that_was_forgotten_and_written_again_has_only_what_is_new(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(history=[("e1", 1, b"1"), ("e1", 2, b"2")])])
        await projected(store)
        await store.commit([Write(forgotten=["e1"])])
        assert await store.history("e1", 0, 10) == []
        await store.commit([Write(history=[("e1", 2, b"new")])])

        assert await store.history("e1", 0, 10) == [(2, b"new")]
        await projected(store)
        assert await store.history("e1", 0, 10) == [(2, b"new")]


async def test_commits_wait_while_the_tail_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "TAIL_RECORDS", 10)
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(11))  # one more than it may have
        assert store._records.full

        await store.commit(steps(1, start=11))

        assert not store._records.full
        assert len(await ids(store, limit=100)) == 12


@pytest.mark.parametrize(("records_allowed", "full"), [(10, False), (9, True)])
async def test_the_tail_is_full_above_its_limits(tmp_path, monkeypatch, records_allowed, full):
    monkeypatch.setattr(records, "TAIL_RECORDS", records_allowed)
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(5))  # of two records each
        assert store._records.full is full
        monkeypatch.setattr(records, "TAIL_RECORDS", 100)
        monkeypatch.setattr(records, "TAIL_BYTES", store._records.tail.bytes - full)
        assert store._records.full is full


async def test_many_records_are_filled_in_at_once_without_a_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FILLED_AT_ONCE", 4)
    monkeypatch.setattr(records, "REST_S", 3600)
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(2))

        while store._records.tail.base < store._counted.number:
            await store._records._filling


async def test_a_few_records_rest_before_they_are_filled_in_together(tmp_path, monkeypatch):
    filled = []
    fill = Views.fill

    def counted(self, after, goal):
        filled.append(goal)
        return fill(self, after, goal)

    monkeypatch.setattr(Views, "fill", counted)
    monkeypatch.setattr(records, "REST_S", 0.01)
    loop = asyncio.get_running_loop()
    async with SqliteStore(tmp_path / "data") as store:
        began_s = loop.time()
        for write in steps(500):
            await store.commit([write])
            await anyio.lowlevel.checkpoint()
        rests = (loop.time() - began_s) / records.REST_S

    assert len(filled) <= rests + 2  # one under way when they began, and one when they ended


async def test_a_long_filling_is_told(tmp_path, monkeypatch, caplog):
    async with SqliteStore(tmp_path) as store:
        for step in steps(5):
            await store.commit([step])
    deleted(tmp_path)
    monkeypatch.setattr(views, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(records, "TOLD_EVERY", 2)

    with caplog.at_level("INFO"):
        async with SqliteStore(tmp_path) as store:
            assert len(await ids(store)) == 5

    assert "are being filled: 3 of 6 commits" in caplog.text


# --- views that fail ---------------------------------------------------------------------------


class Full:
    """The projector's disk is full, until there is room."""

    def __init__(self, monkeypatch):
        self.room = False
        fill = Views.fill
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"

        def filled(views, after, goal):
            if not self.room:
                raise error
            return fill(views, after, goal)

        monkeypatch.setattr(Views, "fill", filled)
        monkeypatch.setattr(records, "RETRY_S", 0.001)


async def test_a_full_disk_stops_commits_when_the_tail_is_full_and_room_heals_it(
    tmp_path, monkeypatch, caplog
):
    async with SqliteStore(tmp_path) as store:
        disk = Full(monkeypatch)
        monkeypatch.setattr(records, "TAIL_RECORDS", 10)
        await store.commit(steps(11))
        with pytest.raises(StoreError, match="the disk is full"):
            await store.commit(steps(1, start=11))
        assert len(await ids(store, limit=100)) == 11  # and what is there is found
        assert caplog.text.count("views of the store cannot be written") == 1

        disk.room, never = True, asyncio.get_running_loop().create_future()
        async with asyncio.timeout(20):
            while store._records.full:
                await asyncio.wait([store._records._filling or never], timeout=0.01)
        await store.commit(steps(1, start=11))

        assert len(await ids(store, limit=100)) == 12


async def test_views_that_are_damaged_under_the_server_are_made_again(tmp_path, caplog):
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(500))
        await projected(store)
        store._records._views.db.execute("PRAGMA main.wal_checkpoint(TRUNCATE)")
        size = (tmp_path / VIEWS).stat().st_size
        with (tmp_path / VIEWS).open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (size - 4096))
        store._records._reader.execute("PRAGMA shrink_memory")
        store._records._reader.execute("PRAGMA cache_size=0")

        found = await asyncio.gather(*[ids(store, limit=1000) for _ in range(3)])
        assert [*map(len, found)] == [500, 500, 500]

    assert caplog.text.count("views of the store are damaged") == 1


async def test_views_that_cannot_be_filled_because_they_are_damaged_are_made_again(
    tmp_path, monkeypatch, caplog
):
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(3))
        await projected(store)
        fills, fill = [], Views.fill

        def filled(views, after, goal):
            fills.append(after)
            if len(fills) == 1:
                raise sqlite3.DatabaseError("database disk image is malformed")
            return fill(views, after, goal)

        monkeypatch.setattr(Views, "fill", filled)
        monkeypatch.setattr(Views, "damaged", lambda _: True)
        await store.commit(steps(3, start=3))
        store._records._fill()
        await asyncio.wait([store._records._filling])
        await store._records._healing

        assert len(await ids(store)) == 6
        await projected(store)
        assert fills[:2] == [2, 1]
    assert "views of the store are damaged" in caplog.text


async def test_a_damaged_journal_is_an_error_and_no_reason_to_make_the_views_again(
    tmp_path, caplog
):
    async with SqliteStore(tmp_path) as store:
        await store.commit(steps(3))
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute("UPDATE journal SET bodies = x'00'")

    async with SqliteStore(tmp_path) as store:
        with pytest.raises(StoreError, match="cannot be read: row 2 of the journal is cut short"):
            await ids(store)
        with pytest.raises(StoreError, match="cannot be read"):
            await store.history("e1", 0, 10)
    assert "made again" not in caplog.text


async def test_whoever_reads_the_views_cannot_write_them(tmp_path):
    async with SqliteStore(tmp_path) as store:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            store._records._reader.execute("DELETE FROM activation_places")


async def test_views_that_cannot_be_made_keep_the_store_from_opening(tmp_path):
    (tmp_path / VIEWS).mkdir()

    with pytest.raises(StoreError, match=r"views\.db cannot be used"):
        async with SqliteStore(tmp_path):
            pass
    (tmp_path / VIEWS).rmdir()

    async with SqliteStore(tmp_path) as store:
        assert await ids(store) == []


async def test_labels_are_there_wholly_or_not_at_all(tmp_path, monkeypatch):
    """A stop between the two statements that write them would put a place into no namespace's list."""
    insert, update = views._LABELS
    async with SqliteStore(tmp_path / "data") as store:
        monkeypatch.setattr(views, "_LABELS", (insert, "UPDATE nothing SET there = 1"))
        stranger = Write(activations=[activation("other", namespace="stranger")])
        await store.commit([*steps(1), stranger])
        with pytest.raises(sqlite3.Error):
            await projected(store)
        monkeypatch.setattr(views, "_LABELS", (insert, update))

        await projected(store)
        assert await ids(store) == ["0000"]


async def test_executions_are_listed_while_the_views_are_made_again(tmp_path, monkeypatch):
    row = ExecutionRow("e1", "guest", "hello", "running", 1000, None, b"{}")
    asked = []
    async with SqliteStore(tmp_path / "data") as store, asyncio.TaskGroup() as group:
        await store.commit([Write(executions=[row])])
        opening = store._records._open_readers

        async def beside():
            """Reads while there is no reader."""
            asked.append(group.create_task(store.find(ExecutionRow, GUEST)))
            asked.append(group.create_task(store.count(ExecutionRow, GUEST)))
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            await opening()

        monkeypatch.setattr(store._records, "_open_readers", beside)
        async with store._records.cleared():
            pass

        assert [await each for each in asked] == [[row], 1]
