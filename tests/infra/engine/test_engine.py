"""The engine as a whole: namespaces kept apart, bounded steps, stores that fail, and orderly stops."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, begun, world
from xingqiao import composer
from xingqiao.actions import NotFoundError
from xingqiao.composer import Limits
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore


async def test_another_namespace_can_do_nothing():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        for ask in (
            made.engine.cancel("other", id),
            made.engine.resume("other", id),
            made.engine.redrive("other", id),
            made.engine.wait("other", id, 1),
            made.engine.records.execution("other", id),
            made.engine.records.activation("other", id),
        ):
            with pytest.raises(NotFoundError):
                await ask


async def test_steps_of_an_execution_are_bounded():
    settings = EngineSettings(limits=Limits(steps=5))
    async with world(answers={"a": {}}, settings=settings) as made:
        await made.put(
            a=None, five=composer.sequence(*["a"] * 5), six=composer.sequence(*["a"] * 6)
        )

        assert await made.run("five") == {}
        assert (await made.run("six"))["error"]["code"] == "LimitExceeded"


async def test_a_store_that_fails_for_a_while_holds_everybody_and_loses_nothing():
    class Failing(MemoryStore):
        failures = 0

        async def commit(self, writes):
            if self.failures:
                self.failures -= 1
                raise OSError("disk full")
            return await super().commit(writes)

    store = Failing()
    settings = EngineSettings(pacing=Pacing(commit_retry_s=0))
    made = await begun(store, {"a": {"n": 1}}, settings=settings)
    await made.put(a=None, main=composer.sequence("a"))
    store.failures = 1
    id = await made.start("main")
    assert await made.result(id) == {"n": 1}
    assert made.engine.healthy
    await made.kill()


async def test_stopping_in_order_loses_nothing():
    store = MemoryStore()
    made = await begun(store, {"a": HELD})
    await made.put(a=None, main=composer.sequence("a", "a"))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)
    assert not await made.engine.drain(0)
    await made.engine.__aexit__(None, None, None)

    async with world(store, {"a": {"n": 1}}) as again:
        assert await again.result(id) == {"n": 1}


class FullDisk:
    """A store that cannot commit any more, from when it is told so."""

    def __init__(self):
        self._store, self.full, self.tried = MemoryStore(), False, asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        if self.full:
            self.tried.set()
            raise OSError("no space left on device")
        return await self._store.commit(writes)


@pytest.mark.parametrize("before", [True, False])
async def test_a_store_that_cannot_commit_does_not_keep_a_server_from_stopping(before):
    store = FullDisk()
    made = await begun(store, {"a": {"n": 1}})
    await made.put(a=None)
    calling = asyncio.ensure_future(made.start("a"))
    store.full = True
    if before:
        await store.tried.wait()  # it knows by now; else it finds out while it stops

    async with asyncio.timeout(20):
        await made.engine.__aexit__(None, None, None)

    assert not calling.done()  # nobody has heard of what was not committed
    calling.cancel()


async def test_a_start_that_fails_leaves_no_task_behind():
    class Unreadable(MemoryStore):
        async def standing(self, *_, **__):
            raise OSError("the disk")

    before = asyncio.all_tasks()
    with pytest.raises(OSError, match="the disk"):
        await begun(Unreadable())

    assert asyncio.all_tasks() == before
