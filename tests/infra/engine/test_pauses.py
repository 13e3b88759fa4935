"""An operator pauses an execution as a whole, and lets it go on; also over a crash."""

from __future__ import annotations

import pytest

from tests.kit.engine.engines import CODE, HELD, begun, world
from xingqiao import composer
from xingqiao.actions import ConflictError, NotFoundError
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.stores import MemoryStore

GUEST = "guest"
ONCE = {**CODE, "annotations": [{"key": "at-most-once", "value": True}]}
ANSWERS = {"a": HELD, "b": {"done": True}}
TWO = composer.sequence("a", "b")


@pytest.fixture
async def made():
    async with world(answers=ANSWERS) as made:
        await made.put(a=None, b=ONCE, main=TWO, quick=composer.sequence("b"))
        yield made


async def paused(made):
    """An execution whose first step has ended after it was paused."""
    id = await made.start("main")
    await made.until(lambda: made.hands.invoked)
    await made.engine.pauses.pause(GUEST, id)
    made.hands.finish(made.hands.invoked[0].activation, {})
    await made.settle()
    return id


def ran(made):
    return [invocation.action.name.path for invocation in made.hands.invoked]


async def test_steps_under_way_end_and_none_begins(made):
    id = await paused(made)

    assert ran(made) == ["a"]
    assert (await made.engine.records.execution(GUEST, id))["status"] == "paused"


async def test_it_goes_on_when_it_is_resumed(made):
    id = await paused(made)

    await made.engine.resume(GUEST, id)

    assert await made.result(id) == {"done": True}
    assert ran(made) == ["a", "b"]


async def test_one_that_is_paused_twice_is_resumed_once(made):
    id = await paused(made)
    await made.engine.pauses.pause(GUEST, id)

    await made.engine.resume(GUEST, id)

    assert await made.result(id) == {"done": True}
    assert ran(made) == ["a", "b"]


@pytest.mark.parametrize("how", ["stop", "crash"])
async def test_it_stays_paused_over_a_restart_and_its_next_step_runs_once(how):
    """The step that is held back is annotated at-most-once: it is known not to have run."""
    store = MemoryStore()
    made = await begun(store, ANSWERS)
    await made.put(a=None, b=ONCE, main=TWO)
    id = await paused(made)
    if how == "crash":
        await made.kill()
    else:
        await made.engine.__aexit__(None, None, None)

    async with world(store, ANSWERS) as made:
        await made.settle()
        assert (await made.engine.records.execution(GUEST, id))["status"] == "paused"
        assert ran(made) == []

        await made.engine.resume(GUEST, id)

        assert await made.result(id) == {"done": True}
        assert ran(made) == ["b"]


async def test_a_wait_ends_while_it_is_paused_and_the_next_step_does_not_begin():
    async with world(answers=ANSWERS, clock=SystemClock()) as made:
        await made.put(b=None, waits=composer.sequence(composer.wait(0.05), "b"))
        id = await made.start("waits")
        await made.engine.pauses.pause(GUEST, id)
        runs = made.engine._parts.runs

        await made.until(lambda: id in runs and runs[id].on_hold)

        assert ran(made) == []
        await made.engine.resume(GUEST, id)
        assert await made.result(id) == {"done": True}


async def test_one_that_is_paused_can_be_cancelled(made):
    id = await paused(made)

    await made.engine.cancel(GUEST, id)
    await made.settle()

    assert (await made.engine.records.execution(GUEST, id))["status"] == "cancelled"
    assert ran(made) == ["a"]


async def test_a_pause_for_a_spent_retry_and_one_of_an_operator_end_together(made):
    await made.put(patient=composer.sequence(composer.retry(0, "c", on_exhausted="pause"), "b"))
    await made.put(c=None)
    made.hands.answers["c"] = composer.Failure("Down", "no")
    id = await made.start("patient")
    await made.settle()
    await made.engine.pauses.pause(GUEST, id)
    made.hands.answers["c"] = {}

    await made.engine.resume(GUEST, id)

    assert await made.result(id) == {"done": True}


async def test_what_cannot_be_paused_is_refused(made):
    single = await made.start("a")
    ended = await made.start("quick")
    await made.result(ended)

    with pytest.raises(ConflictError, match="it is a single action"):
        await made.engine.pauses.pause(GUEST, single)
    with pytest.raises(ConflictError, match="has ended"):
        await made.engine.pauses.pause(GUEST, ended)
    with pytest.raises(NotFoundError):
        await made.engine.pauses.pause(GUEST, "0" * 32)
    with pytest.raises(NotFoundError):
        await made.engine.pauses.pause("other", await paused_again(made))


async def paused_again(made):
    id = await made.start("main")
    await made.engine.pauses.pause(GUEST, id)
    return id


async def test_one_that_runs_cannot_be_resumed(made):
    id = await made.start("main")

    with pytest.raises(ConflictError, match="is not paused"):
        await made.engine.resume(GUEST, id)
