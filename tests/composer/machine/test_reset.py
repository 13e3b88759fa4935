"""Reset and fork: another run begins where a history stood, and does again what came later."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.composer.machine.test_redrive import play
from tests.kit.composer.compositions import compositions
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer.machine.history import NOTHING
from xingqiao.composer.machine.reset import ResetError, entry_of, reset
from xingqiao.composer.names import activation_id
from xingqiao.composer.values import Success

OTHER = activation_id("1" * 32, "world", 0)


def forked(world, to, composition=None, value=NOTHING):
    """Another world, whose execution begins at an entry of this one's history."""
    other = World(composition or composer.sequence(), begin=False)
    if composition is None:
        other.program = world.program
    about = {"how": "fork", "from": world.execution.id, "entry": to}
    prefix = world.history[:to]
    other.history = json.loads(json.dumps(prefix))
    other.execution, changes = reset(
        OTHER, other.program, prefix, other.limits, world.now, about=about, value=value
    )
    other.take(changes)
    return other


def ran(world):
    """Answers every step with its number of calls until the execution has ended, or sleeps."""
    while world.outcome is None and world.under_way:
        world.complete(next(iter(world.under_way.values())).action.removeprefix("/_/"), {"n": 7})
    return world.outcome


def test_steps_that_were_done_are_not_run_again():
    world = World(composer.sequence("a", "b", "c"))
    world.complete("a", {"n": 1})
    world.complete("b", {"n": 2})

    other = forked(world, entry_of(world.history, "last", "b"))

    assert other.steps == ["b"]
    assert other.invoked[-1].params == {"n": 1}
    assert ran(other) == Success({"n": 7})
    assert other.calls == ["b", "c"]


def test_its_steps_are_other_activations_than_those_of_the_run_before():
    world = World(composer.sequence("a", "b"))
    world.complete("a")

    other = forked(world, len(world.history))

    assert other.invoked[-1].activation != world.invoked[-1].activation


def test_the_first_entry_begins_again_with_the_same_input():
    world = World(composer.sequence("a", "b"), {"order": 7})
    world.complete("a")

    other = forked(world, entry_of(world.history, "first"))

    assert other.steps == ["a"]
    assert other.invoked[-1].params == {"order": 7}


def test_a_step_gets_another_input_and_so_do_its_further_attempts():
    world = World(composer.retry(2, "a"), {"n": 1})

    other = forked(world, len(world.history), value={"n": 5})
    other.fail("a", "Broken")

    assert [step.params for step in other.invoked] == [{"n": 5}, {"n": 5}]


def test_a_fork_with_another_input_can_be_redriven():
    world = World(composer.sequence("a", "b"), {"n": 1})
    other = forked(world, len(world.history), value={"n": 5})
    other.complete("a", {"n": 6})
    other.fail("b", "Broken")
    composer.redrive(OTHER, other.program, other.history, other.limits, other.now)
    execution, changes = composer.redrive(
        OTHER, other.program, other.history, other.limits, other.now
    )

    assert [command.params for _, command in changes.commands] == [{"n": 6}]
    assert execution.generation == 2


def test_a_reset_run_can_be_reset_in_turn():
    world = World(composer.sequence("a", "b", "c"))
    world.complete("a", {"n": 1})
    other = forked(world, len(world.history))
    other.complete("b", {"n": 2})

    third = forked(other, entry_of(other.history, "last", "b"))

    assert third.steps == ["b"]
    assert third.invoked[-1].params == {"n": 1}


def test_a_crash_after_it_loses_nothing():
    world = World(composer.parallel(composer.sequence("a", "b"), "c"))
    world.complete("a", {"n": 1})
    other = forked(world, len(world.history))

    other.crash()

    assert sorted(other.steps) == ["b", "c"]


def test_another_program_may_go_on_if_it_agrees_with_what_is_done():
    world = World(composer.sequence("a", "b"))
    world.complete("a")

    agreed = forked(world, len(world.history), composer.sequence("a", "c"))

    assert agreed.steps == ["c"]
    with pytest.raises(ResetError, match="does not agree"):
        forked(world, len(world.history), composer.sequence("x", "b"))


def test_nothing_begins_where_nothing_is_left_to_run():
    world = World(composer.sequence("a"))
    world.complete("a")

    with pytest.raises(ResetError, match="choose one before it"):
        forked(world, len(world.history))


def test_nothing_begins_after_a_request_to_cancel():
    world = World(composer.ensure("a", "b"))
    world.cancel()

    with pytest.raises(ResetError, match="asked to cancel"):
        forked(world, len(world.history))


def test_a_cancelled_run_that_was_redriven_can_be_reset():
    world = World(composer.sequence("a", "b"))
    world.complete("a")
    world.cancel()
    world.redrive()

    assert forked(world, len(world.history)).steps == ["b"]


def test_nothing_begins_inside_a_transaction():
    world = World(composer.transaction(composer.call("Account", "anna", "take")))

    with pytest.raises(ResetError, match="transaction"):
        forked(world, len(world.history))


def test_only_a_step_that_is_asked_for_takes_another_input():
    world = World(composer.sequence("a", "b"))
    world.complete("a")

    with pytest.raises(ResetError, match="StepScheduled"):
        forked(world, 1, value={"n": 1})


def test_entries_are_found_by_number_place_and_step():
    world = World(composer.sequence("a", "p/b", "a"))
    world.complete("a")
    world.complete("p/b")
    history = world.history
    scheduled = [at for at, e in enumerate(history, 1) if e["type"] == "StepScheduled"]

    assert entry_of(history, 2) == 2
    assert entry_of(history, "first") == 1
    assert entry_of(history, "last") == scheduled[-1]
    assert entry_of(history, "last", "p/b") == scheduled[1]
    assert entry_of(history, "last", "a") == scheduled[2]
    assert entry_of(history, "last", history[scheduled[0] - 1]["path"]) == scheduled[0]


@pytest.mark.parametrize(("to", "step"), [(0, None), (99, None), ("last", "nobody")])
def test_an_entry_that_is_not_there_is_refused(to, step):
    world = World(composer.sequence("a"))

    with pytest.raises(ResetError, match=r"there is no entry|has not asked"):
        entry_of(world.history, to, step)


def test_an_execution_without_steps_has_no_last_one():
    world = World(composer.wait(10))

    with pytest.raises(ResetError, match="has not asked for a step"):
        entry_of(world.history, "last")


@given(compositions(errors=("fail", "wait")), st.data(), st.booleans())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_from_any_entry_it_ends_as_it_did_and_does_nothing_again(composition, data, crashing):
    world = World(composition, {"n": 1})
    play(world)
    assume(isinstance(world.outcome, Success))
    to = data.draw(st.integers(1, len(world.history)))
    try:
        other = forked(world, to)
    except ResetError as error:
        assert "choose one before it" in str(error)  # noqa: PT017  some entries are the end
        assume(False)
    done = {(e["fiber"], e["turn"]) for e in world.history[:to] if e["type"] == "StepSucceeded"}

    again = play(other, crashing=crashing)

    assert other.outcome == world.outcome
    assert not done & set(again)
