"""The cost of an execution: the time that is billed, and the time that is not."""

from __future__ import annotations

import pytest

from tests.kit.engine.callbacks import CALLBACK, accepted
from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.composer import Success
from xingqiao.infra.engine import costs


async def test_what_answers_later_has_cost_its_run_and_not_its_wait():
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=composer.sequence("ask"))
        id, token = await accepted(made)
        made.clock.ms += 86_400_000

        await made.engine.complete(token, Success({"said": "yes"}))
        await made.result(id)

        told = await made.engine.records.cost("guest", id)
        (share,) = told["clouds"]
        assert (share["cloud"], share["billed"], share["untold"]) == ("here", 3, 0)
        assert share["took"] >= 86_400_000


async def test_steps_of_nested_executions_count_and_the_executions_themselves_do_not():
    async with world(answers={"a": {}, "b": {}}) as made:
        await made.put(a=None, b=None, inner=composer.sequence("b", "b"),
                       main=composer.sequence("a", "inner"))  # fmt: skip
        id = await made.start("main")
        await made.result(id)

        told = await made.engine.records.cost("guest", id)

        assert {step["step"]: step["requests"] for step in told["steps"]} == {"a": 1, "b": 2}
        (share,) = told["clouds"]
        assert (share["steps"], share["billed"]) == (3, 9)


@pytest.mark.parametrize("page", [1, 2, 3, 4, 5])
async def test_all_steps_count_however_many_are_read_at_once(page):
    async with world(answers={"a": {}}) as made:
        await made.put(a=None, main=composer.sequence(*["a"] * 4))
        id = await made.start("main")
        await made.result(id)

        row = await made.engine.records.row("guest", id)
        (share,) = (await costs.cost(made.store, row, made.clock.now_ms(), page))["clouds"]

        assert share["steps"] == 4
