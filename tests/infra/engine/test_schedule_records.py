"""Schedules in the store: read at the start, changed by one engine at a time, described to their users."""

from __future__ import annotations

import orjson
import pytest

from tests.kit.engine.engines import GUEST, begun, world
from tests.kit.engine.scheduling import EACH_MINUTE, MINUTE, QUICK, described, ended, furnished
from xingqiao.actions import ConflictError, Document, NotFoundError, Write
from xingqiao.infra.stores import MemoryStore


async def test_two_engines_over_one_store_meet_a_time_once():
    store = MemoryStore()
    one = await furnished(store)
    other = await begun(store, one.hands.answers, clock=one.clock, settings=QUICK)
    one.clock.ms += MINUTE
    for each in (one, other):
        await each.until(lambda each=each: described(each)["next"][0] > each.clock.ms)
    await one.until(lambda: one.hands.invoked or other.hands.invoked)
    await one.settle()
    await other.settle()

    assert len(one.hands.invoked) + len(other.hands.invoked) == 1
    assert len(await one.activations()) == 1
    await one.kill()
    await other.kill()


async def test_a_schedule_that_cannot_be_read_is_left_alone(caplog):
    store = MemoryStore()
    made = await furnished(store)
    await made.kill()
    odd = [
        Document(kind="scheduled", key="/guest/odd", body=b'{"spec": {}, "do": {}}'),
        Document(kind="scheduled-state", key="/guest/odd", body=b"{}"),
        Document(kind="scheduled", key="/guest/half", body=b"{}"),
    ]
    await store.commit([Write(documents=odd)])
    async with world(store, made.hands.answers, clock=made.clock) as later:
        assert later.engine.schedules.names(GUEST) == ["s"]
    assert "/guest/odd cannot be read: the field 'spec' names no time" in caplog.text
    assert "/guest/half cannot be read: its state is missing" in caplog.text


async def test_what_another_engine_has_changed_or_deleted_is_read_again():
    store = MemoryStore()
    one = await furnished(store)
    other = await begun(store, one.hands.answers, clock=one.clock, settings=QUICK)
    await one.engine.schedules.pause(GUEST, "s")
    with pytest.raises(ConflictError):
        await other.engine.schedules.trigger(GUEST, "s")
    assert described(other)["status"] == "paused"
    await other.engine.schedules.resume(GUEST, "s")
    with pytest.raises(ConflictError):
        await one.engine.schedules.remove(GUEST, "s")
    await one.engine.schedules.remove(GUEST, "s")
    with pytest.raises(ConflictError):
        await other.engine.schedules.pause(GUEST, "s")
    with pytest.raises(NotFoundError):
        await other.engine.schedules.pause(GUEST, "s")
    await one.engine.schedules.put(GUEST, "s", EACH_MINUTE)
    with pytest.raises(ConflictError, match="already exists"):
        await other.engine.schedules.put(GUEST, "s", EACH_MINUTE)
    await one.kill()
    await other.kill()


async def test_a_description_has_the_next_ten_times_and_the_last_ten_runs():
    made = await furnished(limit=15)
    for _ in range(12):
        made.clock.ms += MINUTE
        await made.until(lambda: described(made)["next"][0] > made.clock.ms)
        await made.until(lambda: described(made)["open"] == 0)
    shown = described(made)
    first = made.clock.ms // MINUTE * MINUTE

    assert shown["next"] == [first + MINUTE, first + 2 * MINUTE, first + 3 * MINUTE]
    assert [run["at"] for run in shown["last"]] == [first - n * MINUTE for n in range(9, -1, -1)]
    assert (shown["left"], shown["document"]) == (3, {**EACH_MINUTE, "limit": 15})
    paused = await made.engine.schedules.pause(GUEST, "s")
    made.clock.ms += 10 * MINUTE
    assert described(made)["next"][0] == first + 11 * MINUTE
    assert paused["status"] == "paused"
    await made.kill()


async def test_each_fire_writes_the_state_and_not_the_definition():
    made = await furnished()
    before = [document async for document in made.store.documents("scheduled")]
    made.clock.ms += MINUTE
    await ended(made, 1)
    after = [document async for document in made.store.documents("scheduled")]
    (state,) = [document async for document in made.store.documents("scheduled-state")]

    assert before == after
    assert (state.version, orjson.loads(state.body)["result"]) == (3, {"fine": True})
    await made.kill()
