"""An execution in memory: the values that it keeps."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import world
from xingqiao import composer
from xingqiao.composer import path
from xingqiao.infra.engine.live import INLINE_BYTES
from xingqiao.infra.stores import MemoryStore

AROUND = len('{"text":""}')


class Noting(MemoryStore):
    """Notes the values that are stored by themselves."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    async def commit(self, writes):
        self.sizes += [len(text) for write in writes for _, _, text in write.values]
        return await super().commit(writes)


async def test_large_values_are_stored_once_and_read_everywhere():
    text = "x" * 5000
    async with world(answers={"a": lambda p: p}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.retain("a"), path("$.result")))
        id = await made.start("main", {"text": text})

        assert (await made.result(id)) == {"text": text}
        history = await made.engine.records.history("guest", id, after=0, limit=100)
        assert [e["value"]["text"] for e in history if e["type"] == "StepSucceeded"] == [text] * 2


@pytest.mark.parametrize(
    ("size", "stored"), [(INLINE_BYTES, []), (INLINE_BYTES + 1, [INLINE_BYTES + 1])]
)
async def test_a_value_that_is_carried_on_is_stored_once_if_it_is_large(size, stored):
    store, value = Noting(), {"text": "x" * (size - AROUND)}
    async with world(store, {"a": value}) as made:
        await made.put(a=None, main=composer.sequence("a", composer.retain("a"), path("$.result")))

        assert await made.run("main") == value

    assert store.sizes == stored
