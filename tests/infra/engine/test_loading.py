"""Executions that are asked for at the same time are read together, each once."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.engine.engines import world
from tests.kit.engine.mail import tell
from xingqiao.actions import Standing, UnavailableError
from xingqiao.composer import receive
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.loading import MOST, Loading


class Row:
    def __init__(self, id):
        self.execution, self.id = self, id


class Shelf:
    """A store with executions `0` to `999`; it notes how they are read."""

    def __init__(self):
        self.together, self.alone, self.damaged = [], [], set()
        self.broken = False

    async def standing(self, *, of):
        self.together.append([*of])
        await anyio.lowlevel.checkpoint()
        if self.broken:
            raise UnavailableError("the disk is busy")
        return Standing(
            [], [], saved=[Row(id) for id in of if id not in self.damaged and int(id) < 1_000]
        )

    async def load(self, id):
        self.alone.append(id)
        if id in self.damaged:
            raise ValueError(f"{id} is damaged")
        return Row(id) if int(id) < 1_000 else None


async def read(loading, *ids):
    found = await asyncio.gather(*map(loading.load, ids), return_exceptions=True)
    return [one.id if isinstance(one, Row) else one for one in found]


async def test_one_alone_is_read_by_itself():
    shelf = Shelf()

    assert await read(Loading(shelf), "1") == ["1"]

    assert (shelf.together, shelf.alone) == ([], ["1"])


async def test_those_of_one_moment_are_read_together():
    shelf = Shelf()
    loading = Loading(shelf)

    assert await read(loading, "1", "2", "3") == ["1", "2", "3"]
    assert await read(loading, "4", "5") == ["4", "5"]

    assert (shelf.together, shelf.alone) == ([["1", "2", "3"], ["4", "5"]], [])


async def test_a_read_is_bounded():
    shelf, ids = Shelf(), [str(n) for n in range(MOST + 2)]

    assert await read(Loading(shelf), *ids) == ids

    assert [len(one) for one in shelf.together] == [MOST, 2]


async def test_what_is_not_found_or_damaged_is_read_by_itself_and_says_why():
    shelf = Shelf()
    shelf.damaged = {"2"}

    one, two, none = await read(Loading(shelf), "1", "2", "1000")

    assert (one, str(two), none) == ("1", "2 is damaged", None)
    assert shelf.alone == ["2", "1000"]


async def test_a_read_that_fails_is_made_again_for_each():
    shelf = Shelf()
    shelf.broken = True

    assert await read(Loading(shelf), "1", "2") == ["1", "2"]

    assert sorted(shelf.alone) == ["1", "2"]


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_the_others_are_read_when_the_first_gives_up(turns):
    shelf = Shelf()
    loading = Loading(shelf)
    async with asyncio.TaskGroup() as tasks:
        first, second = [tasks.create_task(read(loading, id)) for id in "12"]
        for _ in range(turns + 1):
            await anyio.lowlevel.checkpoint()
        first.cancel()

    assert second.result() == ["2"]


async def test_many_messages_at_once_cost_one_read():
    async with world(settings=EngineSettings(dormant=0)) as made:
        await made.put(main=receive("go"))
        ids = [await made.start("main") for _ in range(20)]
        await made.settle()
        read, standing = [], made.store.standing
        made.store.standing = lambda **how: read.append(how["of"]) or standing(**how)

        async with asyncio.TaskGroup() as tasks:
            for n, id in enumerate(ids):
                tasks.create_task(tell(made, id, "go", n))

        assert [await made.result(id) for id in ids] == [{"value": n} for n in range(20)]
        assert [sorted(of) for of in read] == [sorted(ids)]
