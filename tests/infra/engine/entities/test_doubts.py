"""Votes in doubt: they wait for their decision, and ask for it."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.counters import add, asking, counter, entity, message, operate, prepared
from tests.kit.engine.engines import HELD, begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer as c
from xingqiao.actions import ConflictError
from xingqiao.composer import transaction


async def test_a_vote_from_elsewhere_waits_for_its_decision_over_a_restart(world):
    await prepared(world)
    await world.kill()

    again = await begun(world.store, {"counter": counter}, clock=FastClock())
    assert again.engine.gauges()["in_doubt"] == 1
    waiting = await again.start("counter", {"key": "k", "operation": "add", "params": {}})
    await again.settle()
    assert await again.run("counter", message("commit")) == {"done": "commit"}
    assert await again.result(waiting) == {"total": 6}
    assert again.engine.gauges()["in_doubt"] == 0
    await again.kill()


async def test_a_vote_is_not_in_doubt_for_less_than_no_time_when_the_clock_is_set_back():
    clock = StandingClock()
    made = await begun(answers={"counter": counter}, clock=clock)
    await made.put(counter=entity())
    await prepared(made, deadline=clock.ms + 60_000)

    clock.ms -= 5_000

    assert made.engine.gauges()["in_doubt_longest_s"] == 0
    await made.kill()


async def test_a_vote_asks_its_coordinator_until_it_hears():
    """One that has ended without a decision has aborted; one that has decided says so."""
    world = await begun(
        answers={"counter": counter, "slow": HELD}, clock=FastClock(), settings=asking(5)
    )
    await world.put(counter=entity(), slow=None)
    part = transaction(add("k", 5), c.participant("slow", "slow", "slow"))
    await world.put(both=part)
    id = await world.start("both")
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 1)
    await asyncio.sleep(0.03)  # noqa: TID251  it is asked, and undecided
    assert world.engine.gauges()["in_doubt"] == 1

    await world.engine.cancel("guest", id, terminate=True)  # nobody will tell it any more
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 0)
    assert await operate(world, "k") == {"total": 1}
    await world.kill()


async def test_what_was_decided_cannot_be_terminated_and_is_told_to_who_asks():
    answers = {"counter": counter, "yes": {}, "commit": HELD}
    world = await begun(answers=answers, clock=FastClock(), settings=asking(5))
    await world.put(counter=entity(), yes=None, commit=None)
    await world.put(both=transaction(add("k", 5), c.participant("yes", "commit", "yes")))
    id = await world.start("both")
    await world.until(lambda: "commit" in world.hands.names)

    with pytest.raises(ConflictError, match="a transaction that is decided"):
        await world.engine.cancel("guest", id, terminate=True)
    assert await operate(world, "k") == {"total": 6}
    (held,) = world.hands.done
    world.hands.finish(held, {})
    assert await world.result(id) == {"value": [{"total": 5}, {}]}
    await world.kill()


async def test_a_store_that_cannot_be_read_now_is_asked_again(monkeypatch):
    world = await begun(
        answers={"counter": counter, "slow": HELD}, clock=FastClock(), settings=asking(2)
    )
    await world.put(counter=entity(), slow=None)
    await world.put(both=transaction(add("k", 5), c.participant("slow", "slow", "slow")))
    load, failures = world.store.load, []

    async def failing(execution):
        failures.append(execution)
        if len(failures) < 3:
            raise OSError("the disk")
        return await load(execution)

    id = await world.start("both")
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 1)
    monkeypatch.setattr(world.store, "load", failing)
    await world.until(lambda: len(failures) > 3)
    await world.engine.cancel("guest", id, terminate=True)
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 0)
    await world.kill()
