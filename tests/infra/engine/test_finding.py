"""Executions are found a page at a time, and counted by status."""

from __future__ import annotations

import base64

import orjson
import pytest

from tests.kit.stores.contract import execution, timed
from xingqiao.actions import Indexed, InvalidError, InvalidFilterError, Query, Write
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.engine.finding import Finding
from xingqiao.infra.stores import MemoryStore

GUEST = Query(namespace="guest", limit=2)


class Rows:
    """The records of a store, as places only."""

    def __init__(self, store):
        self._store = store

    async def executions(self, query):
        from xingqiao.actions import ExecutionRow

        rows = await self._store.find(ExecutionRow, query)
        return [
            {"executionId": row.id, "start": row.started_ms}
            | ({} if row.ended_ms is None else {"end": row.ended_ms})
            for row in rows
        ]


class Parts:
    def __init__(self, store):
        self.store, self.clock = store, SystemClock()
        self.attributes = {"guest": {"amount": "number"}}


@pytest.fixture
async def finding():
    store = MemoryStore()
    statuses = ["succeeded", "failed", "running", "failed", "succeeded"]
    write = Write()
    for n, status in enumerate(statuses):
        ended = None if status == "running" else 2000 - n
        row = execution(timed(n, f"{n}"), status=status, started_ms=n, ended_ms=ended)
        write.executions.append(row)
        write.indexed.append(Indexed(row.id, "guest", n, (("number amount", n),)))
    await store.commit([write])
    return Finding(Parts(store), Rows(store))


async def numbers(finding, where):
    """The starts of all executions, page by page."""
    seen, after = [], None
    while True:
        page = await finding.page(GUEST, where, after)
        seen += [doc["start"] for doc in page.executions]
        if page.next is None:
            return seen
        after = page.next


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("", [4, 3, 2, 1, 0]),
        ("amount > 0 order by started asc", [1, 2, 3, 4]),
        ("order by ended", [2, 0, 1, 3, 4]),
        ("order by ended asc", [4, 3, 1, 0, 2]),
        ("amount > 9", []),
    ],
)
async def test_pages_have_each_execution_once_and_in_order(finding, where, expected):
    assert await numbers(finding, where) == expected


async def test_a_count_by_status_leaves_out_what_there_is_none_of(finding):
    assert await finding.count(GUEST, "") == {"count": 5}
    assert await finding.count(GUEST, "amount < 4", "status") == {
        "count": 4, "groups": {"running": 1, "succeeded": 1, "failed": 2},
    }  # fmt: skip
    with pytest.raises(InvalidError, match="'group' must be status, not 'action'"):
        await finding.count(GUEST, "", "action")


async def test_an_attribute_is_of_its_namespace(finding):
    with pytest.raises(InvalidFilterError, match="no attribute 'amount'; there is none"):
        await finding.page(Query(namespace="other"), "amount = 1")


async def test_a_cursor_of_another_order_is_refused(finding):
    page = await finding.page(GUEST, "")
    with pytest.raises(InvalidError, match="of a list in another order"):
        await finding.page(GUEST, "order by started asc", page.next)
    far = base64.urlsafe_b64encode(orjson.dumps(["started", False, 1 << 63, "x"])).decode()
    with pytest.raises(InvalidError, match="is not a cursor"):
        await finding.page(GUEST, "", far)
    with pytest.raises(InvalidError, match="is not a cursor"):
        await finding.page(GUEST, "", "nonsense")
