"""Limits of compositions: never more than may, in order of arrival, everybody gets in; also over crashes."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun
from tests.kit.engine.engines import world as opened
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import InvalidError, NotFoundError
from xingqiao.composer import path
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.limits import limits
from xingqiao.infra.stores import MemoryStore

LOOKING = EngineSettings(pacing=Pacing(look_s=0.001))  # timers look at a clock that tests move
ANSWERS = {"work": lambda _: HELD}


def limited(name="api", **bounds):
    return composer.limit("work", name=name, **(bounds or {"concurrent": 1}))


@pytest.fixture
async def made():
    async with opened(answers=ANSWERS, settings=LOOKING) as made:
        await made.put(work=None, main=limited())
        yield made


def running(made):
    """The executions whose step is under way, in the order in which it began."""
    held = [i for i in made.hands.invoked if i.activation in made.hands.done]
    return [invocation.transaction for invocation in held]


async def finish(made, id):
    (step,) = [
        i.activation
        for i in made.hands.invoked
        if i.transaction == id and i.activation in made.hands.done
    ]
    made.hands.finish(step, {"done": id})
    await made.settle()


async def started(made, count, name="main", **params):
    found = [await made.start(name, params) for _ in range(count)]
    await made.settle()
    return found


async def kinds(made, id):
    entries = await made.engine.records.history(GUEST, id, after=0, limit=100)
    return [entry["type"] for entry in entries]


async def waits(made, id):
    return (await made.engine.records.execution(GUEST, id))["fibers"]


# --- who holds, who waits ------------------------------------------------------------------------


async def test_executions_take_turns_in_order_of_arrival(made):
    first, second, third = await started(made, 3)
    assert running(made) == [first]

    await finish(made, first)
    assert running(made) == [second]
    await finish(made, second)
    assert running(made) == [third]
    await finish(made, third)
    assert await made.result(third) == {"done": third}
    assert made.engine.limits.gauges() == {
        "limit_slots_held": 0, "limit_waiting": 0, "limit_waiting_longest_s": 0,
    }  # fmt: skip


async def test_a_free_slot_costs_no_commit_and_no_entry_but_one(made):
    await made.put(bare=composer.sequence("work"))
    before = made.engine._tick.commits
    (bare,) = await started(made, 1, "bare")
    without, before = made.engine._tick.commits - before, made.engine._tick.commits
    (id,) = await started(made, 1)

    assert made.engine._tick.commits - before == without
    assert await kinds(made, bare) == ["ExecutionStarted", "StepScheduled"]
    assert await kinds(made, id) == ["ExecutionStarted", "LimitEntered", "StepScheduled"]


async def test_one_that_waits_says_where_it_stands(made):
    first, second, third = await started(made, 3)

    (stands,) = await waits(made, third)
    assert (stands["waits"], stands["limit"], stands["before"]) == ("limit", "api", 1)
    assert await kinds(made, third) == ["ExecutionStarted", "LimitAwaited"]
    made.clock.ms += 7_000
    (listed,) = made.engine.limits.listed(GUEST)
    assert listed == {
        "name": "api", "concurrent": 1, "setBy": "composition", "holders": 1, "waiting": 2, "oldestMs": 7_000,
    }  # fmt: skip
    shown = made.engine.limits.shown(GUEST, "api")["keys"][""]
    assert [each["execution"] for each in shown["held"]] == [first]
    assert [each["execution"] for each in shown["line"]] == [second, third]
    assert made.engine.limits.gauges()["limit_waiting_longest_s"] == 7


async def test_one_that_waits_leaves_memory(made):
    first, second = await started(made, 2)
    assert second not in made.engine._parts.runs
    (stands,) = await waits(made, second)
    assert stands["before"] == 0

    await finish(made, first)
    assert running(made) == [second]


async def test_each_key_has_the_limit_for_itself(made):
    await made.put(keyed=limited(key=path("$.t"), concurrent=1))
    one, two = await started(made, 2, "keyed", t="a")
    (other,) = await started(made, 1, "keyed", t=7)

    assert running(made) == [one, other]
    assert made.engine.limits.shown(GUEST, "api")["keys"].keys() == {"a", "7"}
    await finish(made, one)
    assert running(made) == [other, two]


async def test_a_key_must_be_a_text(made):
    await made.put(keyed=limited(key=path("$.t"), concurrent=1))
    for wrong in ({"a": 1}, "x" * 256, [1]):
        (id,) = await started(made, 1, "keyed", t=wrong)
        assert "'key' must make a text" in str(await made.result(id))
    (id,) = await started(made, 1, "keyed", t="x" * 255)
    assert running(made) == [id]


async def test_a_limit_without_a_name_is_the_parts_own(made):
    part = composer.limit("work", concurrent=1)
    await made.put(one=composer.sequence(part), two=part)
    ids = await started(made, 1, "one") + await started(made, 1, "two")

    assert running(made) == ids
    assert [each["name"] for each in made.engine.limits.listed(GUEST)] == [
        "one:components[0]",
        "two",
    ]


async def test_compositions_share_a_limit_by_its_name(made):
    await made.put(other=composer.sequence("work", limited()))
    (first,) = await started(made, 1)
    (second,) = await started(made, 1, "other")
    await finish(made, second)  # the step before the limit

    assert running(made) == [first]
    await finish(made, first)
    assert running(made) == [second]


# --- leaving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fails", "cancel", "terminate"])
async def test_a_slot_is_given_back_in_any_way(made, how):
    first, second = await started(made, 2)
    if how == "fails":
        (step,) = made.hands.done
        made.hands.finish(step, {"error": "no"})
    else:
        await made.engine.cancel(GUEST, first, terminate=how == "terminate")
    await made.settle()

    assert running(made) == [second]


async def test_one_that_is_cancelled_while_it_waits_leaves_the_line(made):
    first, second, third = await started(made, 3)
    await made.engine.cancel(GUEST, second)
    await made.settle()
    (stands,) = await waits(made, third)
    assert stands["before"] == 0

    await finish(made, first)
    assert running(made) == [third]


async def test_a_timeout_bounds_the_wait(made):
    await made.put(late=composer.timeout(5, limited()))
    first, *_ = await started(made, 1)
    second, third = await started(made, 2, "late")
    made.clock.ms += 5_000
    made.engine._timers._ring()

    assert (await made.result(second))["error"]["code"] == "Timeout"
    assert (await made.result(third))["error"]["code"] == "Timeout"
    assert running(made) == [first]


async def test_branches_that_wait_leave_with_their_fork(made):
    branches = composer.parallel(limited(), limited(), limited(), composer.action("work"))
    await made.put(fork=branches)
    (id,) = await started(made, 1, "fork")
    assert made.engine.limits.gauges()["limit_waiting"] == 2
    apart = made.hands.invoked[-1].activation
    made.hands.finish(apart, {"error": "no"})
    await made.settle()

    assert "error" in await made.result(id)
    assert made.engine.limits.gauges()["limit_waiting"] == 0
    assert made.engine.limits.gauges()["limit_slots_held"] == 0


async def test_a_slot_is_held_over_a_wait_and_a_retry(made):
    steps = composer.sequence(composer.wait(60), "work")
    await made.put(slow=composer.limit(composer.retry(1, steps), concurrent=1, name="api"))
    first, second = await started(made, 2, "slow")
    for _ in range(2):
        made.clock.ms += 60_000
        made.engine._timers._ring()
        await made.settle()
        assert running(made) == [first]
        (step,) = made.hands.done
        made.hands.finish(step, {"error": "no"})
        await made.settle()

    assert "error" in await made.result(first)
    (stands,) = await waits(made, second)
    assert stands["waits"] == "timer"


# --- numbers -------------------------------------------------------------------------------------


async def test_an_operators_numbers_win_and_count_at_once(made):
    ids = await started(made, 4)
    await made.engine.limits.configure(GUEST, "api", {"concurrent": 3})
    await made.settle()
    assert running(made) == ids[:3]
    await made.engine.limits.configure(GUEST, "api", {"concurrent": 1})
    await finish(made, ids[0])
    await finish(made, ids[1])
    assert running(made) == ids[2:3]  # two had to leave first
    await finish(made, ids[2])
    assert running(made) == ids[3:]
    assert made.engine.limits.shown(GUEST, "api")["setBy"] == "operator"

    await made.engine.limits.configure(GUEST, "api", None)
    assert made.engine.limits.shown(GUEST, "api")["setBy"] == "composition"


async def test_the_last_composition_that_asks_decides_the_numbers(made):
    first, second = await started(made, 2)
    await made.put(main=limited(concurrent=3))
    (third,) = await started(made, 1)
    assert running(made) == [first, second, third]
    await made.put(main=limited(concurrent=2))
    (fourth,) = await started(made, 1)
    await finish(made, first)
    assert running(made) == [second, third]
    await finish(made, second)
    assert running(made) == [third, fourth]


async def test_an_operators_numbers_survive_a_restart():
    made = await begun(answers=ANSWERS)
    await made.engine.limits.configure(GUEST, "api", {"concurrent": 2, "per_minute": 600})
    again = await restarted(made)
    (listed,) = again.engine.limits.listed(GUEST)
    assert (listed["concurrent"], listed["per_minute"], listed["setBy"]) == (2, 600, "operator")
    await again.engine.limits.configure(GUEST, "api", None)
    with pytest.raises(NotFoundError):
        again.engine.limits.shown(GUEST, "api")
    with pytest.raises(NotFoundError):
        await again.engine.limits.configure(GUEST, "api", None)
    await again.kill()


@pytest.mark.parametrize(
    ("name", "document", "told"),
    [
        ("api", [], "must be a JSON object"),
        (
            "api",
            {"slots": 1},
            "'slots' is not a number of a limit, which has concurrent and per_minute",
        ),
        ("api", {"concurrent": 0}, "'concurrent' must be an int from 1"),
        ("api", {"per_minute": True}, "'per_minute' must be an int from 1"),
        ("a/b", {}, "'limit' must be the name of a limit"),
    ],
)
async def test_wrong_numbers_are_refused(made, name, document, told):
    with pytest.raises(InvalidError, match=told):
        await made.engine.limits.configure(GUEST, name, document)


async def test_a_rate_lets_executions_in_evenly(made):
    await made.put(main=limited(per_minute=60))
    ids = await started(made, 3)
    assert running(made) == ids[:1]
    made.clock.ms += 999
    await ring(made)
    assert running(made) == ids[:1]
    made.clock.ms += 1
    await ring(made)
    assert running(made) == ids[:2]
    made.clock.ms += 1_000
    await ring(made)
    assert running(made) == ids


async def ring(made):
    made.engine.limits._lines._timers._ring()
    await made.settle()


# --- crashes -------------------------------------------------------------------------------------


async def test_after_a_crash_the_same_hold_and_the_same_wait_in_the_same_order():
    made = await begun(answers=ANSWERS, settings=LOOKING)
    await made.put(work=None, main=limited(concurrent=2))
    ids = await started(made, 5)
    again = await restarted(made, 60)
    await again.settle()
    assert sorted(running(again)) == sorted(ids[:2])

    (newer,) = await started(again, 1)
    for id, come in zip(ids[:4], [*ids[2:], newer], strict=True):
        await finish(again, id)
        assert running(again)[-1] == come
    await again.kill()


async def test_a_redriven_execution_has_its_slot_at_once(made):
    first, second = await started(made, 2)
    (step,) = made.hands.done
    made.hands.finish(step, {"error": "no"})
    await made.settle()
    assert running(made) == [second]

    await made.engine.redrive(GUEST, first)
    await made.settle()
    (third,) = await started(made, 1)
    assert sorted(running(made)) == sorted([first, second])
    await finish(made, first)
    assert running(made) == [second]
    await finish(made, second)
    assert running(made) == [third]


async def test_a_redriven_execution_that_waited_asks_again(made):
    first, second, third = await started(made, 3)
    await made.engine.cancel(GUEST, second)
    await made.settle()
    await made.engine.redrive(GUEST, second)
    await made.settle()
    (stands,) = await waits(made, second)
    assert stands["before"] == 1

    await finish(made, first)
    assert running(made) == [third]
    await finish(made, third)
    assert running(made) == [second]


async def test_a_call_that_the_store_did_not_take_waits_for_nothing(made):
    (first,) = await started(made, 1)
    run = made.engine._parts.runs[first]
    (second,) = await started(made, 1)
    made.engine.limits.gone(run)
    await made.settle()

    assert running(made)[-1] == second


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(8))
async def test_a_crash_at_any_commit_leaves_one_holder_and_loses_nobody(at, when):
    store = DyingStore(MemoryStore(), at, when)
    made = await begun(store, ANSWERS)
    await made.put(work=None, main=limited())
    store.armed = True

    async def act():
        for id in await started(made, 3):
            await finish(made, id)

    acting = asyncio.ensure_future(act())
    dying = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait({acting, dying}, return_when=asyncio.FIRST_COMPLETED)
    acting.cancel()
    dying.cancel()
    await asyncio.gather(acting, dying, return_exceptions=True)
    again = await begun(store._store, ANSWERS)
    await again.settle()
    known = sorted(row.id for row in await again.executions() if row.ended_ms is None)
    seen = []
    while running(again):
        assert len(running(again)) == 1
        seen += running(again)
        await finish(again, seen[-1])
    assert sorted(seen) == known
    await again.kill()


# --- the law -------------------------------------------------------------------------------------


class Reference:
    """A limit: holders and a line."""

    def __init__(self, most):
        self.most, self.holders, self.line = most, [], []

    def arrive(self, id):
        self.line.append(id)
        self._fill()

    def leave(self, id):
        for those in (self.holders, self.line):
            if id in those:
                those.remove(id)
        self._fill()

    def bound(self, most):
        self.most = most
        self._fill()

    def _fill(self):
        while self.line and len(self.holders) < self.most:
            self.holders.append(self.line.pop(0))


ACTIONS = st.lists(
    st.one_of(
        st.just(("start", 0)),
        st.tuples(
            st.sampled_from(["end", "fail", "cancel", "terminate", "bound"]), st.integers(0, 5)
        ),
        st.just(("crash", 0)),
    ),
    max_size=16,
)


@settings(max_examples=40, deadline=None)
@given(ACTIONS, st.integers(1, 3))
def test_a_limit_does_what_its_reference_does(actions, most):
    asyncio.run(follow(actions, most))


async def follow(actions, most):
    made, reference = await begun(answers=ANSWERS), Reference(most)
    await made.put(work=None, main=limited(concurrent=most))
    for what, which in actions:
        made.clock.ms += 1
        standing = [*reference.holders, *reference.line]
        if what == "start":
            (id,) = await started(made, 1)
            reference.arrive(id)
        elif what == "crash":
            made = await restarted(made)
        elif what == "bound":
            await made.engine.limits.configure(GUEST, "api", {"concurrent": which + 1})
            reference.bound(which + 1)
        elif what in ("cancel", "terminate") and standing:
            id = standing[which % len(standing)]
            await made.engine.cancel(GUEST, id, terminate=what == "terminate")
            reference.leave(id)
        elif what in ("end", "fail") and reference.holders:
            id = reference.holders[which % len(reference.holders)]
            (step,) = [
                i.activation
                for i in made.hands.invoked
                if i.transaction == id and i.activation in made.hands.done
            ]
            made.hands.finish(step, {"error": "no"} if what == "fail" else {})
            reference.leave(id)
        await made.settle()
        assert sorted(running(made)) == sorted(reference.holders)
        line = made.engine.limits._lines
        waiting = [id.split(":")[0] for _, each in line for id in each.waiting]
        assert waiting == reference.line
    await made.kill()


class Paused:
    """A recovery that never ends by itself, and is paused for a while."""

    def __init__(self, looks):
        self.settled, self.looks = asyncio.Event(), looks

    @property
    def paused(self):
        self.looks -= 1
        return self.looks >= 0


async def test_nobody_gets_a_slot_while_the_server_is_paused(made, monkeypatch):
    monkeypatch.setattr(limits, "OPEN_S", 0)
    first, second = await started(made, 2)
    made.engine.limits.close()
    await finish(made, first)
    assert running(made) == []

    recovery = Paused(looks=3)
    await made.engine.limits.begin(recovery, made.engine._step_limits)
    await made.settle()
    assert (running(made), recovery.looks) == ([second], -1)
