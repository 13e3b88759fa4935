"""Runs that continue answer their updates first; those that come meanwhile are for the next run."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from tests.kit.engine.mail import kinds, stored, tell
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import ClosedError, NoSuchUpdateError, NotFoundError
from xingqiao.composer import Failure, continue_as_new, on_update, path, receive, updates
from xingqiao.infra.engine import Place
from xingqiao.infra.service import retention
from xingqiao.infra.service.retention import DAY_MS, Retention
from xingqiao.infra.stores import MemoryStore

SLOW = {"slow": HELD}
QUICK = {"slow": lambda params: params}
# A run hears one message, and the next one begins, as often as it is asked to.
CHAIN = updates(
    composer.sequence(
        composer.retain(receive("go")),
        composer.select({"more": path("$.result.more", default=False)}),
        composer.when(path("$.more").is_true(), continue_as_new({"n": 1})),
    ),
    change=on_update(body="slow"),
)
LARGE = "x" * 5000


@pytest.fixture
async def made():
    async with world(answers=dict(SLOW)) as made:
        await made.put(slow=None, main=CHAIN)
        yield made


async def update(made, run, id, payload=None, **options):
    options = {"wait_s": 5, **options}
    given = {"id": id} if payload is None else payload
    return await made.engine.updates.update(GUEST, run, "change", given, id, **options)


async def handing(made):
    """An execution that continues, but for an update `a` that it has accepted."""
    id = await made.start("main")
    await made.settle()
    await update(made, id, "a", accepted=True)
    await tell(made, id, "go", {"more": True})
    await made.settle()
    assert made.engine._parts.runs[id].handing is not None
    return id


def release(made, answer=None):
    """Ends the oldest update that is held."""
    held = next(each for each in made.hands.invoked if each.activation in made.hands.done)
    made.hands.finish(held.activation, held.params if answer is None else answer)


async def statuses(made, first):
    found, run = [], first
    while run:
        row = await made.engine.records.execution(GUEST, run)
        found.append(row["status"])
        run = row.get("next", {}).get("executionId")
    return found


async def test_a_run_answers_its_updates_before_the_next_one_begins(made):
    id = await handing(made)
    assert await statuses(made, id) == ["running"]

    release(made)
    answer = await made.engine.updates.outcome(GUEST, id, "a", wait_s=5)
    await made.settle()

    assert (answer.execution, answer.outcome.value) == (id, {"id": "a"})
    assert await statuses(made, id) == ["continued", "running"]
    assert (await kinds(made, id))[-2:] == ["UpdateCompleted", "ExecutionContinued"]


async def test_updates_that_come_meanwhile_are_handled_by_the_next_run(made):
    id = await handing(made)
    asked = [asyncio.ensure_future(update(made, id, each)) for each in "bc"]
    await made.settle()
    assert await stored(made, "update") == [f"/{id}/a"]

    release(made)
    for _ in asked:
        await made.until(lambda: made.hands.done)
        release(made)
        await made.settle()
    found = await asyncio.gather(*asked)

    second = await made.engine.chains.newest(id)
    assert second != id
    assert [each.execution for each in found] == [second] * 2
    for run in (id, second):  # each is known by any run of the chain
        for each in "abc":
            assert (await update(made, run, each)).outcome.value == {"id": each}
    assert len(made.hands.invoked) == 3


async def test_one_that_does_not_wait_is_told_to_ask_again(made):
    id = await handing(made)

    with pytest.raises(NoSuchUpdateError, match="does not handle update 'change' yet"):
        await update(made, id, "b", wait_s=0)

    release(made)
    await made.settle()
    assert (await update(made, id, "b", wait_s=0)).status == "accepted"


async def test_several_updates_are_all_answered_first(made):
    id = await made.start("main")
    await made.settle()
    for each in "abc":
        await update(made, id, each, accepted=True)
    await tell(made, id, "go", {"more": True})
    for left in (2, 1, 0):
        await made.settle()
        assert await statuses(made, id) == ["running"]
        release(made)
        await made.until(lambda left=left: len(made.hands.done) == left)
    await made.settle()

    assert await statuses(made, id) == ["continued", "running"]
    assert {(await update(made, id, each)).execution for each in "abc"} == {id}


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_one_that_is_stopped_meanwhile_closes_its_updates(made, how):
    id = await handing(made)

    await made.engine.cancel(GUEST, id, terminate=how == "terminate")
    await made.settle()

    assert (await update(made, id, "a")).outcome.code == "Closed"
    assert await statuses(made, id) == ["cancelled"]
    assert made.engine.gauges()["live"] == 0
    with pytest.raises(ClosedError):
        await update(made, id, "b")


@pytest.mark.parametrize("restart", [False, True])
async def test_one_that_is_paused_meanwhile_continues_when_it_is_resumed(restart):
    made = await begun(answers=dict(SLOW))
    await made.put(slow=None, main=CHAIN)
    id = await handing(made)
    await made.engine.pauses.pause(GUEST, id)
    release(made)
    await made.settle()
    assert await statuses(made, id) == ["paused"]
    if restart:
        made = await restarted(made)
        await made.settle()

    await made.engine.pauses.resume(GUEST, id)
    await made.settle()

    assert await statuses(made, id) == ["continued", "running"]
    await made.kill()


async def test_what_cannot_continue_fails_when_its_updates_are_answered(made):
    await made.put(
        main=updates(
            composer.sequence(receive("go"), continue_as_new(action="nowhere")),
            change=on_update(body="slow"),
        )
    )
    id = await handing(made)
    late = asyncio.ensure_future(update(made, id, "b"))
    await made.settle()

    release(made)
    await made.settle()

    assert (await update(made, id, "a")).outcome.value == {"id": "a"}
    assert await statuses(made, id) == ["failed"]
    with pytest.raises(ClosedError):
        await late


@pytest.mark.parametrize("restart", [False, True])
async def test_large_answers_are_read_by_any_run(restart):
    made = await begun(answers=dict(QUICK))
    await made.put(slow=None, main=CHAIN)
    id = await made.start("main")
    await made.settle()
    await update(made, id, "a", {"text": LARGE})
    await tell(made, id, "go", {"more": True})
    await made.settle()
    second = await made.engine.chains.newest(id)
    await update(made, id, "b", {"text": LARGE + "b"})
    if restart:
        made = await restarted(made)
        await made.settle()

    for run in (id, second):
        assert (await update(made, run, "a")).outcome.value == {"text": LARGE}
        assert (await update(made, run, "b")).outcome.value == {"text": LARGE + "b"}
    assert second != id
    await made.kill()


async def test_an_update_under_way_in_a_reset_is_handled_by_the_new_run(made):
    id = await made.start("main")
    await made.settle()
    asked = asyncio.ensure_future(update(made, id, "a"))
    await made.until(lambda: made.hands.done)

    new = await made.engine.resets.reset(GUEST, id, Place(to="last"))

    old = (await asked).outcome
    assert isinstance(old, Failure)
    assert old.code == "Closed"
    await made.until(lambda: len(made.hands.invoked) == 2)
    for activation in list(made.hands.done):
        made.hands.finish(activation, {"again": True})
    found = await made.engine.updates.outcome(GUEST, new, "a", wait_s=5)
    assert (found.execution, found.outcome.value) == (new, {"again": True})


# --- over crashes ---------------------------------------------------------------------------------


async def test_a_restart_while_it_answers_changes_nothing():
    made = await begun(answers=dict(SLOW))
    await made.put(slow=None, main=CHAIN)
    id = await handing(made)
    made = await restarted(made)
    await made.until(lambda: made.hands.done)
    await made.settle()
    asked = asyncio.ensure_future(update(made, id, "b"))
    await made.settle()
    assert await statuses(made, id) == ["running"]

    release(made)
    await made.until(lambda: len(made.hands.invoked) == 2)
    release(made)

    assert (await asked).execution == await made.engine.chains.newest(id) != id
    assert await statuses(made, id) == ["continued", "running"]
    await made.kill()


async def drive(made, id):
    """A user's program, which asks again until each of its requests is answered."""
    for each in "abcd":
        await update(made, id, each, accepted=True)
        if each in "ac":
            await tell(made, id, "go", {"more": True}, f"go-{each}")
    for each in "abcd":
        assert (await update(made, id, each, wait_s=20)).outcome.value == {"id": each}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_whatever_commit_it_dies_at(when):
    at, died = 0, True
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, dict(QUICK))
        await made.put(slow=None, main=CHAIN)
        id = await made.start("main")
        store.armed = True
        driving = asyncio.ensure_future(drive(made, id))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait({driving, dead}, return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (driving, dead):
            task.cancel()
        await asyncio.wait({driving, dead})
        await made.kill()

        again = await begun(kept, dict(QUICK), clock=made.clock)
        await again.settle()
        await drive(again, id)
        await again.settle()
        assert await statuses(again, id) == ["continued", "continued", "running"]
        assert sorted(await stored(again, "update")) == [f"/{id}/{each}" for each in "abcd"]
        told = [kind for row in await again.executions() for kind in await kinds(again, row.id)]
        assert told.count("UpdateAccepted") == told.count("UpdateCompleted") == 4
        await again.kill()
        at += 1
    assert at >= 5


# --- retention ------------------------------------------------------------------------------------


async def swept(made, monkeypatch):
    """Lets the background drop what is old, until it finds nothing more."""
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)
        await made.settle()

    monkeypatch.setattr(retention.asyncio, "sleep", sleep)
    async with Retention(made.engine, made.clock, 1):
        await made.until(lambda: pauses.count(retention.PERIOD_S) >= 4)
    monkeypatch.undo()
    await made.settle()


async def test_updates_are_kept_as_long_as_their_chain(monkeypatch):
    async with world(answers=dict(QUICK)) as made:
        await made.put(slow=None, main=CHAIN)
        id = await made.start("main")
        await made.settle()
        await update(made, id, "a")
        await update(made, id, "large", {"text": LARGE})
        await tell(made, id, "go", {"more": True}, "m")
        await made.settle()
        second = await made.engine.chains.newest(id)
        made.clock.ms += 3 * DAY_MS

        await swept(made, monkeypatch)
        assert [row.id for row in await made.executions()] == [second]
        for run in (id, second):
            assert (await update(made, run, "a")).outcome.value == {"id": "a"}
            with pytest.raises(NotFoundError, match=f"{id}, which gave it, .* repeats the effect"):
                await update(made, run, "large", {"text": LARGE})
        assert len(made.hands.invoked) == 2, "none is handled again"
        assert not await tell(made, id, "go", {"more": True}, "m")

        await tell(made, id, "go", {})
        await made.settle()
        made.clock.ms += 3 * DAY_MS
        await swept(made, monkeypatch)
        assert await made.executions() == []
        assert [await stored(made, kind) for kind in ("update", "told", "chain")] == [[]] * 3
        assert not made.store._values
