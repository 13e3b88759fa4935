"""One run of a program: its fibers and the joins between them, cancelled, stored and restored."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import INPUTS, compositions, plans
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import Completed, Failed
from xingqiao.composer.machine.storage import TURNS_TOLD
from xingqiao.composer.testing import Fail
from xingqiao.composer.values import Failure, Success, copied

CANCELLED = Failure("Cancelled", {"code": "Cancelled", "message": "cancelled"})


def test_an_execution_may_begin_later():
    execution = composer.Execution("x", composer.compile(composer.sequence("a")), composer.Limits())

    begun = execution.begin({}, 0, later=True)
    again = composer.Execution.restore(
        "x", execution.program, begun.fibers.values(), composer.Limits()
    )

    assert begun.more
    assert not begun.commands
    assert [entry.kind for entry in begun.entries] == ["ExecutionStarted"]
    for each in (execution, again):
        assert [command.action for _, command in each.proceed(1).commands] == ["/_/a"]


# --- cancelling -----------------------------------------------------------------------------------


def test_cancelling_a_fork_is_not_stale():
    world = World(composer.parallel("a", "b", "c"))

    changes = world.cancel()

    assert not changes.stale
    assert world.outcome == CANCELLED
    assert sorted(step.action for step in world.abandoned) == ["/_/a", "/_/b", "/_/c"]


@pytest.mark.parametrize("inner", ["fail", "wait", "collect"])
@pytest.mark.parametrize("outer", ["fail", "wait", "collect"])
def test_cancelling_nested_forks_cancels_every_branch(inner, outer):
    branch = composer.map("a", items=[1, 2], errors=inner)
    world = World(composer.parallel(branch, branch, "b", errors=outer))

    world.cancel()

    assert world.outcome == CANCELLED
    assert len(world.abandoned) == 5


def test_cancelling_what_has_ended_changes_nothing():
    world = World(composer.action("a"))
    world.complete("a")

    assert world.cancel().stale


def test_terminating_what_has_ended_changes_nothing():
    world = World(composer.action("a"))
    world.complete("a")

    assert world.terminate().stale


def test_a_member_cancelled_before_its_first_wait_stays_cancelled_after_a_crash():
    long = composer.ensure(composer.repeat(400, composer.literal({})).then("a"), "clean up")
    limits = composer.Limits(instructions=1_000)
    world = World(
        composer.parallel(long, composer.repeat(250, composer.literal({}))), limits=limits
    )

    assert world.steps == ["a"]
    world.cancel()
    assert world.steps == ["clean up"]

    world.crash()

    assert world.steps == ["clean up"]
    world.complete("clean up")
    assert world.outcome == CANCELLED


def test_what_is_ready_after_a_crash_goes_on_by_itself():
    limits = composer.Limits(instructions=20)
    world = World(
        composer.sequence("a", composer.repeat(100, composer.literal({})), "b"), limits=limits
    )
    fiber, turn = next(iter(world.under_way))
    changes = world.execution.deliver(fiber, Completed(turn, {}), world.now)
    assert changes.more
    world.commit(changes)  # and then it dies

    world.crash()

    assert world.steps == ["b"]
    assert not world.execution.ready


def test_new_fibers_count_as_instructions_of_a_turn():
    nested = composer.parallel(
        *[composer.parallel(*[composer.literal({})] * 10) for _ in range(10)]
    )
    execution = composer.Execution(
        "e" * 32, composer.compile(nested), composer.Limits(instructions=20)
    )

    changes = execution.begin({}, 0)
    grown = [len(execution.fibers)]
    while changes.more:
        before = len(execution.fibers)
        changes = execution.proceed(0)
        grown.append(len(execution.fibers) - before)

    assert max(grown) <= 30  # a share, and the fork that goes beyond it; not 100 at once
    assert isinstance(changes.outcome, Success)


def test_a_step_is_told_by_the_history_and_now_and_then_by_the_fiber_itself():
    world = World(composer.repeat(100, composer.sequence("a")))
    stored = 0
    while world.outcome is None:
        fiber, turn = next(iter(world.under_way))
        del world.under_way[fiber, turn]
        stored += len(world.deliver(fiber, Completed(turn, {"n": turn})).fibers)

    assert stored == 100 // TURNS_TOLD


def test_what_the_history_tells_is_as_it_would_have_been_stored():
    part = composer.let({"x": 0}, composer.retain(composer.sequence("a", "b", "inline")))
    count = composer.function(lambda params, variables: variables.update(x=params["n"]))
    world = World(
        composer.let({"x": 0}, composer.sequence("a", count, composer.retain("b"), part.then("c")))
    )
    while world.outcome is None:
        stood = world.root
        world.crash()
        assert world.root == stood
        fiber, turn = next(iter(world.under_way))
        del world.under_way[fiber, turn]
        world.deliver(fiber, Completed(turn, {"n": turn}, {"x": turn} if turn == 2 else None))


def test_what_was_redriven_to_its_end_is_as_if_it_had_ended_then():
    world = World(composer.sequence("a", composer.raise_error("No")))
    world.complete("a", {"n": 1})
    world.redrive(composer.sequence("a"))

    assert world.outcome == Success({"n": 1})
    assert world.cancel().stale


# --- a crash between any two events ---------------------------------------------------------------


def called(program, step):
    """What an inline function comes back with, and the variables as it leaves them."""
    runtime = program.functions[step.function]
    scope = {}
    exec(runtime["code"], scope)
    main = scope[runtime["main"]]
    params, variables = copied(step.params), copied(step.variables)
    result = main(*[params, variables][: main.__code__.co_argcount])
    return params if result is None else result, variables


def answer(world, fakes):
    """Answers the first step under way: the choice does not depend on what a crash has put in order."""
    fiber, turn = place = min(world.under_way)
    step = world.under_way.pop(place)
    variables = None
    try:
        if step.action is None:
            value, variables = called(world.program, step)
        else:
            value = fakes[step.action.removeprefix("/_/")](step.params)
    except (LookupError, TypeError, ValueError) as error:
        value = Fail("ApplicationError", repr(error))
    event = Completed(turn, value, variables)
    if isinstance(value, Fail):
        event = Failed(turn, Failure(value.code, value.error))
    world.deliver(fiber, event)


@given(compositions(), INPUTS, plans(), st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_crash_between_any_two_events_changes_nothing(composition, params, fakes, data):
    calm, world = World(composition, params), World(composition, params)
    while calm.under_way:
        answer(calm, fakes)

    while world.under_way:
        for _ in range(data.draw(st.integers(0, 2))):
            world.crash()
        answer(world, fakes)

    assert world.outcome == calm.outcome is not None
    asked = {step.activation: step for step in calm.invoked}
    assert {step.activation for step in world.invoked} == set(asked)
    assert all(asked[step.activation] == step for step in world.invoked)
    assert len(world.spawned) == len(calm.spawned)
