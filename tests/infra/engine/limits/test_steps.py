"""Limits of actions with code: their steps wait for each other, and none is refused."""

from __future__ import annotations

import asyncio

import pytest

from tests.infra.engine.limits.test_limits import ANSWERS, LOOKING, finish, running, started
from tests.kit.engine.engines import CODE, GUEST, Hands, begun
from tests.kit.engine.engines import world as opened
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import Completion, InvalidError
from xingqiao.composer import Failure, Success


def coded(annotations=(), **limits):
    notes = [{"key": key, "value": value} for key, value in annotations]
    return {**CODE, "limits": limits, "annotations": notes}


@pytest.fixture
async def made():
    async with opened(answers=ANSWERS, settings=LOOKING) as made:
        await made.put(work=coded(concurrent=1), main=composer.sequence("work"))
        yield made


def waiting(made):
    return made.engine.gauges()["limited_steps"]


async def test_steps_take_turns_in_order(made):
    first, second, third = await started(made, 3)
    assert (running(made), waiting(made)) == ([first], 2)
    for done, next_one in ((first, second), (second, third)):
        await finish(made, done)
        assert running(made) == [next_one]
    await finish(made, third)
    assert await made.result(third) == {"done": third}
    assert waiting(made) == 0


async def test_direct_invocations_wait_too(made):
    (first,) = await started(made, 1)
    (second,) = await started(made, 1, "work")
    assert running(made) == [first]
    await finish(made, first)
    assert running(made) == [second]
    await finish(made, second)
    assert await made.result(second) == {"done": second}


@pytest.mark.parametrize("terminate", [True, False])
async def test_one_that_is_cancelled_leaves_its_place_or_its_slot(made, terminate):
    first, second, third = await started(made, 3)
    await made.engine.cancel(GUEST, second, terminate=terminate)
    await made.settle()
    assert waiting(made) == 1
    await made.engine.cancel(GUEST, first, terminate=terminate)
    await made.settle()
    assert running(made) == [third]


async def test_a_failure_gives_the_slot_back(made):
    _, second = await started(made, 2)
    (step,) = made.hands.done
    made.hands.finish(step, Failure("No", "no"))
    await made.settle()
    assert running(made) == [second]


async def test_a_rate_lets_steps_begin_evenly(made):
    await made.put(work=coded(concurrent=None, per_minute=60))
    ids = await started(made, 2)
    assert running(made) == ids[:1]
    made.clock.ms += 1_000
    made.engine._step_limits._lines._timers._ring()
    await made.settle()
    assert running(made) == ids


async def test_the_time_in_which_a_step_waits_does_not_count(made):
    await made.put(main=composer.within("work", to_end=5))
    first, second = await started(made, 2)
    made.clock.ms += 4_000
    await finish(made, first)
    made.clock.ms += 4_000
    made.engine._timers._ring()
    await made.settle()
    assert running(made) == [second]
    made.clock.ms += 1_000
    made.engine._timers._ring()
    assert (await made.result(second))["error"]["code"] == "Timeout"
    assert waiting(made) == 0


async def test_other_numbers_count_as_soon_as_a_step_asks(made):
    ids = await started(made, 2)
    await made.put(work=coded(concurrent=3))
    ids += await started(made, 1)
    assert sorted(running(made)) == sorted(ids)


async def test_a_paused_execution_holds_back_what_has_its_turn(made):
    first, second = await started(made, 2)
    await made.engine.pauses.pause(GUEST, second)
    await finish(made, first)
    assert running(made) == []
    await made.engine.resume(GUEST, second)
    await made.settle()
    assert running(made) == [second]


@pytest.mark.parametrize("annotations", [(), [("at-most-once", True)]])
async def test_after_a_crash_those_who_waited_still_run(annotations):
    made = await begun(answers=ANSWERS)
    await made.put(work=coded(annotations, concurrent=1), main=composer.sequence("work"))
    ids = await started(made, 3)
    again = await restarted(made)
    await again.settle()
    seen = []
    while running(again):
        (id,) = running(again)
        seen.append(id)
        await finish(again, id)
    lost = 1 if annotations else 0  # the one that ran
    assert sorted(seen) == sorted(ids[lost:])
    await again.kill()


async def test_a_step_of_a_saga_that_waited_and_did_not_run_is_not_undone(made):
    await made.put(first=None, undo=None)
    made.hands.answers |= {"first": {}, "undo": {}}
    steps = [composer.step("first", undo="undo"), composer.step("work", undo="undo")]
    await made.put(saga=composer.saga(*steps))
    (first,) = await started(made, 1)
    (saga,) = await started(made, 1, "saga")
    await finish(made, first)
    (step,) = made.hands.done
    made.hands.finish(step, Failure("Throttled", "not now"))
    await made.settle()

    assert await made.result(saga) == {"error": "not now"}
    assert made.hands.names.count("undo") == 1  # that of `first`


async def test_a_paused_execution_that_waits_keeps_nobody_from_its_action(made):
    first, second, third = await started(made, 3)
    await made.engine.pauses.pause(GUEST, second)
    await finish(made, first)
    assert running(made) == [third]
    await made.engine.resume(GUEST, second)
    await made.settle()
    assert (running(made), waiting(made)) == ([third], 1)
    await finish(made, third)
    assert running(made) == [second]
    await made.engine.cancel(GUEST, second, terminate=True)
    await made.settle()
    assert made.engine._step_limits.steps == {}


class Elsewhere(Hands):
    """An invoker whose actions run elsewhere: it polls for their answers."""

    def invoke(self, invocation, done):
        self.invoked.append(invocation)
        now_ms, ticket = self._clock.now_ms(), {"id": invocation.activation}
        accepted = Completion(Success({}), now_ms, now_ms, ticket=ticket)
        asyncio.get_running_loop().call_soon(done, accepted)

    def resume(self, invocation, ticket, done):
        self.done[invocation.activation] = done


async def test_a_step_that_is_polled_for_keeps_its_slot_over_a_restart():
    made = await begun(hands=Elsewhere)
    await made.put(work=coded(concurrent=1), main=composer.sequence("work"))
    ids = await started(made, 3)
    assert (running(made), waiting(made)) == (ids[:1], 2)
    await made.kill()

    again = await begun(made.store, clock=made.clock, hands=Elsewhere)
    ids += await started(again, 1)
    assert ([*again.hands.done], waiting(again)) == ([*made.hands.done], 3)
    again.hands.finish(*again.hands.done, {})
    seen = [*ids[:1]]
    await again.settle()
    while running(again):
        (id,) = running(again)
        seen.append(id)
        await finish(again, id)
    assert (sorted(seen), again.engine._step_limits.steps) == (sorted(ids), {})
    await again.kill()


ANSWERING = [("completion", "callback")]


@pytest.mark.parametrize("how", ["answer", "failure", "cancel", "terminate", "timeout"])
async def test_a_step_that_is_answered_by_callback_keeps_its_slot_until_then(how):
    made = await begun(answers={"work": {}}, settings=LOOKING)
    work = coded(ANSWERING, concurrent=1)
    bounded = composer.within("work", in_all=100)
    await made.put(work=work, main=composer.sequence("work"), bounded=bounded)
    (first,) = await started(made, 1, "bounded")
    (second,) = await started(made, 1)
    assert ([i.transaction for i in made.hands.invoked], waiting(made)) == ([first], 1)
    token = made.hands.invoked[0].token
    match how:
        case "answer":
            await made.engine.complete(token, Success({"said": "yes"}))
        case "failure":
            await made.engine.complete(token, Failure("ApplicationError", "no"))
        case "timeout":
            made.clock.ms += 100_000
            made.engine._timers._ring()
        case _:
            await made.engine.cancel(GUEST, first, terminate=how == "terminate")
    await made.settle()
    assert ([i.transaction for i in made.hands.invoked], waiting(made)) == ([first, second], 0)
    await made.engine.complete(made.hands.invoked[1].token, Success({}))
    await made.result(second)
    assert made.engine._step_limits.steps == {}
    await made.kill()


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (coded(concurrent=0), "concurrent 0 is below allowed threshold of 1"),
        (coded(per_minute=1_000_001), "per_minute 1000001 exceeds allowed threshold of 1000000"),
        (
            {
                "exec": {"kind": "sequence", "components": ["/guest/work"]},
                "limits": {"concurrent": 1},
            },
            "are for actions with code",
        ),
    ],
)
async def test_wrong_limits_are_refused(made, document, why):
    with pytest.raises(InvalidError, match=why):
        await made.put(wrong=document)


async def test_null_removes_a_limit(made):
    await made.put(work=coded(concurrent=None))
    ids = await started(made, 2)
    assert sorted(running(made)) == sorted(ids)
