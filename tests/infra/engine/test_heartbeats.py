"""Heartbeats of steps: they count at once, few are written, the next attempt gets the last details."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.callbacks import CALLBACK, accepted
from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import NotFoundError
from xingqiao.composer import Success
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore

MAIN = composer.within(composer.retry(2, "ask"), heartbeat=20)
OFTEN = EngineSettings(pacing=Pacing(look_s=0.01))


async def deployed(store=None, part=MAIN, **kwargs):
    made = await begun(store, {"ask": {}, "held": HELD}, **kwargs)
    await made.put(ask=CALLBACK, main=part)
    return made


async def details(store, id):
    saved = await store.load(id)
    return b"".join(row.body for row in saved.fibers).decode()


async def test_a_step_that_is_waited_for_is_told_to_go_on():
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=MAIN)
        id, token = await accepted(made)

        assert await made.engine.answering.beat(token, {"page": 1}) is False

        await made.engine.complete(token, Success({"ok": True}))
        assert await made.result(id) == {"ok": True}


@pytest.mark.parametrize("terminate", [False, True])
async def test_a_step_hears_of_the_cancellation_by_its_heartbeat(terminate):
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=MAIN)
        id, token = await accepted(made)
        await made.engine.cancel(GUEST, id, terminate=terminate)

        assert await made.engine.answering.beat(token, None) is True


async def test_a_step_that_ignores_it_changes_nothing():
    async with world(answers={"ask": {}}) as made:
        await made.put(ask=CALLBACK, main=MAIN)
        id, token = await accepted(made)
        await made.engine.cancel(GUEST, id)
        for _ in range(3):
            assert await made.engine.answering.beat(token, {"page": 1}) is True

        await made.record(id)
        assert (await made.engine.records.execution(GUEST, id))["status"] == "cancelled"


async def test_a_forged_token_is_refused():
    async with world(answers={"ask": {}}) as made:
        with pytest.raises(NotFoundError):
            await made.engine.answering.beat("x", None)


async def test_a_lost_heartbeat_fails_the_attempt_and_the_next_is_given_the_details():
    made = await deployed()
    _id, token = await accepted(made)
    await made.engine.answering.beat(token, {"page": 7})

    made = await restarted(made, seconds=21)
    await made.until(lambda: made.hands.invoked)

    (second,) = made.hands.invoked
    assert second.params == {"__ow_heartbeat": {"page": 7}}
    assert second.again.attempt == 2
    assert second.again.failure.error["timeout"] == "heartbeat"
    assert await made.engine.answering.beat(token, None) is True  # the first one is to stop
    await made.kill()


async def test_a_heartbeat_puts_the_deadline_off_also_over_a_restart():
    made = await deployed()
    _id, token = await accepted(made)
    made.clock.ms += 15_000
    await made.engine.answering.beat(token, None)

    made = await restarted(made, seconds=15)
    await made.settle()
    assert made.hands.invoked == []
    made = await restarted(made, seconds=6)
    await made.until(lambda: made.hands.invoked)
    await made.kill()


async def test_many_heartbeats_are_few_writes_and_none_is_forgotten():
    made = await deployed(settings=OFTEN)
    id, token = await accepted(made)
    await made.engine.answering.beat(token, {"page": 0})
    commits = made.engine._tick.commits

    for page in range(1, 100):
        await made.engine.answering.beat(token, {"page": page})

    assert made.engine._tick.commits == commits
    assert '"page":0' in await details(made.store, id)
    (fiber,) = made.engine._parts.runs[id].execution.fibers.values()
    assert fiber.wait.details == {"page": 99}

    made.clock.ms += 4_000
    await made.until(lambda: made.engine._tick.commits > commits)
    await made.settle()
    assert '"page":99' in await details(made.store, id)
    await made.kill()


async def test_what_was_not_written_yet_is_known_when_the_step_fails():
    made = await deployed()
    _id, token = await accepted(made)
    for page in range(3):
        await made.engine.answering.beat(token, {"page": page})

    await made.engine.complete(token, composer.Failure("ApplicationError", "no"))
    await made.until(lambda: len(made.hands.invoked) == 2)

    assert made.hands.invoked[1].params == {"__ow_heartbeat": {"page": 2}}
    await made.kill()


async def test_an_execution_leaves_memory_after_its_last_heartbeat():
    made = await deployed(settings=OFTEN)
    id, token = await accepted(made)
    for page in range(3):
        await made.engine.answering.beat(token, {"page": page})
    assert id in made.engine._parts.runs

    made.clock.ms += 4_000
    await made.until(lambda: id not in made.engine._parts.runs)

    assert '"page":2' in await details(made.store, id)
    await made.kill()


async def test_a_step_that_ends_within_the_pause_leaves_nothing():
    part = composer.sequence(MAIN, composer.wait(1000))
    made = await deployed(part=part, settings=OFTEN)
    id, token = await accepted(made)
    for page in range(3):
        await made.engine.answering.beat(token, {"page": page})
    await made.engine.complete(token, Success({"ok": True}))
    await made.settle()

    made.clock.ms += 4_000
    await made.until(lambda: id not in made.engine._parts.runs)

    assert "page" not in await details(made.store, id)
    await made.kill()


@pytest.mark.parametrize(("when", "known"), [("before", {}), ("after", {"__ow_heartbeat": 7})])
async def test_a_heartbeat_is_known_if_its_commit_was(when, known):
    dying = DyingStore(MemoryStore(), 0, when)
    made = await deployed(dying)
    _, token = await accepted(made)
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(made.engine.answering.beat(token, 7))
        await dying.dead.wait()
        beating.cancel()
    await made.kill()

    made.clock.ms += 21_000
    again = await begun(dying._store, {"ask": {}}, clock=made.clock)
    await again.until(lambda: again.hands.invoked)

    assert again.hands.invoked[0].params == known
    await again.kill()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_lost_heartbeat_is_noticed_whatever_commit_it_dies_at(when):
    store = MemoryStore()
    made = await deployed(store)
    _id, token = await accepted(made)
    await made.engine.answering.beat(token, 7)
    await made.kill()
    made.clock.ms += 21_000

    dying = DyingStore(store, 0, when)
    dying.armed = True
    second = await begun(dying, {"ask": {}}, clock=made.clock)
    await dying.dead.wait()
    await second.kill()
    third = await begun(store, {"ask": {}}, clock=made.clock)
    await third.until(lambda: third.hands.invoked)

    assert [asked.params for asked in third.hands.invoked] == [{"__ow_heartbeat": 7}]
    assert third.hands.invoked[0].again.attempt == 2
    await third.kill()


async def test_a_step_with_no_timeout_may_send_them_too():
    made = await deployed(part=composer.task("ask"))
    id, token = await accepted(made)
    await made.engine.answering.beat(token, "half")

    shown = (await made.engine.records.execution(GUEST, id))["fibers"][0]

    assert shown["heartbeat"] == "half"
    await made.kill()
