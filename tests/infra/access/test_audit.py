"""The audit log: its order, its pages, and its bounds."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import StandingClock
from xingqiao.actions import UnavailableError
from xingqiao.infra.access.audit import (
    DAY_MS,
    HOUR_MS,
    KIND,
    MINUTE_MS,
    REFUSALS,
    SCANNED,
    AuditLog,
    Entry,
    outcome_of_status,
)
from xingqiao.infra.stores import MemoryStore


class World:
    """An audit log on a store in memory."""

    def __init__(self, *, days=90, records=1000):
        self.store, self.clock = MemoryStore(), StandingClock()
        self._bounds = days, records
        self.log = AuditLog(self.store, self.clock, *self._bounds)

    async def restart(self):
        self.log = AuditLog(self.store, self.clock, *self._bounds)
        await self.log.load()

    async def add(self, resource="actions/a", **fields):
        entry = {
            "at_ms": self.clock.now_ms(), "namespace": "guest", "by": "guest/admin", "key_id": "id",
            "verb": "put", "resource": resource, "outcome": "done", "status": 200, "request": "r",
            "address": "127.0.0.1", **fields,
        }  # fmt: skip
        await self.log.add(Entry(**entry))

    async def resources(self, namespace=None, *, limit=1000, **query):
        entries, _ = await self.log.page(namespace, limit=limit, **query)
        return [entry["resource"] for entry in entries]

    async def stored(self):
        return len([document async for document in self.store.documents(KIND)])


@pytest.fixture
async def world():
    made = World()
    await made.log.load()
    return made


async def test_the_newest_entry_comes_first_and_is_whole(world):
    await world.add("a")
    await world.add("b", outcome="refused", status=403)

    entries, following = await world.log.page(None, limit=30)

    assert following is None
    assert entries[0] == {
        "number": 2, "at": world.clock.now_ms(), "namespace": "guest", "key": "guest/admin",
        "keyId": "id", "verb": "put", "resource": "b", "outcome": "refused", "status": 403,
        "request": "r", "address": "127.0.0.1",
    }  # fmt: skip
    assert entries[1]["resource"] == "a"


async def test_a_page_goes_on_where_the_one_before_ended(world):
    for number in range(5):
        await world.add(str(number))

    first, before = await world.log.page(None, limit=2)
    second, before_second = await world.log.page(None, before=before, limit=2)
    third, end = await world.log.page(None, before=before_second, limit=2)

    assert [[e["resource"] for e in page] for page in (first, second, third)] == [
        ["4", "3"], ["2", "1"], ["0"],
    ]  # fmt: skip
    assert end is None


async def test_a_namespace_sees_its_own_entries(world):
    await world.add("a")
    await world.add("b", namespace="other")

    assert await world.resources("guest") == ["a"]
    assert await world.resources("other") == ["b"]
    assert await world.resources() == ["b", "a"]


async def test_one_page_reads_a_bounded_number_of_entries():
    world = World(records=2 * SCANNED)
    await world.add("old", namespace="other")
    for _ in range(SCANNED):
        await world.add("new")

    page, before = await world.log.page("other", limit=5)
    assert (page, before) == ([], 2)
    page, before = await world.log.page("other", before=before, limit=5)
    assert ([entry["resource"] for entry in page], before) == (["old"], None)


async def test_since_leaves_out_what_is_older(world):
    await world.add("a")
    world.clock.ms += 1
    await world.add("b")

    assert await world.resources(since_ms=world.clock.ms) == ["b"]
    assert await world.resources(since_ms=world.clock.ms - 1) == ["b", "a"]


@pytest.mark.parametrize(("added", "oldest"), [(100, 0), (101, 1), (250, 150)])
async def test_the_log_is_never_longer_than_its_bound(added, oldest):
    world = World(records=100)
    await world.log.load()

    for number in range(added):
        await world.add(str(number))

    assert await world.stored() == 100
    assert (await world.resources())[-1] == str(oldest)


async def test_numbers_go_on_after_a_restart(world):
    await world.add("a")
    await world.restart()
    await world.add("b")

    entries, _ = await world.log.page(None, limit=5)
    assert [(entry["number"], entry["resource"]) for entry in entries] == [(2, "b"), (1, "a")]


async def test_a_lower_bound_holds_from_the_next_start_on(world):
    for number in range(150):
        await world.add(str(number))
    world._bounds = 90, 100
    await world.restart()

    assert await world.stored() == 100
    assert (await world.resources())[-1] == "50"


async def test_entries_end_after_so_many_days():
    world = World(days=2)
    await world.log.load()
    await world.add("old")
    world.clock.ms += DAY_MS
    await world.add("middle")

    world.clock.ms += DAY_MS
    assert await world.resources() == ["middle", "old"]
    world.clock.ms += 1
    assert await world.resources() == ["middle"]
    await world.restart()
    assert await world.stored() == 1


async def test_old_entries_are_deleted_while_new_ones_come():
    world = World(days=1)
    await world.log.load()
    for _ in range(3):
        await world.add("old")
    world.clock.ms += DAY_MS + HOUR_MS
    await world.add("new")

    assert await world.stored() == 1


async def test_without_days_entries_stay(world):
    world._bounds = 0, 1000
    await world.restart()
    await world.add("old")
    world.clock.ms += 10_000 * DAY_MS
    await world.restart()

    assert await world.resources() == ["old"]


async def test_refusals_of_one_key_are_bounded_so_that_they_displace_nothing(world):
    for _ in range(REFUSALS + 5):
        await world.add("refused", outcome="refused", by="guest/ci")
    await world.add("refused", outcome="refused", by="guest/other")
    await world.add("done", by="guest/ci")

    assert await world.stored() == REFUSALS + 2
    assert world.log.unkept == 5
    world.clock.ms += MINUTE_MS
    await world.add("refused", outcome="refused", by="guest/ci")
    assert await world.stored() == REFUSALS + 3


async def test_an_entry_that_cannot_be_stored_is_logged(world, caplog):
    async def commit(_):
        raise UnavailableError("the disk is full")

    world.store.commit = commit
    await world.add("actions/lost")

    assert world.log.unkept == 1
    assert "the audit log cannot be written (the disk is full)" in caplog.text
    assert "actions/lost" in caplog.text


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, "done"),
        (202, "done"),
        (399, "done"),
        (400, "refused"),
        (499, "refused"),
        (500, "failed"),
    ],
)
def test_the_outcome_follows_from_the_status(status, outcome):
    assert outcome_of_status(status) == outcome
