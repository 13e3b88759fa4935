"""Steps handed to invokers: invokers that fail, and that do not exist."""

from __future__ import annotations

from tests.kit.engine.engines import world
from xingqiao import composer


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
