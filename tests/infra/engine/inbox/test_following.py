"""One event may start many others: everybody else is answered meanwhile."""

from __future__ import annotations

import pytest

from tests.kit.engine.bounded import EXPRESS, bounded, document, of_another, usage
from tests.kit.engine.engines import GUEST, world
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer
from xingqiao.composer import path

BOMBS = {
    "parallel": composer.parallel(*["bomb"] * 4),
    "behind a wait": composer.sequence(composer.wait(0.001), composer.parallel(*["bomb"] * 4)),
    "asynchronous": composer.parallel(*[composer.asynchronous("bomb")] * 3),
    "mapped": composer.sequence(
        composer.select({"items": [1, 2, 3, 4]}), composer.map("bomb", items=path("$.items"))
    ),
    "retried": composer.retry(1_000, composer.parallel("bomb", "bomb")),
    "retried for nothing": composer.retry(2_000, "nobody"),
}


@pytest.mark.parametrize("annotations", [[], EXPRESS], ids=["durable", "express"])
@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_ends_and_others_are_answered_meanwhile(name, annotations):
    settings = bounded(live=400, descendants=200)
    async with world(answers={"a": {"n": 1}}, settings=settings, clock=FastClock()) as made:
        await made.put(a=None, bomb=document(BOMBS[name], annotations))
        id = await made.start("bomb")

        assert await of_another(made) == {"n": 1}
        assert max(usage(made), 0) <= 400
        if name != "retried":
            assert (await made.record(id))["response"]["result"] is not None
        else:
            await made.engine.cancel(GUEST, id, terminate=True)
        await made.until(lambda: usage(made) == 0)
