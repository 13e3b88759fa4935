"""Lists of a SQLite store: whatever is asked for, an index finds it."""

from __future__ import annotations

import sqlite3

import pytest

from tests.kit.stores.contract import activation, execution
from xingqiao.actions import ActivationRow, ExecutionRow, Query, Write
from xingqiao.infra.stores import SqliteStore
from xingqiao.infra.stores.listing import activations, count, history
from xingqiao.infra.stores.tail import Lists

QUERIES = [
    Query(namespace="guest"),
    Query(namespace=None),
    Query(namespace="guest", status=2),
    Query(namespace="guest", status=0),
    Query(namespace=None, status=2),
    Query(namespace="guest", name="rare"),
    Query(namespace=None, name="rare", kind="trigger"),
    Query(namespace="guest", kind="trigger"),
    Query(namespace="guest", kind="trigger", status=2, since_ms=5, upto_ms=9),
    Query(namespace="guest", id="a7"),
    Query(namespace="guest", cause="e1"),
    Query(namespace=None, cause="e1", skip=1, limit=2),
    Query(namespace="guest", since_ms=5, upto_ms=9, skip=1, limit=2),
]
NAMES, KINDS = ["rare", "often", "often", "often"], ["trigger", "python:3", "python:3"]


def row(n):
    return activation(
        f"{'e1' if n % 5 == 0 else 'a'}{n}", namespace=["guest", "guest", "other"][n % 3],
        name=NAMES[n % 4], kind=KINDS[n * 7 % 3], started_ms=n // 2, status=2 if n == 11 else 0,
        cause="e1" if n % 5 == 0 else None, body=b"%d" % n,
    )  # fmt: skip


ROWS = [row(n) for n in range(40)]


def expected(query, rows=ROWS):
    found = [
        row for row in reversed(rows)
        if query.namespace in (None, row.namespace) and query.status in (None, row.status)
        and query.name in (None, row.name) and query.kind in (None, row.kind)
        and query.id in (None, row.id) and query.cause in (None, row.cause)
        and (query.since_ms or 0) <= row.started_ms <= (query.upto_ms or 1000)
    ]  # fmt: skip
    found.sort(key=lambda row: -row.started_ms)
    return found


@pytest.fixture
async def db(tmp_path):
    async with SqliteStore(tmp_path) as store:
        for each in ROWS:
            await store.commit([Write(activations=[each])])
        await store.commit([Write(history=[("e1", n, b"%d" % n) for n in (1, 4, 6)])])
        await store._records.filled(store._counted.number)
        yield store._records._reader


@pytest.mark.parametrize("query", QUERIES, ids=str)
async def test_a_list_has_what_matches_in_order(db, query):
    wanted = expected(query)

    found = activations(db, query, [], 0)

    assert found == wanted[query.skip :][: query.limit]
    assert count(db, query, [], 0) == len(wanted)


@pytest.mark.parametrize("query", QUERIES, ids=str)
async def test_no_list_is_sorted_or_scanned(db, query):
    """All rows of the plan that read places search by an index, and none sorts them."""
    statements = []
    db.set_trace_callback(statements.append)
    activations(db, query, [], 0)
    count(db, query, [], 0)
    db.set_trace_callback(None)

    lanes = [text for text in statements if "activation_places" in text]
    assert lanes
    for text in lanes:
        plan = [step[3] for step in db.execute(f"EXPLAIN QUERY PLAN {text}")]
        assert not [step for step in plan if step.startswith("SCAN p")], plan
        if query.cause is None and query.id is None:
            assert not [step for step in plan if "TEMP B-TREE" in step], plan


@pytest.mark.parametrize("namespace", ["guest", None])
@pytest.mark.parametrize("status", ["running", "succeeded", "none"])
async def test_executions_of_a_rare_status_are_found_by_an_index(tmp_path, namespace, status):
    async with SqliteStore(tmp_path) as store:
        rows = [
            execution(f"e{n}", started_ms=n // 2, status="succeeded" if n % 7 else "running")
            for n in range(30)
        ]
        await store.commit([Write(executions=rows)])
        query = Query(namespace=namespace, status=status, limit=3)
        statements = []
        store._records._reader.set_trace_callback(statements.append)

        found = await store.find(ExecutionRow, query)
        total = await store.count(ExecutionRow, query)

        wanted = [row for row in rows if row.status == status]
        wanted.sort(key=lambda row: (row.started_ms, row.id), reverse=True)
        assert (found, total) == (wanted[:3], len(wanted))
        plans = [
            store._records._reader.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()[0][3]
            for text in statements
            if text.startswith("SELECT")
        ]
        assert all("executions_by_status" in plan for plan in plans) is (status != "succeeded")


async def test_what_expired_and_what_the_tail_has_is_left_out(db):
    query = Query(namespace="guest", limit=100)
    newer = ROWS[3]._replace(status=3, body=b"newer")
    moved = next(row for row in ROWS if row.id == "a12")._replace(namespace="other")
    rows = [row for row in ROWS[10:] if row.id != "a12"]

    found = activations(db, query, [newer, moved], 11)  # the first row has number 2

    wanted = [newer, *expected(query, rows)]
    assert found == sorted(wanted, key=lambda row: -row.started_ms)
    assert count(db, query, [newer, moved], 11) == len(found)


async def test_of_rows_that_began_at_once_those_of_the_tail_are_first(db):
    newer = [activation("new", started_ms=19)]

    found = activations(db, Query(namespace="guest", limit=2), newer, 0)

    assert [row.id for row in found] == ["new", ROWS[39].id]


async def test_a_history_merges_its_lists(db):
    newer = Lists({4: b"newer", 7: b"7"}, forgotten=False)

    assert history(db, "e1", newer, (0, 10), 0) == [(1, b"1"), (4, b"newer"), (6, b"6"), (7, b"7")]
    assert history(db, "e1", newer, (5, 2), 0) == [(6, b"6"), (7, b"7")]
    assert history(db, "e1", newer, (2, 1), 0) == [(1, b"1")]
    assert history(db, "e1", Lists({}, forgotten=True), (0, 10), 0) == []
    assert history(db, "e1", Lists({}, forgotten=False), (0, 10), 42) == []
    assert history(db, "e1", newer, (0, 0), 0) == []


async def test_a_list_of_nothing_reads_no_body(db):
    assert activations(db, Query(namespace="guest", limit=0), [], 0) == []
    assert activations(db, Query(namespace="nobody"), [], 0) == []
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM labels")
    assert isinstance(activations(db, QUERIES[0], [], 0)[0], ActivationRow)
