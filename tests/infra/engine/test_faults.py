"""A store that refuses at any commit, or any read, and then works: nothing fails, is lost, or is done twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import anyio.lowlevel
import pytest

from tests.infra.engine.test_crashes import ANSWERS, COMPOSITIONS, calm, deploy, plain
from tests.kit.engine.engines import begun
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.infra_clock import FastClock
from xingqiao.actions import ActivationRow, InDoubtError, Query, UnavailableError
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore

ITEMS = {"items": [1, 2, 3]}


QUICK = Pacing(commit_retry_s=0, recovery_retry_s=0, entity_retry_s=0)
REFUSING = replace(QUICK, commit_deadline_s=0)


async def result(world, kept, id):
    """What came of an execution, however often the store cannot be read meanwhile."""
    world.store = kept
    async with asyncio.timeout(20):
        while True:
            try:
                return plain(await world.result(id))
            except UnavailableError:
                await anyio.lowlevel.checkpoint()


def once(world):
    """That no step was sent twice."""
    sent = [call.activation for call in world.hands.invoked if call.action.entity is None]
    assert len(sent) == len(set(sent))


@pytest.mark.parametrize("does", ["refuses", "doubts"])
@pytest.mark.parametrize("name", COMPOSITIONS)
async def test_whatever_commit_is_refused_for_a_moment(name, does):
    part, expected, at = COMPOSITIONS[name], await calm(COMPOSITIONS[name]), 0
    while True:
        kept = MemoryStore()
        store = FaultyStore(kept, at, times=2, does=does)
        world = await begun(
            store, ANSWERS, clock=FastClock(), settings=EngineSettings(pacing=QUICK)
        )
        await deploy(world, part)
        store.armed = True
        id = await world.start("main", ITEMS)
        assert await result(world, kept, id) == expected
        await world.settle()
        once(world)
        assert world.engine.healthy
        await world.kill()
        if not store.failed:
            break
        at += 1
    assert at >= 2


@pytest.mark.parametrize("does", ["refuses", "doubts"])
@pytest.mark.parametrize("name", COMPOSITIONS)
async def test_whatever_commit_is_refused_until_callers_hear_of_it(name, does):
    part, expected, at = COMPOSITIONS[name], await calm(COMPOSITIONS[name]), 0
    while True:
        kept = MemoryStore()
        store = FaultyStore(kept, at, times=None, does=does)
        world = await begun(
            store, ANSWERS, clock=FastClock(), settings=EngineSettings(pacing=REFUSING)
        )
        await deploy(world, part)
        store.armed = True
        starting = asyncio.ensure_future(world.start("main", ITEMS))
        id = await settled(world, store, starting)
        store.room = True
        await world.until(lambda made=world: made.engine.healthy)
        if id is not None:
            assert await result(world, kept, id) == expected
        await world.settle()
        once(world)
        rows = [row for row in await world.executions() if row.name == "main"]
        ended = await kept.find(ActivationRow, Query(namespace="guest", name="main", limit=99))
        assert bool(rows or ended) == (id is not None)
        if id is None:  # nothing is left of it
            assert world.engine._parts.used("guest").running == 0
            again = await world.start("main", ITEMS)
            assert await result(world, kept, again) == expected
        await world.kill()
        if not store.failed:
            break
        at += 1
    assert at >= 2


async def settled(world, store, starting):
    """The id of the execution, if it was accepted or may run; the store is not healthy by then."""
    await world.until(lambda: starting.done() or not world.engine.healthy)
    try:
        id = await starting
    except InDoubtError as error:
        return error.activation
    except UnavailableError:
        return None
    done = asyncio.ensure_future(result(world, store._store, id))
    await world.until(lambda: done.done() or not world.engine.healthy)
    done.cancel()
    return id


@pytest.mark.parametrize("name", COMPOSITIONS)
async def test_whatever_read_fails_for_a_moment(name):
    part, expected, at = COMPOSITIONS[name], await calm(COMPOSITIONS[name]), 0
    while True:
        kept = MemoryStore()
        store = FaultyStore(kept, at, times=2, reads=True)
        world = await begun(
            store, ANSWERS, clock=FastClock(), settings=EngineSettings(pacing=QUICK)
        )
        await deploy(world, part)
        store.armed = True
        id = await world.start("main", ITEMS)
        assert await result(world, kept, id) == expected
        await world.settle()
        once(world)
        await world.kill()
        if not store.failed:
            break
        at += 1
