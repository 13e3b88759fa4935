"""Engines whose disks are full, until there is room."""

from __future__ import annotations

from tests.kit.engine.engines import begun
from tests.kit.engine.faulty import FaultyStore
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore

QUICK = Pacing(commit_retry_s=0, commit_deadline_s=0)


async def full(answers=None, *, does="refuses", pacing=QUICK, **actions):
    """A world whose disk is full from the next commit on."""
    kept = MemoryStore()
    store = FaultyStore(kept, 0, times=None, does=does)
    world = await begun(store, answers or {"a": {"n": 1}}, settings=EngineSettings(pacing=pacing))
    await world.put(a=None, **actions)
    await world.settle()
    store.armed = True
    return world, store, kept


async def room(world, store):
    store.room = True
    await world.until(lambda: world.engine.healthy)
