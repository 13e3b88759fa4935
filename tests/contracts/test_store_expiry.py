"""The laws of the `Store` port about old records, for every store there is."""

from __future__ import annotations

from tests.kit.stores.contract import activation, document, execution, found, timed
from xingqiao.actions import ActivationRow, Expiry, Query, Write


async def test_records_that_are_old_enough_are_deleted_the_oldest_first(store):
    for n in range(1, 6):
        await store.commit([Write(activations=[activation(timed(n), started_ms=n)])])
    first, last = Expiry(4, 2), Expiry(4, 2)

    await store.commit([Write(expired=first)])
    assert (await found(store), first.more) == ([timed(n) for n in (5, 4, 3)], True)
    await store.commit([Write(expired=last)])
    assert (await found(store), last.more) == ([timed(5), timed(4)], False)


async def test_a_refused_request_deletes_nothing(store):
    await store.commit([Write(activations=[activation(timed(1), started_ms=1)])])

    refused = Write(expired=Expiry(4, 2), documents=[document(expected=3)])
    assert await store.commit([refused]) == [0]

    assert await found(store) == [timed(1)]


async def test_what_is_left_of_a_history_stays_in_order_when_older_records_are_deleted(store):
    id = timed(1, "running")
    for n in range(1, 7):
        step = activation(timed(1, f"step{n}"), started_ms=n, cause=id)
        await store.commit(
            [Write(executions=[execution(id, started_ms=1)], activations=[step],
                   history=[(id, n, b"%d" % n), (timed(9, "none"), n, b"")])]
        )  # fmt: skip

    for before_ms in (2, 5, 6):
        await store.commit([Write(expired=Expiry(before_ms, 100))])
        assert await store.history(id, 0, 10) == [(n, b"%d" % n) for n in range(1, 7)]
    await store.commit([Write(history=[(id, 3, b"again"), (id, 7, b"7")])])

    assert await store.history(id, 2, 2) == [(3, b"again"), (4, b"4")]
    assert await store.history(id, 6, 2) == [(7, b"7")]
    assert len(await found(store)) == 1


async def test_an_execution_goes_with_its_history_and_values_after_its_activations(store):
    old, running, step = timed(1, "old"), timed(2, "running"), timed(1, "step")
    await store.commit([
        Write(
            executions=[execution(old, started_ms=1, ended_ms=3, status="done"),
                        execution(running, started_ms=2)],
            history=[(old, 1, b"[1]"), (running, 1, b"[1]")],
            values=[(old, "k", b"1"), (running, "k", b"1")],
            activations=[activation(old, started_ms=1)],
        )
    ])  # fmt: skip
    await store.commit([Write(activations=[activation(step, started_ms=2, cause=old)])])

    await store.commit([Write(expired=Expiry(2, 10))])  # the step is not old enough yet
    assert await found(store) == [step]
    assert await store.values(old, ["k"]) == {"k": b"1"}
    assert await store.load(old) is not None

    await store.commit([Write(expired=Expiry(10, 10))])
    assert await found(store) == []
    assert await store.load(old) is None
    assert await store.history(old, 0, 10) == []
    assert await store.values(old, ["k"]) == {}
    assert (await store.load(running)).execution.id == running
    assert await store.history(running, 0, 10) == [(1, b"[1]")]
    assert await store.values(running, ["k"]) == {"k": b"1"}


async def test_the_value_of_an_action_by_itself_goes_with_its_activation(store):
    await store.commit(
        [Write(activations=[activation(timed(1), started_ms=1)], values=[(timed(1), "k", b"1")])]
    )

    await store.commit([Write(expired=Expiry(1, 10))])
    assert await store.values(timed(1), ["k"]) == {"k": b"1"}
    await store.commit([Write(expired=Expiry(2, 10))])
    assert await store.values(timed(1), ["k"]) == {}


async def test_activations_are_found_by_kind(store):
    kinds = {"1": "python:3", "2": "trigger", "3": "python:3"}
    rows = [activation(id, kind=kind) for id, kind in kinds.items()]
    await store.commit([Write(activations=rows)])

    assert await found(store, kind=ActivationRow) == ["3", "2", "1"]
    query = Query(namespace="guest", kind="python:3")
    assert [row.id for row in await store.find(ActivationRow, query)] == ["3", "1"]
    assert await store.count(ActivationRow, query) == 2
