"""Waits while the machine's clock is set: so long is so long, and an instant is what the clock shows."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import GUEST, HELD, begun, world
from xingqiao import composer
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.timers import Timers
from xingqiao.infra.stores import MemoryStore

HOUR_MS = 3_600_000
SOON = composer.sequence(composer.wait(0.05), "a")
ANSWERS = {"a": {"n": 1}}


class SetClock(SystemClock):
    """The machine's clock, which somebody sets."""

    shift_ms = 0

    def now_ms(self):
        return super().now_ms() + self.shift_ms


@pytest.fixture
def clock():
    return SetClock()


LOOKING_OFTEN = EngineSettings(pacing=Pacing(look_s=0.01))


async def status(made, id):
    return (await made.engine.records.execution(GUEST, id))["status"]


@pytest.mark.parametrize("hours", [-2, 2])
async def test_a_wait_takes_as_long_whatever_the_clock_is_set_to(clock, hours):
    twice = composer.sequence(composer.wait(0.1), composer.wait(0.05), "a")
    async with world(answers=ANSWERS, clock=clock) as made:
        await made.put(a=None, twice=twice, long=composer.sequence(composer.wait(3600)), soon=SOON)
        id, long = await made.start("twice"), await made.start("long")
        await made.settle()

        clock.shift_ms = hours * HOUR_MS

        assert await made.result(id) == {"n": 1}
        assert await made.run("soon") == {"n": 1}
        assert await status(made, long) == "running"


async def test_a_deadline_is_as_far_away_whatever_the_clock_is_set_to(clock):
    slow = composer.timeout(0.2, composer.sequence(composer.wait(3600)))
    fits = composer.timeout(60, composer.sequence(composer.wait(0.1), "a"))
    for shift_ms in (-2 * HOUR_MS, 2 * HOUR_MS):
        clock.shift_ms = 0
        async with world(answers=ANSWERS, clock=clock) as made:
            await made.put(a=None, slow=slow, fits=fits)
            late, early = await made.start("slow"), await made.start("fits")
            await made.settle()

            clock.shift_ms = shift_ms

            assert (await made.result(late))["error"]["code"] == "Timeout"
            assert await made.result(early) == {"n": 1}


async def test_an_instant_comes_when_the_clock_shows_it(clock):
    until = composer.sequence(composer.wait(until=composer.path("$.at")), composer.wait(0.01), "a")
    async with world(answers=ANSWERS, clock=clock, settings=LOOKING_OFTEN) as made:
        await made.put(a=None, until=until, soon=SOON)
        id = await made.start("until", {"at": clock.now_ms() / 1000 + 3600})
        await made.settle()
        assert await status(made, id) == "running"

        clock.shift_ms = 2 * HOUR_MS

        assert await made.result(id) == {"n": 1}


async def test_a_history_goes_on_when_the_clock_is_set_back_after_the_start(clock):
    async with world(answers={"a": HELD}, clock=clock) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.invoked)

        clock.shift_ms = -HOUR_MS
        made.hands.finish(made.hands.invoked[0].activation, {})

        await made.result(id)
        entries = await made.engine.records.history(GUEST, id, after=0, limit=100)
        instants = [entry["at"] for entry in entries]
        assert instants == sorted(instants)


async def test_nothing_ends_before_it_began_when_the_clock_is_set_back(clock):
    async with world(answers={"a": HELD}, clock=clock) as made:
        await made.put(a=None, main=composer.sequence("a"))
        id = await made.start("main")
        await made.until(lambda: made.hands.invoked)

        clock.shift_ms = -HOUR_MS
        assert (await made.engine.records.cost(GUEST, id))["elapsed"] == 0
        await made.engine.cancel(GUEST, id, terminate=True)
        await made.result(id)

        execution = await made.engine.records.execution(GUEST, id)
        assert execution["end"] >= execution["start"]
        rows = sorted(await made.activations(), key=lambda row: row.name)
        records = [await made.record(row.id) for row in rows]
        assert [(row["name"], row["end"] - row["start"], row["duration"]) for row in records] == [
            ("a", 0, 0),
            ("main", 0, 0),
        ]


async def test_nothing_is_stuck_for_less_than_no_time(clock):
    async with world(answers={"a": HELD}, clock=clock) as made:
        made.engine._parts.stuck["some"] = clock.now_ms()
        clock.shift_ms = -HOUR_MS

        assert made.engine.gauges()["stuck_longest_s"] == 0


async def test_an_instant_comes_later_when_the_clock_is_set_back(clock):
    until = composer.timeout(60, composer.sequence(composer.wait(until=composer.path("$.at")), "a"))
    async with world(answers=ANSWERS, clock=clock, settings=LOOKING_OFTEN) as made:
        await made.put(a=None, until=until, soon=SOON)
        id = await made.start("until", {"at": clock.now_ms() / 1000 + 0.05})
        clock.shift_ms = -2 * HOUR_MS

        assert await made.run("soon") == {"n": 1}
        assert await status(made, id) == "running"
        clock.shift_ms = 0

        assert await made.result(id) == {"n": 1}


class MovedClock(StandingClock):
    """A clock that is moved by hand, and that somebody sets: then no time goes by."""

    shift_ms = 0

    def now_ms(self):
        return self.ms + self.shift_ms


async def test_after_a_restart_an_instant_is_still_what_the_clock_shows():
    store, clock = MemoryStore(), MovedClock()
    made = await begun(store, ANSWERS, clock=clock, settings=LOOKING_OFTEN)
    until = composer.sequence(composer.wait(until=composer.path("$.at")), "a")
    await made.put(a=None, until=until, soon=SOON)
    instant = await made.start("until", {"at": clock.now_ms() / 1000 + 0.4})
    wait = await made.start("soon")
    await made.settle()
    await made.kill()

    again = await begun(store, ANSWERS, clock=clock, settings=LOOKING_OFTEN)
    clock.ms += 60
    assert await again.result(wait) == {"n": 1}
    clock.shift_ms = -2 * HOUR_MS
    clock.ms += 400
    await again.until(
        lambda: len(again.engine._alarms)
    )  # its timer has come, and was not what the clock shows
    assert await status(again, instant) == "running"
    clock.shift_ms = 0

    assert await again.result(instant) == {"n": 1}
    await again.kill()


@pytest.mark.parametrize("few", [1, 6, 7, 50])
async def test_timers_that_are_added_together_fire_in_the_order_of_their_instants(few):
    fired, clock = [], StandingClock()
    timers = Timers(clock, lambda execution, _: fired.append(execution))
    now_ms = clock.now_ms()
    many = [(now_ms - 2 * n, f"even {n}", "0") for n in range(100)]
    some = [(now_ms - 2 * n - 1, f"odd {n}", "0") for n in range(few)]

    timers.arm_all(many)
    timers.arm_all(some)
    while timers:
        await asyncio.to_thread(lambda: None)

    assert fired == [execution for _, execution, _ in sorted([*many, *some])]
