"""Tasks of paused executions: no worker gets them until the execution is resumed, also over a crash."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import GUEST, begun
from tests.kit.engine.engines import world as opened
from tests.kit.engine.queued import QUEUE, answer, queued, take, taken
from xingqiao import composer
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore

LOOKING = EngineSettings(pacing=Pacing(look_s=0.001))  # timers look at a clock that tests move
MAIN = composer.sequence("work")


@pytest.fixture
async def made():
    async with opened(settings=LOOKING) as made:
        await made.put(work=queued(), main=MAIN)
        yield made


async def waiting(made, n=0):
    """An execution whose task waits in the queue."""
    id = await made.start("main", {"n": n})
    await made.until(lambda: made.engine.queues.shown(GUEST, QUEUE)["backlog"])
    await made.settle()
    return id


async def test_a_task_of_a_paused_execution_is_handed_out_when_it_is_resumed(made):
    id = await waiting(made)
    await made.engine.pauses.pause(GUEST, id)

    assert await take(made) == []
    assert made.engine.queues.shown(GUEST, QUEUE)["backlog"] == 0

    await made.engine.resume(GUEST, id)
    await answer(made, await taken(made), {"done": True})
    assert await made.result(id) == {"done": True}


async def test_it_keeps_its_place_among_the_tasks_of_others(made):
    first = await waiting(made, 1)
    made.clock.ms += 1
    await made.engine.pauses.pause(GUEST, first)
    await waiting(made, 2)
    await made.engine.resume(GUEST, first)

    assert [(await taken(made))["params"]["n"] for _ in range(2)] == [1, 2]


async def test_a_task_that_a_worker_has_goes_on_and_is_answered(made):
    id = await waiting(made)
    task = await taken(made)
    await made.engine.pauses.pause(GUEST, id)
    await answer(made, task, {"done": True})
    await made.settle()

    assert (await made.engine.records.execution(GUEST, id))["status"] == "succeeded"


async def test_a_task_of_a_silent_worker_waits_for_the_resumption(made):
    await made.put(work=queued(heartbeat=1, attempts=2))
    id = await waiting(made)
    await taken(made)
    await made.engine.pauses.pause(GUEST, id)
    made.clock.ms += 5_000
    await made.until(lambda: not made.engine.queues.shown(GUEST, QUEUE)["underWay"])
    await made.settle()

    assert await take(made) == []
    await made.engine.resume(GUEST, id)
    assert (await taken(made))["attempt"] == 2


async def test_a_task_that_is_held_back_may_be_late(made):
    await made.put(work=queued(to_start=1))
    id = await waiting(made)
    await made.engine.pauses.pause(GUEST, id)
    made.clock.ms += 5_000

    assert (await made.result(id))["error"]["timeout"] == "to_start"


async def test_an_execution_that_is_cancelled_while_it_is_paused_leaves_nothing(made):
    id = await waiting(made)
    await made.engine.pauses.pause(GUEST, id)
    await made.engine.cancel(GUEST, id, terminate=True)
    await made.settle()

    assert made.engine.queues.held.count == 0
    assert await take(made) == []


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_it_is_held_back_over_a_restart(how):
    store = MemoryStore()
    made = await begun(store)
    await made.put(work=queued(), main=MAIN)
    id = await waiting(made)
    await made.engine.pauses.pause(GUEST, id)
    if how == "crash":
        await made.kill()
    else:
        await made.engine.__aexit__(None, None, None)

    async with opened(store, settings=LOOKING) as made:
        await made.settle()
        assert await take(made) == []

        await made.engine.resume(GUEST, id)
        await answer(made, await taken(made), {"done": True})
        assert await made.result(id) == {"done": True}
