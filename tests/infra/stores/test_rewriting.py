"""Every body of a store can be exchanged in place, and nothing of the old ones is left in its files."""

from __future__ import annotations

import pytest

from tests.kit.stores.contract import there
from tests.kit.stores.tables import client, dynamo_store
from xingqiao.actions import ActivationRow, Document, ExecutionRow, FiberRow, Query, Write
from xingqiao.infra.stores import Seal, SealedStore, SqliteStore, new_key

CLEAR = b'"it-stands-in-clear"'
LARGE = b'"' + b"large" * 200_000 + b'"'  # lies in pieces in a table
MANY = 450  # more than is rewritten at once, by several times
STORES = {"sqlite": SqliteStore, "dynamodb": lambda path: dynamo_store(client())}


@pytest.fixture(params=STORES)
async def store(request, tmp_path):
    with there(request.param):
        async with STORES[request.param](tmp_path) as opened:
            yield opened


def everything(body=CLEAR, count=3):
    return Write(
        executions=[
            ExecutionRow(f"e{n}", "guest", "a", "done", n, None, body) for n in range(count)
        ],
        fibers=[FiberRow("e1", f"0/{n}.0", None, False, body) for n in range(count)],
        history=[("e1", 1 + 300 * n, body) for n in range(count)],
        activations=[ActivationRow(f"a{n}", "guest", "a", n, 0, None, body) for n in range(count)],
        values=[("e1", f"k/{n}", body) for n in range(count)],
        documents=[Document(kind="entity", key=f"/guest/{n}/é", body=body) for n in range(count)],
    )


async def bodies(store, count=3):
    saved = await store.load("e1")
    keys = [f"k/{n}" for n in range(count)]
    listed = Query(namespace="guest", limit=count)
    return [
        saved.execution.body,
        *[fiber.body for fiber in saved.fibers],
        *[body for _, body in await store.history("e1", 0, count)],
        *(await store.values("e1", keys)).values(),
        *[row.body for row in await store.find(ActivationRow, listed)],
        *[row.body for row in await store.find(ExecutionRow, listed)],
        *[document.body async for document in store.documents("entity")],
    ]


async def test_what_stood_in_clear_is_read_through_the_seal_that_it_was_given(store):
    await store.commit([everything()])
    await store.commit(
        [Write(values=[("e1", "k/0", LARGE)], executions=everything(LARGE).executions[1:2])]
    )
    seal = Seal([new_key()])
    before = await bodies(store)

    assert await store.rewrite(seal.sealed) == 18

    assert not set(before) & set(await bodies(store))
    sealed = SealedStore(store, seal)
    assert await bodies(sealed) == before
    assert [row.id for row in await store.find(ActivationRow, Query(namespace="guest"))] == [
        "a2",
        "a1",
        "a0",
    ]


async def test_what_is_to_stay_stays(store):
    await store.commit([everything()])
    before = await bodies(store)

    assert await store.rewrite(lambda place, body: None) == 0
    assert await store.rewrite(lambda place, body: b"1" if place == b"value/e1/k/1" else None) == 1

    after = await bodies(store)
    assert after.count(b"1") == 1
    assert len([body for body in after if body == CLEAR]) == len(before) - 1


async def test_nothing_of_the_old_bodies_is_left_in_a_file(tmp_path):
    async with SqliteStore(tmp_path) as store:
        await store.commit([everything(count=MANY)])
        await store.commit([Write(forgotten=[f"e{n}" for n in range(2, MANY)])])
        await store.commit(
            [Write(documents=[Document(kind="entity", key="/guest/7/é", body=None)])]
        )

        def written():
            return b"".join(file.read_bytes() for file in tmp_path.iterdir())

        assert CLEAR in written()
        changed = await store.rewrite(lambda place, body: b'"new"')
        assert changed == 5 * MANY + 2 - 1
        assert CLEAR not in written()
        assert (tmp_path / "xingqiao.db-wal").stat().st_size == 0
    assert CLEAR not in written()
