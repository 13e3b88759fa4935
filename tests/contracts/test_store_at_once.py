"""The laws of the `Store` port about what happens at the same time, for every store there is."""

from __future__ import annotations

import asyncio

from tests.kit.stores.contract import (
    MANY,
    activation,
    crowd,
    document,
    documents,
    execution,
    fiber,
    found,
)
from xingqiao.actions import Write


async def test_commits_at_the_same_time_are_all_done(store):
    writes = [[crowd("a")], [Write(fibers=[fiber(of="b")])], [crowd("c")], [Write(documents=[document()])]]  # fmt: skip
    heads = [Write(executions=[execution(id) for id in "abc"])]

    async with asyncio.TaskGroup() as group:
        for batch in [heads, *writes]:
            group.create_task(store.commit(batch))

    sizes = {id: len((await store.load(id)).fibers) for id in "abc"}
    assert sizes == {"a": MANY, "b": 1, "c": MANY}
    assert len(await documents(store)) == 1


async def test_commits_asked_for_in_order_are_done_in_order(store):
    async with asyncio.TaskGroup() as group:
        group.create_task(
            store.commit([crowd("e1"), Write(executions=[execution(status="first")])])
        )
        group.create_task(store.commit([Write(executions=[execution(status="second")])]))

    assert (await store.load("e1")).execution.status == "second"


async def test_a_commit_that_nobody_waits_for_any_more_harms_no_other(store):
    async with asyncio.TaskGroup() as group:
        given_up = [group.create_task(store.commit([crowd(id)])) for id in "abc"]
        await asyncio.wait(given_up, timeout=0)
        for task in given_up:
            task.cancel()

    await store.commit([Write(executions=[execution(id) for id in "abcd"])])

    assert (await store.load("d")).fibers == []
    for id in "abc":
        assert len((await store.load(id)).fibers) in (0, MANY)  # all or nothing


async def test_a_reader_never_sees_half_a_commit(store):
    def write(n):
        body = b"%d" % n
        return [
            Write(executions=[execution(body=body)],
                  fibers=[fiber(f"{i:04}", body=body) for i in range(MANY)])
        ]  # fmt: skip

    await store.commit(write(0))
    seen = set()
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(commit_all(store, [write(n) for n in range(1, 20)]))
        while not writing.done():
            saved = await store.load("e1")
            bodies = {saved.execution.body, *(row.body for row in saved.fibers)}
            assert len(saved.fibers) == MANY
            seen.add(frozenset(bodies))
            await asyncio.wait([writing], timeout=0)

    assert all(len(bodies) == 1 for bodies in seen)
    assert (await store.load("e1")).execution.body == b"19"


async def test_what_one_read_has_seen_of_a_commit_the_next_read_sees_as_a_whole(store):
    """An execution that is read as ended has its last entry, though its commit has not returned yet."""

    def write(n):
        return [
            Write(
                executions=[execution(body=b"%d" % n)],
                history=[("e1", n + 1, b"[%d]" % n)],
                activations=[activation(f"a{n}")],
                fibers=[fiber(f"{i:04}") for i in range(MANY)],
            )
        ]

    await store.commit(write(0))
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(commit_all(store, [write(n) for n in range(1, 60)]))
        while not writing.done():
            seen = int((await store.load("e1")).execution.body)
            ((first, _),) = await store.history("e1", 1 << 40, 1)
            assert first >= seen + 1
            assert await found(store, id=f"a{seen}") == [f"a{seen}"]
            await asyncio.wait([writing], timeout=0)


async def commit_all(store, batches):
    for batch in batches:
        await store.commit(batch)


async def test_of_two_starts_with_one_id_at_the_same_time_one_is_taken(store):
    """Each server has read that there is none, and writes the row of its run with the document of the id."""
    starts = [Write(executions=[execution(run)], documents=[document(expected=0)]) for run in "ab"]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.commit([start])) for start in starts]

    refused = [task.result() for task in tasks]
    assert sorted(refused) == [[], [0]]
    [lost] = [run for run, indexes in zip("ab", refused, strict=True) if indexes]
    assert await store.load(lost) is None
    assert await store.load("ab".replace(lost, "")) is not None
    assert len(await documents(store)) == 1
