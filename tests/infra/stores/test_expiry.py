"""What a SQLite store deletes: whole rows of its journal, and nothing that is needed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import anyio.lowlevel
import pytest

from tests.kit.stores.contract import activation, execution, timed
from xingqiao.actions import ActivationRow, Expiry, Query, Write
from xingqiao.infra.stores import FILE, SqliteStore
from xingqiao.infra.stores.views import VIEWS

GUEST = Query(namespace="guest", limit=1000)


async def ids(store):
    return [row.id for row in await store.find(ActivationRow, GUEST)]


def rows(directory):
    with closing(sqlite3.connect(directory / FILE)) as db:
        return [number for (number,) in db.execute("SELECT number FROM journal ORDER BY number")]


def places(directory, table):
    with closing(sqlite3.connect(directory / VIEWS)) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


async def test_a_commit_goes_when_all_of_it_is_old_and_all_of_it_counts(tmp_path):
    async with SqliteStore(tmp_path) as store:
        for at in (1, 11, 21):
            batch = [activation(timed(n), started_ms=n) for n in range(at, at + 5)]
            await store.commit([Write(activations=batch)])

        for before_ms, left in ((5, 15), (6, 10)):
            asked = Expiry(before_ms, 2)
            await store.commit([Write(expired=asked)])
            assert (len(await ids(store)), asked.more) == (left, False)
        asked = Expiry(100, 5)
        await store.commit([Write(expired=asked)])
        assert (len(await ids(store)), asked.more) == (5, True)
        await store.commit([Write(expired=Expiry(100, 3)), Write(expired=Expiry(100, 3))])
        assert await ids(store) == []


async def test_after_a_start_what_expired_is_gone_from_all_files(tmp_path):
    id = timed(3, "running")
    async with SqliteStore(tmp_path) as store:
        for n in range(1, 4):
            await store.commit([Write(
                activations=[activation(timed(n), started_ms=n)],
                history=[(id, n, b"%d" % n), (timed(1, "old"), n, b"")],
                executions=[execution(id, started_ms=3),
                            execution(timed(1, "old"), started_ms=1, ended_ms=1)],
            )])  # fmt: skip
        await store._records.filled(store._counted.number)
        before = store._counted.number
        await store.commit([Write(expired=Expiry(3, 100))])
        assert await store.history(timed(1, "old"), 0, 10) == []

    async with SqliteStore(tmp_path) as store:
        assert await ids(store) == [timed(3)]
        assert await store.history(id, 0, 10) == [(n, b"%d" % n) for n in (1, 2, 3)]
        assert await store.history(timed(1, "old"), 0, 10) == []
        assert await store.load(timed(1, "old")) is None
        await store._records.filled(store._counted.number)
    async with SqliteStore(tmp_path) as store:
        await store._records.filled(store._counted.number)
        store._records._fill()
    assert rows(tmp_path) == [before, before + 1]
    assert (places(tmp_path, "activation_places"), places(tmp_path, "history_places")) == (1, 3)


async def test_a_journal_that_expired_wholly_keeps_the_count_of_commits(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(activations=[activation(timed(1), started_ms=1)])])
        await store.commit([Write(expired=Expiry(5, 10))])
    async with SqliteStore(tmp_path) as store:
        assert await ids(store) == []
        assert store._counted.number == 3

    assert rows(tmp_path) == [3]


@pytest.mark.parametrize("again", [True, False])
async def test_an_execution_that_goes_on_in_the_same_commit_is_kept(tmp_path, again):
    id = timed(1, "e")
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(
            executions=[execution(id, started_ms=1, ended_ms=2)], history=[(id, 1, b"1")],
            activations=[activation(timed(1), started_ms=1)], values=[(id, "k", b"v")],
        )])  # fmt: skip
        redriven = [execution(id, started_ms=1)] if again else []

        await store.commit([Write(expired=Expiry(9, 10)), Write(executions=redriven)])

        assert (await store.load(id) is not None) is again
        assert await store.history(id, 0, 10) == ([(1, b"1")] if again else [])
        assert await store.values(id, ["k"]) == ({"k": b"v"} if again else {})


async def test_an_execution_whose_steps_are_not_in_the_views_yet_is_kept(tmp_path, monkeypatch):
    id = timed(1, "e")
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(executions=[execution(id, started_ms=1, ended_ms=2)])])
        step = Write(activations=[activation(timed(1), started_ms=20, cause=id)])
        expiring = store._records.expiring

        async def later(before_ms, count):
            """Another commit comes between the wait for the views and the plan."""
            await monkeypatched(step)
            return await expiring(before_ms, count)

        async def monkeypatched(write):
            monkeypatch.setattr(store._records, "expiring", expiring)
            store._insert([write], None)
            store._commit()
            store._committed()

        monkeypatch.setattr(store._records, "expiring", later)
        await store.commit([Write(expired=Expiry(9, 10))])

        assert await store.load(id) is not None
        assert await ids(store) == [timed(1)]


async def test_what_is_carried_is_as_old_as_its_carrying(tmp_path):
    """Else it is carried again by each request."""
    id = timed(1, "running")
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(
            executions=[execution(id, started_ms=1)], history=[(id, 1, b"1")],
            activations=[activation(timed(1), started_ms=1)],
        )])  # fmt: skip

        await store.commit([Write(expired=Expiry(9, 10, now_ms=100))])
        before = rows(tmp_path)
        again = Expiry(20, 1, now_ms=111)
        await store.commit([Write(expired=again)])

        assert not again.more
        assert set(before) <= {*rows(tmp_path)}
        assert await store.history(id, 0, 10) == [(1, b"1")]


async def test_expiry_beside_a_commit_that_has_not_returned_ends(tmp_path, monkeypatch):
    """Such a commit is counted already, and its records cannot be in the views yet."""
    counted, go = threading.Event(), threading.Event()
    async with SqliteStore(tmp_path, inline_us=0) as store:
        durable = store._counted.durable

        def slow():
            durable()
            counted.set()
            assert go.wait(60)

        monkeypatch.setattr(store._counted, "durable", slow)
        step = Write(activations=[activation(timed(1), started_ms=1)])
        async with asyncio.TaskGroup() as group:
            group.create_task(store.commit([step]))
            await asyncio.get_running_loop().run_in_executor(None, counted.wait)
            group.create_task(store.commit([Write(expired=Expiry(5, 1))]))
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
            go.set()

        await store.commit([Write(expired=Expiry(5, 1))])
        assert await ids(store) == []


async def test_a_list_that_is_carried_while_it_is_read_is_read_from_its_new_place(
    tmp_path, monkeypatch
):
    id = timed(1, "running")
    async with SqliteStore(tmp_path) as store:
        await store.commit([Write(
            executions=[execution(id, started_ms=1)], history=[(id, 1, b"1")],
            activations=[activation(timed(1), started_ms=1)],
        )])  # fmt: skip
        await store._records.filled(store._counted.number)
        in_thread = store._records._in_thread

        async def later(work):
            """Old rows are deleted between the look at the tail and the read."""
            monkeypatch.setattr(store._records, "_in_thread", in_thread)
            await store.commit([Write(expired=Expiry(9, 10, now_ms=100))])
            return await in_thread(work)

        monkeypatch.setattr(store._records, "_in_thread", later)
        found = await store.standing(of=[id])

        assert found.saved[0].tail == [(1, b"1")]
