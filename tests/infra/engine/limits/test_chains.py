"""Slots of limits and chains: a run that continues gives back what it holds, and the next one lines up."""

from __future__ import annotations

import asyncio

import pytest

from tests.infra.engine.limits.test_limits import ANSWERS, LOOKING, finish, running, started
from tests.kit.engine.engines import DyingStore, begun
from tests.kit.engine.engines import world as opened
from tests.kit.engine.mail import tell
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.composer import continue_as_new, on_update, path, receive, updates
from xingqiao.infra.stores import MemoryStore

LIMITED = composer.limit("work", name="api", concurrent=1)
# The step ends while it holds a slot, and the run continues inside the limit.
WITHIN = composer.limit(
    composer.sequence(composer.retain("work"), continue_as_new({"n": 1})), name="api", concurrent=1
)
AROUND = composer.sequence(LIMITED, continue_as_new({"n": 1}))


@pytest.fixture
async def made():
    async with opened(answers=ANSWERS, settings=LOOKING) as made:
        await made.put(work=None, main=LIMITED, around=AROUND, within=WITHIN)
        yield made


def held(made):
    """The executions that hold a slot of the limit."""
    keys = made.engine.limits.shown("guest", "api")["keys"]
    return [each["execution"] for each in keys[""]["held"]]


def line(made):
    keys = made.engine.limits.shown("guest", "api")["keys"]
    return [each["execution"] for each in keys[""]["line"]]


@pytest.mark.parametrize("name", ["around", "within"])
@pytest.mark.parametrize("restart", [False, True])
async def test_a_run_that_continues_gives_its_slot_back(name, restart):
    made = await begun(answers=ANSWERS, settings=LOOKING)
    await made.put(work=None, main=LIMITED, around=AROUND, within=WITHIN)
    (first,) = await started(made, 1, name)
    (other,) = await started(made, 1)
    assert (held(made), line(made)) == ([first], [other])
    await finish(made, first)
    if restart:
        made = await restarted(made)
        await made.settle()

    second = await made.engine.chains.newest(first)
    assert second != first
    assert (held(made), line(made)) == ([other], [second]), "the next run is behind who waited"
    await finish(made, other)
    assert held(made) == running(made) == [second]
    await finish(made, second)
    assert held(made) == running(made) == [await made.engine.chains.newest(first)]
    await made.kill()


async def test_a_slot_is_kept_until_updates_are_answered(made):
    part = updates(
        composer.sequence(receive("go"), continue_as_new()), change=on_update(body="work")
    )
    await made.put(main=composer.limit(part, name="api", concurrent=1), other=LIMITED)
    (first,) = await started(made, 1)
    await made.engine.updates.update("guest", first, "change", {}, "u", wait_s=5, accepted=True)
    await tell(made, first, "go")
    await made.settle()
    (other,) = await started(made, 1, "other")
    assert (held(made), line(made)) == ([first], [other])

    await finish(made, first)

    second = await made.engine.chains.newest(first)
    assert second != first
    assert (held(made), line(made)) == ([other], [second])


@pytest.mark.parametrize("terminate", [True, False])
async def test_a_chain_that_is_stopped_by_its_first_run_leaves_the_line(made, terminate):
    (first,) = await started(made, 1, "around")
    (other,) = await started(made, 1)
    await finish(made, first)
    assert line(made) == [await made.engine.chains.newest(first)]

    await made.engine.cancel("guest", first, terminate=terminate)
    await made.settle()

    assert (held(made), line(made)) == ([other], [])


@pytest.mark.parametrize("when", ["before", "after"])
async def test_never_two_hold_the_slot_whatever_commit_it_dies_at(when):
    three = composer.sequence(
        LIMITED,
        composer.select({"left": path("$.left", default=2)}),
        composer.when(path("$.left") > 0, continue_as_new({"left": 0})),
    )
    at, died = 0, True
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, ANSWERS, settings=LOOKING)
        await made.put(work=None, main=three)
        store.armed = True
        driving = asyncio.ensure_future(drive(made))
        dead = asyncio.ensure_future(store.dead.wait())
        await asyncio.wait({driving, dead}, return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (driving, dead):
            task.cancel()
        await asyncio.wait({driving, dead})
        await made.kill()

        again = await begun(kept, ANSWERS, settings=LOOKING, clock=made.clock)
        await again.settle()
        await drive(again)
        rows = await again.executions()
        assert {row.status for row in rows} <= {"continued", "succeeded"}
        assert again.engine.limits.gauges()["limit_slots_held"] == 0
        await again.kill()
        at += 1
    assert at >= 4


async def drive(made):
    """Starts two executions, and ends their steps one after the other."""
    await started(made, 2)
    while now := running(made):
        assert len(now) == 1
        (step,) = [each for each in made.hands.invoked if each.activation in made.hands.done]
        made.hands.finish(step.activation, step.params)
        await made.settle()
