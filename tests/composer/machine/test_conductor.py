"""The machine's rules for events and for unwinding, case by case."""

from __future__ import annotations

import pytest

from tests.kit.composer.one_step import CONTEXT, ENDED, INVOKING, PAUSED, PROGRAM, SLEEPING
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import (
    DIALECTS,
    Accepted,
    Limits,
    advance,
)
from xingqiao.composer.machine.execution import Execution
from xingqiao.composer.machine.fiber import Fiber
from xingqiao.composer.machine.waits import Invoking, Paused, Sleeping
from xingqiao.composer.testing import Fail, simulate
from xingqiao.composer.values import Failure, Success


def test_the_waits_that_a_fiber_goes_through():
    assert INVOKING.wait == Invoking()
    assert SLEEPING.wait == Sleeping(5000)
    assert PAUSED.wait == Paused(Failure("No", "no"))
    assert ENDED.outcome == Success({"n": 1})


def test_a_paused_execution_can_be_cancelled():
    world = World(composer.ensure(composer.retry(0, "a", on_exhausted="pause"), "tidy"))
    world.fail("a")

    world.cancel()

    assert world.steps == ["tidy"]
    world.complete("tidy")
    assert world.outcome.code == "Cancelled"


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (Fail("Timeout"), True),
        (Fail("ApplicationError", {"code": "Timeout"}), True),
        (Fail("ApplicationError", {"code": "Other"}), False),
        (Fail("Crashed"), False),
    ],
)
def test_a_handler_names_failures_by_their_code_or_their_errors(error, named):
    part = composer.do("a", composer.literal({"handled": True}), errors="Timeout")

    run = simulate(part, actions={"a": error})

    assert (run.outcome == Success({"handled": True})) is named


def refused(params):
    raise ConnectionRefusedError("down")


@pytest.mark.parametrize(
    ("errors", "named"),
    [
        (ConnectionRefusedError, True),
        ((KeyError, OSError), True),
        ({"ConnectionError"}, True),
        (Exception, True),
        ("ApplicationError", True),
        (KeyError, False),
        ("Timeout", False),
    ],
)
def test_a_handler_names_exceptions_by_their_class_or_a_base(errors, named):
    part = composer.do("a", composer.literal({"handled": True}), errors=errors)

    run = simulate(part, actions={"a": refused}, crash="every")

    assert (run.outcome == Success({"handled": True})) is named


def test_the_class_of_an_exception_passes_through_branches():
    part = composer.do(composer.parallel("a", "b"), composer.literal({"ok": 1}), errors=OSError)

    run = simulate(part, actions={"a": refused, "b": {}}, crash="every")

    assert run.value == {"ok": 1}


def test_the_innermost_that_names_it_handles_it_and_a_handler_may_fail():
    inner = composer.do("a", "h1", errors="X")
    outer = composer.do(composer.do(inner, "h2", errors="Y"), "h3")

    run = simulate(outer, actions={"a": Fail("Y"), "h1": {}, "h2": Fail("Z"), "h3": {"by": 3}})

    assert run.value == {"by": 3}
    assert [call.action for call in run.invocations] == ["/_/a", "/_/h2", "/_/h3"]


def test_a_finalizer_runs_whatever_happens_and_what_it_makes_counts():
    part = composer.ensure("a", "tidy")

    assert simulate(part, actions={"a": {"n": 1}, "tidy": lambda p: p}).value == {"n": 1}
    assert simulate(part, actions={"a": Fail("No", "e"), "tidy": {"ok": 1}}).value == {"ok": 1}
    passed = simulate(part, actions={"a": Fail("No", "e"), "tidy": lambda p: p})
    assert (passed.outcome.code, passed.error) == ("ApplicationError", "e")


def test_a_finalizer_that_fails_does_not_stop_a_cancellation_or_a_timeout():
    tidy = composer.ensure("a", "tidy")
    world = World(composer.do(tidy, "never"))
    world.cancel()
    world.fail("tidy")
    assert world.outcome.code == "Cancelled"

    world = World(
        composer.do(composer.timeout(5, tidy), composer.literal({"late": True}), errors="Timeout")
    )
    world.pass_time(5)
    world.fail("tidy")
    assert world.outcome == Success({"late": True})


def test_a_cancellation_while_a_finalizer_runs_waits_for_it():
    world = World(composer.sequence(composer.ensure("a", "tidy"), "b"))
    world.complete("a")

    world.cancel()
    assert world.steps == ["tidy"]
    world.complete("tidy")

    assert world.outcome.code == "Cancelled"


def test_the_outermost_of_two_deadlines_that_are_over_decides():
    inner = composer.do(composer.timeout(5, "a"), "inner", errors="Timeout")
    world = World(composer.do(composer.timeout(5, inner), composer.literal({"by": "outer"})))

    world.pass_time(5)

    assert world.outcome == Success({"by": "outer"})


def test_a_hundred_thousand_rounds_take_no_more_than_one():
    world = World(composer.repeat(100_000, composer.literal({"n": 1})))

    assert world.outcome == Success({"n": 1})
    assert len(world.history) == 2


def test_a_loop_takes_its_turns_and_leaves_the_others_theirs():
    limits = Limits(instructions=100)
    world = World(
        composer.parallel(composer.repeat(1000, composer.literal({})), "a"), limits=limits
    )

    assert world.outcome is None
    world.complete("a", {"is": "a"})
    assert world.outcome == Success({"value": [{}, {"is": "a"}]})


def test_ending_at_once_runs_no_finalizer_and_abandons_what_is_under_way():
    world = World(composer.parallel(composer.ensure("a", "tidy"), composer.wait(60)))

    world.terminate()

    assert (world.outcome.code, world.outcome.error["message"]) == ("Cancelled", "terminated")
    assert [step.action for step in world.abandoned] == ["/_/a"]
    assert "tidy" not in world.calls


def test_conditions_are_javascripts():
    for value, held in [
        (0, False),
        ("", False),
        (None, False),
        ([], True),
        ({}, True),
        ("0", True),
    ]:
        run = simulate(composer.when("ask", "yes", "no"), actions={
            "ask": {"value": value}, "yes": {"is": True}, "no": {"is": False}})  # fmt: skip
        assert run.value == {"is": held}


def test_what_is_asked_after_is_taken_up_at_once_after_a_crash():
    ticket = {"t": 1}
    polled = advance(PROGRAM, INVOKING, Accepted(1, ticket, polled=True), CONTEXT).fiber
    answered = advance(PROGRAM, INVOKING, Accepted(1, ticket), CONTEXT).fiber

    assert polled.wait == Invoking(ticket, polled=True)
    assert (polled.active, answered.active) == (True, False)
    assert not ENDED.active
    again = Fiber.from_json(
        polled.to_json(lambda value: value), lambda value: value, DIALECTS.frame
    )
    assert again.wait == polled.wait


def test_an_execution_knows_what_it_asks_after():
    execution = Execution("0" * 32, PROGRAM, Limits())
    execution.begin({}, 0)
    assert execution.polled == []

    execution.deliver("0", Accepted(1, {"t": 1}, polled=True), 0)

    assert execution.polled == [("0", 1, {"t": 1})]
    assert execution.pending(0) == []  # it is not sent again


def test_a_fiber_that_has_only_just_begun_is_released_once():
    program = composer.compile(composer.parallel("a", "b"))
    execution = Execution("0" * 32, program, Limits())
    execution.begin({}, 0)
    execution.proceed(0)
    members = [fiber for fiber in execution.fibers if fiber != "0"]

    held = [list(execution.release(fiber).fibers) for fiber in members]

    assert held == [[fiber] for fiber in members]
    assert not any(execution.release(fiber).fibers for fiber in members)
