"""Steps and executions that are ended before their time, and what is ended with them."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import HELD, world
from xingqiao import composer
from xingqiao.actions import ConflictError


async def test_cancelling_stops_steps_and_runs_finalizers():
    async with world(answers={"a": HELD, "tidy": {}}) as made:
        await made.put(a=None, tidy=None, main=composer.ensure("a", "tidy"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id)

        assert (await made.result(id))["error"]["code"] == "Cancelled"
        assert made.hands.names == ["a", "tidy"]
        assert made.hands.cancelled == [made.hands.invoked[0].activation]
        with pytest.raises(ConflictError, match="has ended: it has cancelled"):
            await made.engine.cancel("guest", id)


async def test_terminating_runs_nothing():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, tidy=None, main=composer.ensure("a", "tidy"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id, terminate=True)

        assert (await made.result(id))["error"]["message"] == "terminated"
        assert made.hands.names == ["a"]


async def test_a_child_is_cancelled_with_its_parent():
    async with world(answers={"a": HELD}) as made:
        await made.put(a=None, inner=composer.sequence("a"), main=composer.sequence("inner"))
        id = await made.start("main")
        await made.until(lambda: made.hands.done)

        await made.engine.cancel("guest", id)
        await made.result(id)
        await made.settle()

        assert {row.status for row in await made.executions()} == {"cancelled"}
