"""The laws of filters of executions, for every store there is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.stores.contract import EXAMPLES, STORES, activation, execution, there, timed
from tests.kit.stores.filters import DECLARED, predicates, values
from xingqiao.actions import (
    ExecutionRow,
    Expiry,
    Filter,
    Indexed,
    Query,
    Write,
    indexed,
    parse,
)
from xingqiao.infra.stores import MemoryStore


def row(n, **fields):
    return execution(timed(1000 + n, f"x{n}"), started_ms=1000 + n, **fields)


def by(execution, **attributes):
    found = indexed(attributes, DECLARED)
    return Indexed(execution.id, execution.namespace, execution.started_ms, found)


async def ids(store, text, **query):
    asked = Query(namespace="guest", where=parse(text, DECLARED), **query)
    return [found.id for found in await store.find(ExecutionRow, asked)]


async def test_an_execution_is_found_by_its_attributes_as_soon_as_it_is_committed(store):
    rows = [row(n) for n in range(4)]
    await store.commit([Write(executions=rows, indexed=[by(rows[1], customer="anna")])])

    assert await ids(store, "customer = 'anna'") == [rows[1].id]
    assert await ids(store, "not customer = 'anna'") == [r.id for r in (rows[3], rows[2], rows[0])]
    assert await ids(store, "customer is null order by started asc", limit=2) == [
        rows[0].id, rows[2].id,
    ]  # fmt: skip
    assert await ids(store, "") == [r.id for r in rows[::-1]]


async def test_attributes_are_replaced_as_a_whole(store):
    one = row(1)
    await store.commit([Write(executions=[one], indexed=[by(one, customer="a", amount=3)])])
    await store.commit([Write(indexed=[by(one, amount=4)])])

    assert await ids(store, "amount = 4") == [one.id]
    assert await ids(store, "amount = 3 or customer = 'a'") == []


async def test_of_one_commit_the_last_attributes_stand(store):
    one = row(1)
    await store.commit(
        [Write(executions=[one], indexed=[by(one, amount=1)]), Write(indexed=[by(one, amount=2)])]
    )

    assert await ids(store, "amount in (1, 2) and not amount = 1") == [one.id]


async def test_an_execution_of_another_namespace_is_not_found(store):
    mine, other = row(1), row(2, namespace="other")
    await store.commit(
        [Write(executions=[mine, other], indexed=[by(mine, amount=1), by(other, amount=1)])]
    )

    assert await ids(store, "amount = 1") == [mine.id]


async def test_a_refused_write_leaves_no_attributes(store):
    from tests.kit.stores.contract import document

    one = row(1)
    assert await store.commit([Write(executions=[one])]) == []
    refused = Write(indexed=[by(one, amount=1)], documents=[document(expected=7)])

    assert await store.commit([refused]) == [0]
    assert await ids(store, "amount = 1") == []


async def test_attributes_go_with_a_forgotten_execution(store):
    one = row(1)
    await store.commit([Write(executions=[one], indexed=[by(one, amount=1)])])
    await store.commit([Write(forgotten=[one.id])])
    await store.commit([Write(executions=[one])])  # its rows alone

    assert await ids(store, "amount = 1") == []
    assert await ids(store, "amount is null") == [one.id]


async def test_attributes_go_when_their_execution_expires(store):
    one = row(1, status="succeeded", ended_ms=1002)
    record = activation(one.id, started_ms=1001)
    await store.commit([Write(executions=[one], indexed=[by(one, amount=1)], activations=[record])])
    for _ in range(2):
        await store.commit([Write(expired=Expiry(before_ms=9000, count=10, now_ms=9000))])
    assert await store.load(one.id) is None
    await store.commit([Write(executions=[one])])

    assert await ids(store, "amount is null") == [one.id]


@pytest.mark.parametrize("order", ["started asc", "started desc", "ended asc", "ended desc"])
async def test_pages_by_a_place_are_stable_while_executions_begin(store, order):
    rows = [row(n, ended_ms=2000 - n // 2 if n % 3 else None) for n in range(11)]
    await store.commit([Write(executions=rows, indexed=[by(r, amount=1) for r in rows])])
    where = parse(f"amount = 1 order by {order}", DECLARED)
    expected = await ids(store, f"amount = 1 order by {order}", limit=50)
    assert sorted(expected) == [r.id for r in rows]

    seen, after = [], None
    while True:
        asked = Query(namespace="guest", where=where, after=after, limit=3)
        page = await store.find(ExecutionRow, asked)
        seen += [found.id for found in page]
        if len(page) < 3:
            break
        last = page[-1]
        after = where.place(last.started_ms, last.ended_ms, last.id)
        newer = row(90 + len(seen), status="succeeded", ended_ms=9000 + len(seen))
        await store.commit([Write(executions=[newer])])  # not found by the filter

    assert seen == expected


async def test_names_and_times_of_a_query_hold_beside_its_filter(store):
    rows = [row(n, name="a" if n % 2 else "b", status="failed") for n in range(6)]
    await store.commit([Write(executions=rows, indexed=[by(r, amount=1) for r in rows])])

    assert await ids(store, "amount = 1", name="a", since_ms=1002) == [rows[5].id, rows[3].id]
    assert await ids(store, "amount = 1", skip=1, limit=2, upto_ms=1003) == [
        rows[2].id, rows[1].id,
    ]  # fmt: skip
    asked = Query(namespace="guest", status="failed", where=parse("amount = 1", DECLARED), limit=1)
    assert await store.count(ExecutionRow, asked) == 6


@pytest.mark.parametrize(("kind", "few"), [("sqlite", 0), ("sqlite", 5000), ("dynamodb", 0)])
def test_every_store_finds_what_the_rule_says(kind, few, monkeypatch):
    """The stores differ in how they find; the predicate's own evaluation, the memory's, is the rule."""
    import anyio

    monkeypatch.setattr("xingqiao.infra.stores.filtering.FEW", few)

    @settings(max_examples=EXAMPLES.get(kind, 20), deadline=None)
    @given(
        st.lists(st.tuples(values, st.sampled_from(["running", "failed", "succeeded"]), st.booleans()), max_size=8),
        st.lists(st.builds(Filter, predicates, st.sampled_from(["started", "ended"]), st.booleans()), min_size=1, max_size=4),
        st.integers(1, 4),
    )  # fmt: skip
    def law(given_rows, filters, limit):
        anyio.run(compare, given_rows, filters, limit)

    async def compare(given_rows, filters, limit):
        rows = [
            row(n, status=status, name=f"n{n % 2}", ended_ms=1005 + n % 3 if ended else None)
            for n, (_, status, ended) in enumerate(given_rows)
        ]
        found = [
            by(r, **attributes) for r, (attributes, _, _) in zip(rows, given_rows, strict=True)
        ]
        write = Write(executions=rows, indexed=[each for each in found if each.values])
        with there(kind), tempfile.TemporaryDirectory() as folder:
            async with STORES[kind](Path(folder) / "data") as store, MemoryStore() as rule:
                for each in (store, rule):
                    await each.commit([write])
                for where in filters:
                    after = None
                    for _ in range(3):
                        asked = Query(namespace="guest", where=where, limit=limit, after=after)
                        page = await rule.find(ExecutionRow, asked)
                        assert await store.find(ExecutionRow, asked) == page
                        assert await store.count(ExecutionRow, asked) == await rule.count(
                            ExecutionRow, asked
                        )
                        if not page:
                            break
                        last = page[-1]
                        after = where.place(last.started_ms, last.ended_ms, last.id)

    law()
