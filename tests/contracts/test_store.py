"""The laws of the `Store` port, for every store there is."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kit.stores.contract import (
    CAUSE,
    EXAMPLES,
    STORES,
    activation,
    crowd,
    document,
    documents,
    execution,
    fiber,
    found,
    there,
    timed,
)
from xingqiao.actions import (
    TAIL_LISTS,
    ActivationRow,
    Document,
    ExecutionRow,
    FiberRow,
    Query,
    Saved,
    Standing,
    Write,
)
from xingqiao.infra.stores import MemoryStore

# --- what is committed is read -----------------------------------------------------------------


async def test_an_empty_store_has_nothing(store):
    assert await store.standing() == Standing([], [])
    assert await store.load("e1") is None
    assert await store.history("e1", 0, 10) == []
    assert await store.values("e1", ["k"]) == {}
    assert await store.find(ExecutionRow, Query(namespace="guest")) == []
    assert await store.count(ActivationRow, Query(namespace="guest")) == 0
    assert await documents(store) == []


@pytest.mark.parametrize("writes", [[], [Write()], [Write(), Write()]])
async def test_a_commit_of_nothing_is_nothing(store, writes):
    assert await store.commit(writes) == []
    assert await store.standing() == Standing([], [])


async def test_an_execution_comes_back_with_its_fibers_in_order(store):
    fibers = [fiber("0.1", due_ms=5), fiber("0", active=True), fiber("0.0", body=b"\0\xff")]
    row = execution(ended_ms=9, body=b'{"n": 1}')

    await store.commit([Write(executions=[row], fibers=[*fibers, fiber(of="other")])])

    saved = await store.load("e1")
    assert saved.execution == row
    assert saved.fibers == [fibers[1], fibers[2], fibers[0]]
    assert await store.load("other") is None  # a fiber alone is no execution


@pytest.mark.parametrize("beside", [[], [crowd()]], ids=["small", "large"])
async def test_every_kind_of_row_is_written(store, beside):
    write = Write(
        executions=[execution()],
        fibers=[fiber()],
        history=[("e1", 1, b"[1]")],
        activations=[activation()],
        values=[("e1", "big", b"text")],
        documents=[document()],
    )

    assert await store.commit([*beside, write]) == []

    saved = await store.load("e1")
    assert (saved.execution, saved.fibers) == (execution(), [fiber()])
    assert await store.history("e1", 0, 10) == [(1, b"[1]")]
    assert await store.find(ActivationRow, Query(namespace="guest")) == [activation()]
    assert await store.values("e1", ["big"]) == {"big": b"text"}
    assert [(d.kind, d.key, d.body, d.version) for d in await documents(store)] == [
        ("action", "k", b"{}", 1)
    ]


async def test_what_has_the_same_key_is_put_in_its_place(store):
    await store.commit(
        [Write(executions=[execution()], fibers=[fiber()], activations=[activation()],
               values=[("e1", "k", b"1")], history=[("e1", 1, b"[1]")])]
    )  # fmt: skip

    after = Write(
        executions=[execution(status="done", ended_ms=2000)],
        fibers=[fiber(due_ms=7, body=b"new")],
        activations=[activation(status=2, body=b"new")],
        values=[("e1", "k", b"2")],
        history=[("e1", 1, b"[2]")],
    )
    await store.commit([after])

    saved = await store.load("e1")
    assert (saved.execution, saved.fibers) == (after.executions[0], after.fibers)
    assert await store.find(ActivationRow, Query(namespace="guest")) == after.activations
    assert await store.values("e1", ["k"]) == {"k": b"2"}
    assert await store.history("e1", 0, 10) == [(1, b"[2]")]


async def test_of_one_commit_the_last_write_stands(store):
    await store.commit([Write(executions=[execution(status=s)]) for s in ("a", "b", "c")])

    assert (await store.load("e1")).execution.status == "c"


async def test_the_same_commit_again_changes_nothing(store):
    write = Write(
        executions=[execution()],
        fibers=[fiber(due_ms=1), fiber("1")],
        dropped=[("e1", "1")],
        history=[("e1", 1, b"[1]"), ("e1", 2, b"[2]")],
        activations=[activation()],
        values=[("e1", "k", b"v")],
    )
    await store.commit([write])
    before = await everything(store)

    await store.commit([write])

    assert await everything(store) == before


async def test_large_bodies_come_back_whole(store):
    large = bytes(range(256)) * 40_000  # 10 MB
    await store.commit(
        [Write(executions=[execution(body=large)], values=[("e1", "k", large)],
               documents=[document(body=large)])]
    )  # fmt: skip

    assert (await store.load("e1")).execution.body == large
    assert await store.values("e1", ["k"]) == {"k": large}
    assert (await documents(store))[0].body == large


async def test_large_values_are_found_by_key_however_many_are_asked_for(store):
    keys = [f"k{n}" for n in range(10_000)]
    await store.commit([Write(values=[("e1", key, key.encode()) for key in keys])])
    await store.commit([Write(values=[("e2", "k1", b"of another")])])

    assert await store.values("e1", []) == {}
    assert await store.values("e1", ["k7", "none"]) == {"k7": b"k7"}
    assert await store.values("e1", keys) == {key: key.encode() for key in keys}


# --- all or nothing ----------------------------------------------------------------------------


def wholly(expected):
    """A write of everything, on a condition."""
    return Write(
        executions=[execution("x")],
        fibers=[fiber(of="x", due_ms=1, active=True)],
        dropped=[("e1", "")],
        forgotten=["e1"],
        history=[("x", 1, b"[]")],
        activations=[activation("x")],
        values=[("x", "k", b"v")],
        documents=[document("new"), document("k", expected=expected), document("later")],
    )


@pytest.mark.parametrize("expected", [0, 2])
@pytest.mark.parametrize("beside", [[], [crowd()]], ids=["small", "large"])
async def test_a_refused_write_leaves_nothing(store, beside, expected):
    await store.commit(
        [*beside, Write(executions=[execution()], fibers=[fiber()], documents=[document()])]
    )
    before = await everything(store)

    assert await store.commit([*beside, wholly(expected)]) == [len(beside)]

    assert await everything(store) == before


async def test_a_write_whose_condition_holds_is_done_wholly(store):
    await store.commit([Write(executions=[execution()], documents=[document()])])

    assert await store.commit([wholly(1)]) == []

    assert await store.load("e1") is None
    assert (await store.load("x")).fibers == [fiber(of="x", due_ms=1, active=True)]
    versions = {found.key: found.version for found in await documents(store)}
    assert versions == {"k": 2, "later": 1, "new": 1}


async def test_a_refused_write_does_not_touch_the_others_of_its_commit(store):
    await store.commit([Write(documents=[document()])])

    refused = await store.commit(
        [
            Write(executions=[execution("a")]),
            Write(executions=[execution("b")], documents=[document(expected=0)]),
            Write(executions=[execution("c")], documents=[document(expected=1)]),
            Write(executions=[execution("d")], documents=[document(expected=1)]),
        ]
    )

    assert refused == [1, 3]  # the third has made it version 2
    assert sorted(await found(store, ExecutionRow)) == ["a", "c"]


async def test_a_condition_sees_what_the_same_commit_has_written_before(store):
    assert await store.commit(
        [Write(documents=[document(expected=n)]) for n in (0, 1, 2, 0)]
    ) == [3]  # fmt: skip
    assert (await documents(store))[0].version == 3


# --- documents ---------------------------------------------------------------------------------


async def test_a_document_counts_its_versions(store):
    for version in (1, 2, 3):
        await store.commit([Write(documents=[document(body=b"%d" % version)])])
        assert [(d.body, d.version) for d in await documents(store)] == [(b"%d" % version, version)]


@pytest.mark.parametrize(
    ("bodies", "version"), [([b"a", b"b"], 3), ([b"a", None, b"b"], 1), ([None, b"b"], 1)]
)
@pytest.mark.parametrize("together", [True, False])
async def test_a_document_counts_its_versions_within_a_commit(store, bodies, version, together):
    await store.commit([Write(documents=[document()])])

    each = [document(body=body) for body in bodies]
    await store.commit(
        [Write(documents=each)] if together else [Write(documents=[d]) for d in each]
    )

    assert [(d.body, d.version) for d in await documents(store)] == [(b"b", version)]


async def test_a_document_is_made_only_once(store):
    make = [Write(documents=[document(expected=0)])]

    assert await store.commit(make) == []
    assert await store.commit(make) == [0]


async def test_a_deleted_document_is_gone_and_its_versions_begin_again(store):
    await store.commit([Write(documents=[document()])])
    await store.commit([Write(documents=[document()])])

    assert await store.commit([Write(documents=[document(body=None, expected=1)])]) == [0]
    assert await store.commit([Write(documents=[document(body=None, expected=2)])]) == []
    assert await documents(store) == []
    assert await store.commit([Write(documents=[document(expected=0)])]) == []
    assert (await documents(store))[0].version == 1


async def test_what_is_not_there_can_be_deleted(store):
    assert await store.commit([Write(documents=[document(body=None)])]) == []
    assert await store.commit([Write(documents=[document(body=None, expected=0)])]) == []
    assert await store.commit([Write(documents=[document(body=None, expected=1)])]) == [0]


async def test_documents_are_listed_by_kind_and_prefix_in_order(store):
    keys = ["b", "a/2", "a", "a/1", "A", "ab", "a/\U0001f600", "a/\uffffz", "ä", "a\0", ""]
    await store.commit([Write(documents=[document(key) for key in keys])])
    await store.commit([Write(documents=[document("a/1", kind="program")])])

    async def keys_of(prefix, kind="action"):
        return [found.key for found in await documents(store, kind, prefix)]

    assert await keys_of("") == sorted(keys)
    assert await keys_of("a/") == ["a/1", "a/2", "a/\uffffz", "a/\U0001f600"]
    assert await keys_of("a/1") == ["a/1"]
    assert await keys_of("zz") == []
    assert await keys_of("", "program") == ["a/1"]


async def test_whoever_lists_documents_may_stop_and_others_read_on(store):
    await store.commit([Write(documents=[document("a"), document("b")])])
    listing = store.documents("action")
    assert (await anext(listing)).key == "a"

    await store.commit([Write(executions=[execution()], documents=[document("c")])])

    assert (await store.load("e1")).execution == execution()
    assert [found.key for found in await documents(store)] == ["a", "b", "c"]
    await listing.aclose()


# --- fibers come and go ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "left"),
    [
        ("", []),
        ("0", ["1", "10"]),
        ("0.", ["0", "00", "1", "10"]),
        ("0.1", ["0", "0.2", "0.\U0001f600", "00", "1", "10"]),
        ("2", ["0", "0.1", "0.10", "0.2", "0.\U0001f600", "00", "1", "10"]),
    ],
)
async def test_fibers_are_dropped_by_prefix(store, prefix, left):
    ids = ["0", "0.1", "0.10", "0.2", "0.\U0001f600", "00", "1", "10"]
    await store.commit([Write(executions=[execution()], fibers=[*map(fiber, ids)])])
    await store.commit([Write(executions=[execution("e2")], fibers=[fiber(of="e2")])])

    await store.commit([Write(dropped=[("e1", prefix)])])

    assert [row.fiber for row in (await store.load("e1")).fibers] == left
    assert (await store.load("e2")).fibers == [fiber(of="e2")]


async def test_fibers_are_dropped_after_those_of_the_same_commit_are_put(store):
    await store.commit([Write(dropped=[("e1", "0")]), Write(executions=[execution()],
                                                            fibers=[fiber("0"), fiber("1")])])  # fmt: skip

    assert (await store.load("e1")).fibers == [fiber("1")]


async def test_of_a_forgotten_execution_nothing_is_left_but_activations_and_what_they_refer_to(
    store,
):
    await store.commit(
        [
            Write(
                executions=[execution(), execution("e2")],
                fibers=[fiber(due_ms=1, active=True)],
                history=[("e1", 1, b"[]"), ("e2", 1, b"[]")],
                activations=[activation("e1")],
                values=[("e1", "k", b"v")],
            )
        ]
    )

    await store.commit([Write(forgotten=["e1", "never was"], history=[("e1", 2, b"[]")])])

    assert await store.load("e1") is None
    assert await store.history("e1", 0, 10) == []
    standing = await store.standing()
    assert (standing.active, standing.timers) == ([], [])
    assert await found(store) == ["e1"]
    assert await store.values("e1", ["k"]) == {"k": b"v"}
    assert await store.history("e2", 0, 10) == [(1, b"[]")]


async def test_what_stands_is_what_is_active_and_what_has_a_timer(store):
    await store.commit(
        [
            Write(
                fibers=[
                    fiber("0", "a", active=True),
                    fiber("1", "a", active=True, due_ms=30),
                    fiber("0", "b", due_ms=10),
                    fiber("1", "b", due_ms=0),
                    fiber("0", "c"),
                ]
            )
        ]
    )

    standing = await store.standing()

    assert standing.active == ["a"]
    assert sorted(standing.timers) == [(0, "b", "1"), (10, "b", "0"), (30, "a", "1")]


async def test_all_that_is_under_way_is_found_with_its_row(store):
    rows = [
        execution("a", body=b"{}"),
        execution("b", body=b'{"n":1}', namespace="other", status="paused"),
        execution("c", status="stuck"),
    ]
    ended = execution("d", status="succeeded", ended_ms=2000)
    await store.commit([Write(executions=[*rows, ended], fibers=[fiber("0", of) for of in "abc"])])

    assert sorted((await store.standing()).executions) == sorted(rows)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9])
async def test_what_is_under_way_is_read_in_pages_in_the_order_of_ids(store, limit):
    ids = [f"{n:032x}" for n in (1, 2, 3, 5, 8, 13, 21, 34)]
    rows = [execution(id, status="paused" if id.endswith("5") else "running") for id in ids]
    fibers = [
        fiber(f"0/1.{n}", id, active=n == 2, due_ms=n or None) for id in ids for n in range(4)
    ]
    ended = execution(f"{4:032x}", status="succeeded", ended_ms=2000)
    await store.commit([Write(executions=[*rows, ended], fibers=fibers)])
    pages, after = [], ""

    while after is not None:
        page = await store.standing(after, limit)
        pages.append(page)
        after = page.last

    assert all(len(page.executions) <= limit for page in pages)
    found = [sorted(row.id for row in page.executions) for page in pages]
    assert [id for page in found for id in page] == ids
    assert sorted(row for page in pages for row in page.executions) == rows
    for page, ids in zip(pages, found, strict=True):
        assert sorted(page.active) == ids
        assert sorted(page.timers) == sorted((n, id, f"0/1.{n}") for id in ids for n in (1, 2, 3))


async def test_executions_are_read_whole_by_their_ids(store):
    rows = [execution("e1", body=b'{"n":1}'), execution("e2", status="succeeded", ended_ms=9)]
    fibers = [fiber("0", body=b"\0"), fiber("0.1", active=True)]
    history = [("e1", 1, b"[1,2]"), ("e1", 3, b"[3]"), ("e3", 1, b"[]")]
    await store.commit([Write(executions=[*rows, execution("e3")], fibers=fibers, history=history)])

    standing = await store.standing(of=["e2", "e1", "never was"])

    assert (standing.active, standing.timers, standing.executions) == ([], [], [])
    assert sorted(standing.saved, key=lambda saved: saved.execution.id) == [
        Saved(rows[0], fibers, [(1, b"[1,2]"), (3, b"[3]")]),
        Saved(rows[1], [], []),
    ]
    assert (await store.standing(of=[])).saved == []


@pytest.mark.parametrize("count", [TAIL_LISTS, TAIL_LISTS + 1])
async def test_the_tail_of_a_history_is_its_newest_lists_and_bounded(store, count):
    lists = [("e1", number, b"[%d]" % number) for number in range(1, count + 1)]
    await store.commit([Write(executions=[execution()], fibers=[fiber()], history=lists)])

    (saved,) = (await store.standing(of=["e1"])).saved

    assert saved.tail == [(number, body) for _, number, body in lists][-TAIL_LISTS:]


# --- history -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "limit", "firsts"),
    [
        (0, 10, [1, 4, 5]),
        (1, 10, [1, 4, 5]),
        (2, 10, [1, 4, 5]),
        (3, 10, [4, 5]),
        (4, 10, [5]),
        (5, 10, [5]),
        (1 << 62, 10, [5]),
        (0, 2, [1, 4]),
        (3, 1, [4]),
        (0, 0, []),
    ],
)
async def test_history_is_paged_from_the_list_that_holds_the_next_entry(
    store, after, limit, firsts
):
    lists = [("e1", 1, b"[1,2,3]"), ("e1", 4, b"[4]"), ("e1", 5, b"[5,6]")]
    await store.commit([Write(history=[*lists, ("e2", 2, b"[2]")])])

    page = await store.history("e1", after, limit)

    assert page == [(first, body) for _, first, body in lists if first in firsts]


async def test_history_is_in_order_however_it_was_written(store):
    await store.commit([Write(history=[("e1", 3, b"[3]"), ("e1", 1, b"[1,2]")])])
    await store.commit([Write(history=[("e1", 2, b"[2]")])])

    assert [first for first, _ in await store.history("e1", 0, 10)] == [1, 2, 3]


# --- finding -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "order"), [(ActivationRow, ["d", "a", "b", "c"]), (ExecutionRow, ["d", "b", "a", "c"])]
)
async def test_the_newest_is_found_first(store, kind, order):
    """Of activations that began at once the one that ended last; of executions ids decide."""
    ages = {"b": 5, "a": 5, "c": 1, "d": 9}
    await store.commit(
        [Write(activations=[activation(i, started_ms=ms) for i, ms in ages.items()],
               executions=[execution(i, started_ms=ms) for i, ms in ages.items()])]
    )  # fmt: skip

    assert await found(store, kind) == order


async def test_an_activation_that_is_written_again_is_the_last(store):
    for id in ("a", "b", "a"):
        await store.commit([Write(activations=[activation(id)])])

    assert await found(store) == ["a", "b"]


@pytest.mark.parametrize("kind", [ExecutionRow, ActivationRow])
@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, ["4", "3", "2", "1"]),
        ({"id": "2"}, ["2"]),
        ({"id": "none"}, []),
        ({"id": ""}, []),
        ({"name": "odd"}, ["3", "1"]),
        ({"name": "odd", "id": "2"}, []),
        ({"since_ms": 2}, ["4", "3", "2"]),
        ({"upto_ms": 2}, ["2", "1"]),
        ({"since_ms": 2, "upto_ms": 3}, ["3", "2"]),
        ({"since_ms": 3, "upto_ms": 2}, []),
        ({"limit": 2}, ["4", "3"]),
        ({"limit": 0}, []),
        ({"skip": 1, "limit": 2}, ["3", "2"]),
        ({"skip": 3}, ["1"]),
        ({"skip": 4}, []),
        ({"name": "odd", "skip": 1}, ["1"]),
    ],
)
async def test_a_query_finds_what_fits(store, kind, query, ids):
    make, rows = (execution, "executions") if kind is ExecutionRow else (activation, "activations")
    names = ["even", "odd"]
    written = [make(str(n), name=names[n % 2], started_ms=n) for n in range(1, 5)]
    await store.commit([Write(**{rows: [*written, make("other", namespace="other")]})])

    assert await found(store, kind, **query) == ids


@pytest.mark.parametrize(
    ("kind", "query", "ids"),
    [
        (ExecutionRow, {"status": "done"}, ["2"]),
        (ExecutionRow, {"status": "running"}, ["1"]),
        (ExecutionRow, {"status": "none"}, []),
        (ActivationRow, {"status": 0, "upto_ms": 1000, "limit": 1}, ["0123456789ab4"]),
        (ActivationRow, {"status": 3}, ["2"]),
        (ActivationRow, {"status": 1}, []),
        (ActivationRow, {"cause": CAUSE}, ["0123456789ab3", "0123456789ab2"]),
        (ActivationRow, {"cause": CAUSE, "limit": 1, "skip": 1}, ["0123456789ab2"]),
        (ActivationRow, {"cause": CAUSE, "status": 0}, ["0123456789ab2"]),
        (ActivationRow, {"cause": CAUSE, "status": 1}, []),
        (ActivationRow, {"cause": CAUSE[:-1]}, []),
        (ActivationRow, {"cause": "none"}, []),
    ],
)
async def test_executions_and_activations_have_a_status_and_activations_a_cause(
    store, kind, query, ids
):
    await store.commit(
        [
            Write(
                executions=[execution("1"), execution("2", status="done")],
                activations=[
                    activation("1"),
                    activation("2", status=3),
                    activation("0123456789ab1"),
                    activation("0123456789ab2", cause=CAUSE),
                    activation("0123456789ab3", cause=CAUSE, status=2),
                    activation("0123456789ab4", cause="0123456789abother"),
                ],
            )
        ]
    )

    assert await found(store, kind, **query) == ids


async def test_a_count_is_of_all_pages(store):
    rows = [activation(str(n), name="ab"[n % 2]) for n in range(50)]
    await store.commit([Write(activations=rows, executions=[execution()])])

    async def count(kind=ActivationRow, **query):
        return await store.count(kind, Query(**{"namespace": "guest", **query}))

    assert await count() == 50
    assert await count(limit=5, skip=49) == 50
    assert await count(name="a") == 25
    assert await count(namespace="nobody") == 0
    assert await count(ExecutionRow) == 1


async def test_a_record_is_found_as_soon_as_its_commit_returns(store):
    """By id, in a list, by each filter and in the count; and so is the record that replaces it."""
    for n in range(12):
        id = timed(n // 3, f"r{n}")
        for status in (0, 2):
            row = activation(
                id, name=f"n{n % 2}", kind=f"k{n % 3}", started_ms=n, status=status, cause=timed(n // 3)
            )  # fmt: skip
            await store.commit(
                [Write(activations=[row], history=[("e1", 2 * n + status // 2, b"")])]
            )

            queries = ({}, {"id": id}, {"status": status}, {"name": row.name}, {"kind": row.kind},
                       {"cause": row.cause}, {"since_ms": n, "upto_ms": n})  # fmt: skip
            for fields in queries:
                query = Query(namespace="guest", **fields)
                assert (await store.find(ActivationRow, query))[0] == row
                assert await store.count(ActivationRow, query) >= 1
            assert await store.count(ActivationRow, Query(namespace=None)) == n + 1
            assert (await store.history("e1", 1 << 40, 1))[0][0] == 2 * n + status // 2


# --- every store is the one in memory ----------------------------------------------------------

ids = st.sampled_from(["e1", "e2", "e3"])
fiber_ids = st.sampled_from(["0", "0.1", "0.2", "00", "1", "\U0001f600", "0.\uffff", "é"])
keys = st.sampled_from(["a", "a/b", "a/\U0001f600", "b", ""])
bodies = st.binary(max_size=3)
times = st.integers(0, 5)
executions = st.builds(
    ExecutionRow, ids, st.sampled_from(["guest", "other"]), keys, st.sampled_from(["running", "done"]),
    times, st.none() | times, bodies,
)  # fmt: skip
fibers = st.builds(FiberRow, ids, fiber_ids, st.none() | times, st.booleans(), bodies)
activations = st.builds(
    ActivationRow, ids, st.sampled_from(["guest", "other"]), keys, times, st.integers(0, 3),
    st.none() | ids, bodies, st.sampled_from(["", "python:3", "\U0001f600"]),
)  # fmt: skip
some_documents = st.builds(
    Document, kind=st.sampled_from(["action", "program"]), key=keys, body=st.none() | bodies,
    expected=st.none() | st.integers(0, 3),
)  # fmt: skip
writes = st.builds(
    Write,
    executions=st.lists(executions, max_size=3),
    forgotten=st.lists(ids, max_size=1),
    fibers=st.lists(fibers, max_size=6),
    dropped=st.lists(st.tuples(ids, fiber_ids | st.just("")), max_size=2),
    history=st.lists(st.tuples(ids, st.integers(1, 4), bodies), max_size=3),
    activations=st.lists(activations, max_size=3),
    values=st.lists(st.tuples(ids, keys, bodies), max_size=2),
    documents=st.lists(some_documents, max_size=2),
)
batches = st.lists(st.lists(writes, max_size=3), max_size=5)


async def everything(store):
    """All that can be read of a store."""
    read = {}
    standing = await store.standing()
    read["standing"] = (sorted(standing.active), sorted(standing.timers))
    saved = (await store.standing(of=["e1", "e2", "e3", "x"])).saved
    read["saved"] = sorted(saved, key=lambda saved: saved.execution.id)
    for id in ("e1", "e2", "e3", "x"):
        read[id] = (
            await store.load(id),
            [await store.history(id, after, 2) for after in range(5)],
            await store.values(id, ["a", "a/b", "a/\U0001f600", "b", "", "k"]),
        )
    for kind in (ExecutionRow, ActivationRow):
        for query in QUERIES:
            read[kind, query] = (await store.find(kind, query), await store.count(kind, query))
    for query in RECORD_QUERIES:
        read[query] = [
            await store.find(ActivationRow, query), await store.count(ActivationRow, query)
        ]  # fmt: skip
    for prefix in ("", "a", "a/", "b"):
        read[prefix] = [await documents(store, kind, prefix) for kind in ("action", "program")]
    return read


QUERIES = [
    Query(namespace="guest"),
    Query(namespace="other", limit=1, skip=1),
    Query(namespace="guest", name="a"),
    Query(namespace="guest", id="e1", since_ms=2),
    Query(namespace="guest", upto_ms=3, since_ms=1),
    Query(namespace=None, skip=1, limit=2),
]
RECORD_QUERIES = [
    Query(namespace="guest", kind="python:3"),
    Query(namespace="guest", kind="python:3", name="a", skip=1),
    Query(namespace=None, status=2),
    Query(namespace="other", status=0, name="a"),
    Query(namespace=None, name="b", upto_ms=4),
    Query(namespace="guest", status=1),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_store_does_as_the_one_in_memory(name):
    @settings(max_examples=EXAMPLES[name])
    @given(batches=batches)
    @example(batches=[[Write(history=[("e1", 2, b"2"), ("e1", 1, b"1")])]])
    @example(
        batches=[[Write(fibers=[FiberRow("e1", "\U0001f600", 1, True, b"")], dropped=[("e1", "")])]]
    )
    def check(batches):
        with there(name), tempfile.TemporaryDirectory() as path:
            asyncio.run(compare(Path(path), batches))

    async def compare(path, batches):
        async with MemoryStore() as memory, STORES[name](path) as store:
            for batch in batches:
                assert await store.commit(batch) == await memory.commit(batch)
                assert await everything(store) == await everything(memory)
        async with STORES[name](path) as again:
            assert await everything(again) == await everything(memory)

    check()
