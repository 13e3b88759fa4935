"""Redrives: an execution goes on from its failure with its children, once."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, world
from xingqiao import composer
from xingqiao.actions import ConflictError
from xingqiao.composer import Failure
from xingqiao.infra.engine.redrives import Redrives
from xingqiao.infra.stores import MemoryStore


async def test_a_failed_execution_is_redriven_with_its_children():
    answers = {"a": {"n": 1}, "b": Failure("Broken", "broken"), "c": {"n": 3}}
    async with world(answers=answers) as made:
        await made.put(a=None, b=None, c=None, inner=composer.sequence("a", "b"),
                       main=composer.sequence("a", "inner", "c"))  # fmt: skip
        id = await made.start("main")
        assert (await made.result(id)) == {"error": "broken"}
        made.hands.answers["b"] = {"n": 2}

        await made.engine.redrive("guest", id)
        assert await made.engine.wait("guest", id, 20)

        assert (await made.engine.records.execution("guest", id))["status"] == "succeeded"
        assert await made.result(id) == {"n": 3}
        assert made.hands.names == ["a", "a", "b", "b", "c"]
        with pytest.raises(ConflictError, match="has succeeded"):
            await made.engine.redrive("guest", id)


class Waiting(MemoryStore):
    """Commits nothing until it may."""

    def __init__(self):
        super().__init__()
        self.may = asyncio.Event()
        self.may.set()

    async def commit(self, writes):
        await self.may.wait()
        return await super().commit(writes)


async def failed_with_its_child(made):
    """An execution that has failed by a step that was one, and that step; it would succeed now."""
    await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
    id = await made.start("main")
    await made.result(id)
    await made.settle()
    child = next(row.id for row in await made.executions() if row.id != id)
    made.hands.answers["a"] = {"n": 1}
    return id, child


@pytest.mark.parametrize("also", ["itself", "its child"])
async def test_what_is_redriven_is_not_redriven_again_before_the_store_knows(also):
    store = Waiting()
    async with world(store, {"a": Failure("Broken", "once")}) as made:
        id, child = await failed_with_its_child(made)
        store.may.clear()
        first = asyncio.ensure_future(made.engine.redrive("guest", id))
        await made.until(lambda: id in made.engine._parts.runs)

        with pytest.raises(ConflictError, match="is being redriven"):
            await made.engine.redrive("guest", id if also == "itself" else child)

        store.may.set()
        await first
        await made.settle()
        assert made.hands.names == ["a", "a"]
        assert made.engine.gauges()["live"] == 0


async def test_a_child_that_a_redrive_has_read_is_not_redriven_by_another(monkeypatch):
    """The first still reads other parts of the execution when the second asks."""
    async with world(answers={"a": Failure("Broken", "once")}) as made:
        id, child = await failed_with_its_child(made)
        redriven, refused = Redrives._redriven, []

        async def read_slowly(self, row, *rest):
            work = await redriven(self, row, *rest)
            if row.id == child and not refused:
                refused.append(True)
                with pytest.raises(ConflictError, match="is being redriven"):
                    await made.engine.redrive("guest", child)
            return work

        monkeypatch.setattr(Redrives, "_redriven", read_slowly)

        await made.engine.redrive("guest", id)

        assert await made.engine.wait("guest", id, 20)
        assert refused
        assert made.hands.names == ["a", "a"]


async def test_a_redrive_with_another_program_that_needs_no_step_ends_at_once():
    async with world(answers={"a": {"n": 1}}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.raise_error("No")))
        id = await made.start("main")
        await made.result(id)

        await made.engine.redrive("guest", id, composer.action("a").to_json())
        assert await made.engine.wait("guest", id, 20)

        assert await made.result(id) == {"n": 1}
        assert made.hands.names == ["a"]


async def test_what_is_under_way_is_not_redriven():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        with pytest.raises(ConflictError, match="still under way"):
            await made.engine.redrive("guest", id)
