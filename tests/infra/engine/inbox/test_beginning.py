"""Executions begin: so deep, and in memory only if that is asked for."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import HELD, begun, world
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.infra.engine import EngineSettings

EXPRESS = [{"key": "durability", "value": "express"}]


def express(part):
    return {"exec": {"kind": "composition", "composition": part.to_json()}, "annotations": EXPRESS}


@pytest.mark.parametrize(("depth", "fits"), [(3, True), (4, False)])
async def test_compositions_nest_so_deep(depth, fits):
    async with world(answers={"a": {"n": 1}}, settings=EngineSettings(nesting=3)) as made:
        await made.put(a=None, c0=composer.sequence("a"))
        for number in range(depth):
            await made.put(**{f"c{number + 1}": composer.sequence(f"c{number}")})

        result = await made.run(f"c{depth}")

        assert result == {"n": 1} if fits else "nest more than 3 deep" in result["error"]["message"]


async def test_an_express_execution_leaves_one_record_and_its_history():
    async with world(answers={"a": {"n": 1}}) as made:
        await made.put(a=None, main=express(composer.sequence("a", "a")))
        commits = made.engine.gauges()["commits"]

        id = await made.start("main")
        assert await made.result(id) == {"n": 1}

        assert made.engine.gauges()["commits"] == commits + 1
        assert [row.id for row in await made.activations()] == [id]
        history = await made.engine.records.history("guest", id, after=0, limit=100)
        assert [entry["type"] for entry in history][-1] == "ExecutionSucceeded"


async def test_an_express_execution_is_gone_with_its_process():
    made = await begun(answers={"a": HELD})
    await made.put(a=None, main=express(composer.sequence("a")))
    id = await made.start("main")
    await made.until(lambda: made.hands.done)

    again = await restarted(made)
    await again.settle()

    assert again.hands.invoked == []
    assert await again.executions() == []
    assert id
    await again.kill()
