"""An execution in memory: the values that it keeps."""

from __future__ import annotations

from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.composer import path


async def test_large_values_are_stored_once_and_read_everywhere():
    text = "x" * 5000
    async with world(answers={"a": lambda p: p}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.retain("a"), path("$.result")))
        id = await made.start("main", {"text": text})

        assert (await made.result(id)) == {"text": text}
        history = await made.engine.records.history("guest", id, after=0, limit=100)
        assert [e["value"]["text"] for e in history if e["type"] == "StepSucceeded"] == [text] * 2
