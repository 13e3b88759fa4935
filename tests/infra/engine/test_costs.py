"""The cost of an execution: the time that is billed, and the time that is not."""

from __future__ import annotations

from tests.kit.engine.callbacks import CALLBACK, accepted
from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.composer import Success


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
