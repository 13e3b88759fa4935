"""ReadWriteLock: readers share, a writer is alone, and who comes first is first."""

from __future__ import annotations

import asyncio

from xingqiao.infra.stores.read_write_lock import ReadWriteLock

NAMES = ("r1", "r2", "w1", "r3", "w2")


async def test_readers_share_and_a_writer_is_alone_in_the_order_of_their_coming():
    turns, inside = ReadWriteLock(), []
    ends = {name: asyncio.Event() for name in NAMES}

    async def come(name):
        async with turns.reading() if name[0] == "r" else turns.writing():
            inside.append(name)
            await ends[name].wait()
            inside.remove(name)

    async with asyncio.TaskGroup() as tasks:
        coming = [tasks.create_task(come(name)) for name in NAMES]
        for ended, left in (
            (None, ["r1", "r2"]),
            ("r1", ["r2"]),
            ("r2", ["w1"]),
            ("w1", ["r3"]),
            ("r3", ["w2"]),
            ("w2", []),
        ):
            if ended is not None:
                ends[ended].set()
            for _ in NAMES:  # time enough for all that can be done
                await asyncio.wait(coming, timeout=0)
            assert inside == left


async def test_whoever_gives_up_holds_nobody_up():
    turns = ReadWriteLock()
    async with asyncio.TaskGroup() as tasks, turns.reading():
        waiting = tasks.create_task(_write(turns))
        await asyncio.wait([waiting], timeout=0)
        waiting.cancel()
        await asyncio.wait([waiting])
        async with turns.reading():
            pass
    async with turns.writing():
        pass


async def _write(turns):
    async with turns.writing():
        pass
