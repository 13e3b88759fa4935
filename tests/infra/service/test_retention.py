"""Old records are deleted in the background, without a pause while there are more of them."""

from __future__ import annotations

import asyncio

import pytest

from tests.contracts.test_store import activation, timed
from tests.kit.engine.batching import counts, create, furnished, started
from tests.kit.engine.cloudevents import event, kept, send
from tests.kit.engine.engines import world
from tests.kit.engine.mail import stored
from xingqiao.actions import ActivationRow, Query, Write
from xingqiao.infra.service import retention
from xingqiao.infra.service.retention import DAY_MS, Retention

QUERY = Query(namespace="guest", limit=1000)


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that were made; none of them ends."""
    made = []

    async def sleep(seconds):
        made.append(seconds)
        await (asyncio.Event().wait() if seconds else asyncio.wait([asyncio.Future()], timeout=0))

    monkeypatch.setattr(retention.asyncio, "sleep", sleep)
    return made


@pytest.mark.parametrize(("records", "commits"), [(3, 1), (4, 2), (9, 3)])
async def test_there_is_no_pause_while_there_are_more(pauses, monkeypatch, records, commits):
    monkeypatch.setattr(retention, "AT_ONCE", 4)
    async with world() as made:
        made.clock.ms = 2 * DAY_MS
        rows = [activation(timed(n), started_ms=n) for n in range(records)]
        await made.store.commit([Write(activations=[*rows, activation("new", started_ms=DAY_MS)])])

        async with Retention(made.engine, made.clock, 1):
            async with asyncio.timeout(20):
                while retention.PERIOD_S not in pauses:
                    await asyncio.wait([asyncio.Future()], timeout=0.001)

        assert pauses == [*[0] * (commits - 1), retention.PERIOD_S]
        assert [row.id for row in await made.store.find(ActivationRow, QUERY)] == ["new"]


async def test_records_are_kept_forever_after_zero_days(pauses):
    async with world() as made:
        made.clock.ms = 999 * DAY_MS
        await made.store.commit([Write(activations=[activation("old", started_ms=0)])])

        async with Retention(made.engine, made.clock, 0):
            await made.until(lambda: retention.PERIOD_S in pauses)

        assert [row.id for row in await made.store.find(ActivationRow, QUERY)] == ["old"]


@pytest.mark.parametrize("days", [0, 1, 30])
async def test_cloudevents_are_known_for_their_own_time(pauses, days):
    async with world() as made:
        horizon_ms = made.engine.events.horizon_ms
        [key] = await send(made, event())

        async def known(after_ms):
            made.clock.ms += after_ms
            pauses.clear()
            async with Retention(made.engine, made.clock, days):
                await made.until(lambda: retention.PERIOD_S in pauses)
            await made.settle()
            return key in "".join(await kept(made, "heard"))

        assert horizon_ms == 7 * DAY_MS
        assert await known(horizon_ms)
        assert not await known(1)


async def test_batches_are_kept_as_long_as_their_executions(pauses):
    made = await furnished()
    await started(made, "works", 2)
    batch = await create(made, "delete", "action = 'works'")
    assert await counts(made, batch) == (2, 0, 0, 0)
    await made.settle()

    async def swept():
        pauses.clear()
        async with Retention(made.engine, made.clock, 1):
            await made.until(lambda: retention.PERIOD_S in pauses)
        await made.settle()

    await swept()
    assert len(await stored(made, "batch")) == 2
    assert (await made.engine.batches.get("guest", batch))["done"] == 2
    made.clock.ms += 2 * DAY_MS
    await swept()
    assert await made.executions() == []
    await swept()
    assert await stored(made, "batch") == []
    await made.kill()
