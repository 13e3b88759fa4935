"""A store that does not commit: who is told what and when, and what is left of what was asked for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import ENTITY, GUEST, HELD, begun
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.full_disks import QUICK, full, room
from xingqiao import composer
from xingqiao.actions import (
    Action,
    ActivationRow,
    Document,
    InDoubtError,
    Query,
    UnavailableError,
)
from xingqiao.actions import Trigger as TriggerKind
from xingqiao.composer import Name, Success
from xingqiao.infra.engine import EngineSettings, tick
from xingqiao.infra.engine.tick import Tick
from xingqiao.infra.stores import MemoryStore


async def test_a_call_is_refused_and_nothing_of_it_is_left():
    world, store, _ = await full(main=composer.sequence("a", "a"))

    with pytest.raises(UnavailableError, match="Nothing of this call is kept"):
        await world.start("main")
    assert not world.engine.healthy
    with pytest.raises(UnavailableError):
        await world.start("a")
    assert world.engine.gauges()["executions_in_memory"] == 0
    assert world.engine.gauges()["calls_refused_by_store"] == 2
    assert world.engine.counters.withdrawn == 1

    await room(world, store)
    await world.settle()
    assert world.hands.invoked == []
    assert await world.executions() == []
    assert await world.run("main") == {"n": 1}
    await world.kill()


async def test_what_hangs_is_in_doubt_too():
    quick = EngineSettings(pacing=replace(QUICK, commit_grace_s=0))
    kept, hanging = MemoryStore(), asyncio.Event()

    class Hangs(FaultyStore):
        async def commit(self, writes):
            if self.armed:
                await hanging.wait()
            return await super().commit(writes)

    store = Hangs(kept, 0, times=0)
    world = await begun(store, {"a": {"n": 1}}, settings=quick)
    await world.put(a=None)
    store.armed = True

    with pytest.raises(InDoubtError) as raised:
        await world.start("a")
    with pytest.raises(UnavailableError):
        await world.start("a")

    hanging.set()
    assert await world.result(raised.value.activation) == {"n": 1}
    await world.kill()


async def test_a_definition_is_refused_and_not_there():
    world, store, _ = await full()

    for _ in range(2):
        with pytest.raises(UnavailableError):
            await world.put(late=None)
    assert world.engine.catalog.find(Action, Name(GUEST, None, "late")) is None

    await room(world, store)
    await world.put(late=None)
    assert world.engine.catalog.find(Action, Name(GUEST, None, "late")) is not None
    await world.kill()


async def test_a_trigger_that_cannot_be_written_down_has_not_fired():
    world, store, kept = await full()
    store.armed = False
    await world.engine.registry.put(TriggerKind, Name(GUEST, None, "t"), {}, overwrite=False)
    store.armed = True
    document = Document(kind="x", key="k", body=b"{}")

    with pytest.raises(UnavailableError):
        await world.engine.firing.fire(Name(GUEST, None, "t"), {}, [document])

    await room(world, store)
    await world.settle()
    assert [each async for each in kept.documents("x")] == []
    await world.kill()


async def test_a_step_that_ends_meanwhile_is_kept_until_there_is_room():
    world, store, _ = await full({"a": HELD, "b": {"n": 2}}, b=None)
    store.armed = False
    await world.put(main=composer.sequence("a", "b"))
    id = await world.start("main")
    await world.until(lambda: world.hands.done)
    store.armed = True
    world.hands.finish(next(iter(world.hands.done)), Success({"n": 1}).value)
    await world.until(lambda: not world.engine.healthy)

    with pytest.raises(UnavailableError):
        await world.engine.cancel(GUEST, id)
    assert world.hands.names == ["a"]  # nothing goes on that is not durable

    await room(world, store)
    assert await world.result(id) == {"n": 2}
    assert world.hands.names == ["a", "b"]
    await world.kill()


async def test_a_change_of_what_runs_is_in_doubt_and_takes_effect_later():
    world, store, kept = await full({"a": HELD})
    store.armed = False
    id = await world.start("a")
    await world.until(lambda: world.hands.done)
    store.armed = True

    with pytest.raises(InDoubtError, match="takes effect when the store works again"):
        await world.engine.cancel(GUEST, id, terminate=True)

    await room(world, store)
    await world.settle()
    (row,) = await kept.find(ActivationRow, Query(namespace=GUEST, id=id))
    assert row.status != 0
    await world.kill()


async def test_an_entity_that_has_changed_stays_changed():
    """Its state in memory is ahead of the store: it cannot be withdrawn with the call that changed it."""
    answers = {"count": lambda message: {"state": (message["state"] or 0) + 1, "result": {}}}
    world, store, _ = await full(answers, count=ENTITY)
    store.armed = False
    add = composer.call("count", "k", "add", {})
    await world.put(main=composer.sequence(add))
    await world.run("main")
    store.armed = True

    try:
        id = await world.start("main")
    except InDoubtError as error:
        id = error.activation
    except UnavailableError:
        id = None
    await room(world, store)
    if id is not None:
        await world.record(id)
    store.armed = False
    await world.run("main")

    entity = await world.engine.records.entity(f"/{GUEST}/count", "k")
    assert entity["state"] == 2 + (id is not None)
    await world.kill()


async def test_a_server_that_stops_keeps_nobody_waiting():
    world, _, _ = await full(pacing=replace(QUICK, commit_deadline_s=60))
    calling = asyncio.ensure_future(world.start("a"))
    await world.until(lambda: world.engine._tick._failing)

    await world.engine.drain(0)

    with pytest.raises(UnavailableError):
        await calling
    await world.kill()


async def test_what_goes_wrong_is_logged_once_with_its_cause(caplog):
    world, store, _ = await full()
    with pytest.raises(UnavailableError):
        await world.start("a")
    for _ in range(20):
        with pytest.raises(UnavailableError):
            await world.start("a")
    await room(world, store)

    levels = [record.levelname for record in caplog.records]
    assert levels == ["ERROR", "ERROR", "WARNING"]
    assert "the disk is full" in caplog.records[0].message
    assert "commits again" in caplog.records[-1].message
    assert "Traceback" not in caplog.text
    await world.kill()


async def test_what_was_put_off_is_forgotten_when_the_engine_stops(caplog):
    ticking, done = Tick(MemoryStore(), StandingClock(), lambda runs: None, QUICK), []
    ending = asyncio.get_running_loop().create_future()

    def last():
        done.append("last")
        ending.set_result(asyncio.ensure_future(ticking.end()))

    for _ in range(tick.AT_ONCE - 1):
        ticking.later("guest", lambda: done.append("one"))
    ticking.later("guest", last)
    ticking.later("guest", lambda: done.append("too late"))
    running = asyncio.ensure_future(ticking.run())
    await (await ending)
    running.cancel()

    assert done[-2:] == ["one", "last"]
    assert caplog.records == []


@pytest.mark.parametrize("alone", [True, False])
async def test_a_block_that_raises_is_committed_only_if_an_entity_has_changed_with_it(alone):
    store, withdrawn = MemoryStore(), []
    ticking = Tick(store, StandingClock(), withdrawn.append, QUICK)
    running = asyncio.ensure_future(ticking.run())

    with pytest.raises(ZeroDivisionError), ticking.apart() as unit:  # noqa: PT012  it gathers, then raises
        unit.write.documents.append(Document(kind="x", key="k", body=b"{}"))
        unit.alone = alone
        raise ZeroDivisionError
    await ticking.committed()
    running.cancel()

    assert len([each async for each in store.documents("x")]) == int(not alone)
    assert withdrawn == ([[]] if alone else [])
