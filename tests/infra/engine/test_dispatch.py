"""Steps handed to invokers: invokers that fail, that do not exist, and that are waited for at a stop."""

from __future__ import annotations

from tests.kit.engine.engines import HELD, world
from xingqiao import composer
from xingqiao.infra.stores import MemoryStore


async def test_an_invoker_that_raises_fails_the_step():
    def broken(params):
        raise RuntimeError("a mistake of the invoker")

    async with world(answers={"a": broken}) as made:
        await made.put(a=None, main=composer.sequence("a"))

        assert "could not be run" in (await made.run("main"))["error"]


async def test_a_kind_that_nobody_runs_fails_the_step():
    async with world() as made:
        await made.put(a=None, main=composer.sequence("a"))
        made.engine._dispatch._invokers = {}

        assert "has no invoker for actions of kind" in (await made.run("main"))["error"]


async def test_a_stop_waits_for_steps_under_way_and_leaves_the_next_to_the_next_start():
    store = MemoryStore()
    async with world(store, {"a": HELD, "b": {}}) as made:
        await made.put(a=None, b=None, main=composer.sequence("a", "b"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)
        assert not await made.engine.drain(0)

        made.hands.finish(made.hands.invoked[0].activation, {"n": 1})

        assert await made.engine.drain(20)
        await made.settle()
        assert made.hands.names == ["a"]
    async with world(store, {"b": {"n": 2}}) as again:
        assert await again.result(id) == {"n": 2}
        assert again.hands.names == ["b"]
