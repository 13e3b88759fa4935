"""Redrive: a failed execution goes on from the steps that failed, and does nothing twice."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.kit.composer.compositions import compositions
from tests.kit.composer.world import World
from xingqiao import composer
from xingqiao.composer import RedriveError, path, var
from xingqiao.composer.testing import Fail, simulate
from xingqiao.composer.values import Failure, Success


def run_on(world, answers):
    """Answers steps by name until the execution has ended."""
    while world.outcome is None:
        step = next(iter(world.under_way.values()))
        answer = answers[step.action.removeprefix("/_/")]
        if isinstance(answer, Failure):
            world.fail(step.action.removeprefix("/_/"), answer.code, answer.error)
        else:
            world.complete(step.action.removeprefix("/_/"), answer)
    return world.outcome


def test_it_goes_on_from_the_step_that_failed():
    world = World(composer.sequence("a", "b", "c"))
    world.complete("a", {"n": 1})
    world.fail("b", "Broken")

    world.redrive()

    assert world.steps == ["b"]
    assert world.invoked[-1].params == {"n": 1}
    assert run_on(world, {"b": {"n": 2}, "c": {"n": 3}}) == Success({"n": 3})
    assert world.calls == ["a", "b", "b", "c"]
    assert world.kinds().count("ExecutionRedriven") == 1


def test_the_step_is_another_activation_than_the_one_that_failed():
    world = World(composer.action("a"))
    world.fail("a")

    world.redrive()

    first, second = (step.activation for step in world.invoked)
    assert first != second


def test_it_may_fail_and_be_redriven_again():
    world = World(composer.sequence("a", "b"))
    for _ in range(3):
        world.fail("a")
        world.redrive()
    world.complete("a")
    world.fail("b")
    world.redrive()

    assert world.steps == ["b"]
    world.complete("b", {"done": True})
    assert world.outcome == Success({"done": True})
    assert world.calls == ["a", "a", "a", "a", "b", "b"]


def test_of_branches_only_those_that_failed_run_again():
    world = World(composer.parallel("a", "b", "c", errors="wait"))
    world.complete("a", {"is": "a"})
    world.fail("b")
    world.complete("c", {"is": "c"})

    world.redrive()

    assert world.steps == ["b"]
    world.complete("b", {"is": "b"})
    assert world.outcome == Success({"value": [{"is": "a"}, {"is": "b"}, {"is": "c"}]})


def test_branches_that_a_failure_cancelled_run_again():
    world = World(composer.parallel("a", composer.parallel("b", "c")))
    world.fail("b")

    world.redrive()

    assert sorted(world.steps) == ["a", "b", "c"]


def test_a_failure_that_was_handled_is_part_of_the_past():
    world = World(composer.sequence(composer.do("a", "handler"), "b"))
    world.fail("a")
    world.complete("handler", {"handled": True})
    world.fail("b")

    world.redrive()

    assert world.steps == ["b"]
    assert world.invoked[-1].params == {"handled": True}


def test_the_finalizer_of_what_failed_runs_after_it_has_been_tried_again():
    world = World(composer.ensure("a", "tidy"))
    world.fail("a", "Broken", "no")
    world.complete("tidy", {"error": "no"})

    world.redrive()

    assert world.steps[:1] in (["a"], ["tidy"])


def test_a_cancelled_execution_goes_on_where_it_was_stopped():
    world = World(composer.sequence("a", "b"))
    world.complete("a")
    world.cancel()

    world.redrive()

    assert world.steps == ["b"]


def test_attempts_count_anew():
    world = World(composer.retry(1, "a"))
    world.fail("a")
    world.fail("a")
    assert isinstance(world.outcome, Failure)

    world.redrive()
    world.fail("a")

    assert world.outcome is None
    assert world.steps == ["a"]


def test_deadlines_count_from_the_redrive():
    world = World(composer.timeout(10, composer.sequence("a", "b")))
    world.pass_time(5)
    world.complete("a")
    world.fail("b")
    world.pass_time(100)

    world.redrive()
    world.pass_time(9)
    assert world.outcome is None
    world.pass_time(1)

    assert world.outcome.code == "Timeout"


def test_waits_and_pauses_of_the_past_are_not_waited_for_again():
    paused = composer.retry(0, "a", on_exhausted="pause")
    world = World(composer.sequence(composer.wait(60), paused, "b"))
    world.pass_time(60)
    world.fail("a")
    world.resume()
    world.complete("a")
    world.fail("b")

    world.redrive()

    assert world.steps == ["b"]


def test_variables_that_a_failed_function_has_set_are_as_they_were():
    count = composer.function(lambda params, variables: variables.update(n=variables["n"] + 1))
    body = composer.do(count, composer.select({"n": var("n")}))
    world = World(composer.let({"n": 0}, composer.sequence(body, "b")))
    world.complete("inline", {"error": "no"}, {"n": 7})
    assert world.invoked[-1].params == {"n": 7}
    world.fail("b")

    world.redrive()

    assert world.invoked[-1].params == {"n": 7}


def test_another_program_may_go_on_where_it_agrees_with_what_is_done():
    world = World(composer.sequence("a", "b"))
    world.complete("a", {"n": 1})
    world.fail("b")

    world.redrive(composer.sequence("a", "fixed", "more"))

    assert world.steps == ["fixed"]
    outcome = run_on(world, {"fixed": {"n": 2}, "more": {"n": 3}})
    assert outcome == Success({"n": 3})


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (composer.sequence("z", "b"), "asks for /_/z where /_/a is done"),
        (composer.literal({}), "does not wait for it"),
        (composer.sequence(composer.wait(5), "a"), "does not wait for it"),
    ],
)
def test_a_program_that_does_not_agree_with_what_is_done_is_refused(other, why):
    world = World(composer.sequence("a", "b"))
    world.complete("a")
    world.fail("b")

    with pytest.raises(RedriveError, match=why):
        world.redrive(other)


def test_what_has_succeeded_is_not_redriven():
    world = World(composer.action("a"))
    world.complete("a")

    with pytest.raises(RedriveError, match="has succeeded: only a failed or cancelled one"):
        world.redrive()


def test_what_is_under_way_is_not_redriven():
    with pytest.raises(RedriveError, match="is still under way"):
        World(composer.action("a")).redrive()


def test_what_its_program_decides_would_fail_again():
    world = World(composer.sequence("a", composer.raise_error("No")))
    world.complete("a")

    with pytest.raises(RedriveError, match="not in a step, so it would fail again"):
        world.redrive()

    world.redrive(composer.sequence("a", composer.when(path("$.x") == 1, "b", "c")))
    assert world.steps == ["c"]


def test_after_a_crash_what_was_done_before_the_redrive_is_still_done():
    world = World(composer.parallel("a", composer.parallel("b", "c"), "d", errors="wait"))
    world.complete("a", {"is": "a"})
    world.complete("b", {"is": "b"})
    world.fail("c")
    world.complete("d", {"is": "d"})

    world.redrive()
    world.crash()

    assert world.steps == ["c"]
    world.complete("c", {"is": "c"})
    inner = {"value": [{"is": "b"}, {"is": "c"}]}
    assert world.outcome == Success({"value": [{"is": "a"}, inner, {"is": "d"}]})


def test_after_a_crash_a_step_of_an_earlier_generation_answers_for_no_other():
    world = World(composer.parallel(composer.ensure("a", "tidy"), "b"))
    world.fail("b")
    world.complete("tidy", {"generation": 0})  # of a branch that is cancelled
    world.redrive()
    world.complete("a")
    world.complete("b")
    world.fail("tidy")
    world.redrive()

    world.crash()

    assert world.steps == ["tidy"]
    world.complete("tidy", {"generation": 2})
    assert world.outcome == Success({"value": [{"generation": 2}, {}]})


@pytest.mark.parametrize("crashing", [False, True])
def test_items_that_came_after_those_that_failed_are_not_done_again(crashing):
    body = composer.sequence(composer.wait(5), "a")
    world = World(composer.map(body, items=[1, 2, 3, 4], concurrency=1, errors="wait"))
    for failing in (True, True, False, False):
        world.pass_time(5)
        world.fail("a") if failing else world.complete("a", {"in": "time"})

    world.redrive()
    if crashing:
        world.crash()

    assert world.steps == ["a", "a"]
    assert [step.params for step in world.under_way.values()] == [{"value": 1}, {"value": 2}]
    world.complete("a", {"in": "the end"})
    world.complete("a", {"in": "the end"})
    assert world.outcome.value["value"] == 2 * [{"in": "the end"}] + 2 * [{"in": "time"}]


@pytest.mark.parametrize("crashing", [False, True])
def test_a_map_that_is_redriven_starts_no_item_before_it_is_below_its_concurrency(crashing):
    body = composer.map("a", items=[1, 2, 3, 4], concurrency=1, errors="wait")
    world = World(composer.timeout(10, body))
    world.fail("a")
    world.fail("a")
    world.pass_time(10)

    world.redrive()
    begun = []
    while world.outcome is None:
        if crashing:
            world.crash()
        begun.append(len(world.steps))
        world.complete("a", {"n": 1})

    assert begun == [3, 2, 1, 1]
    assert world.outcome == Success({"value": [{"n": 1}] * 4})


def test_another_program_need_not_have_the_branches_that_failed():
    world = World(composer.parallel("a", "b", errors="wait"))
    world.fail("a")
    world.fail("b")

    world.redrive(composer.action("c"))

    assert world.steps == ["c"]


def test_a_join_that_is_over_is_forgotten_by_a_redrive():
    world = World(composer.sequence(composer.parallel("a", "b"), "c"))
    world.complete("a")
    world.complete("b")
    world.fail("c")

    world.redrive()

    assert list(world.rows) == ["0"]


FAKES = {name: {"from": name} for name in "abcd"}


def play(world, *, failing=None, crashing=False):
    """Answers the oldest step under way until nothing is; the answers, but for the failure's."""
    done = []
    while world.outcome is None and world.under_way:
        if crashing:
            world.crash()
        place, step = next(iter(world.under_way.items()))
        assume(step.action)  # a function has no fake here
        name = step.action.removeprefix("/_/")
        if len(done) == failing:
            world.fail(name, "Broken")
            failing = None
        else:
            done.append(place)
            world.complete(name, FAKES[name])
    return done


@given(compositions(errors=("fail", "wait")), st.data(), st.booleans())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_after_the_action_is_mended_it_ends_as_if_it_had_never_failed(composition, data, crashing):
    well = World(composition, {"n": 1})
    steps = len(play(well))
    assume(isinstance(well.outcome, Success) and steps)
    failing = data.draw(st.integers(0, steps - 1))
    world = World(composition, {"n": 1})
    done = play(world, failing=failing, crashing=crashing)[:failing]
    assume(isinstance(world.outcome, Failure) and world.outcome.code == "Broken")

    world.redrive()
    again = play(world, crashing=crashing)

    assert world.outcome == well.outcome
    assert not set(done) & set(again)


def test_what_a_finalizer_did_after_the_failure_is_left_out():
    world = World(composer.sequence("a", composer.ensure("b", "tidy")))
    world.complete("a")
    world.fail("b", "Broken", "no")
    world.complete("tidy", {"tidied": True})
    world.outcome = None  # as if the rest had failed, which a redrive may find
    failed = {
        "at": 0,
        "fiber": "0",
        "turn": 3,
        "type": "ExecutionFailed",
        "code": "Broken",
        "origin": 2,
    }
    world.history[-1] = {**failed, "value": "no"}

    world.redrive()

    assert world.steps == ["b"]


def test_a_program_that_needs_no_further_step_ends_at_once():
    world = World(composer.sequence("a", composer.raise_error("No")))
    world.complete("a", {"n": 1})

    world.redrive(composer.action("a"))

    assert world.outcome == Success({"n": 1})
    assert world.calls == ["a"]
    assert world.kinds()[-2:] == ["ExecutionRedriven", "ExecutionSucceeded"]


def test_a_loop_of_the_conductors_own_is_run_again_to_where_it_stood():
    limits = composer.Limits(instructions=50)
    body = composer.sequence(composer.repeat(100, composer.literal({})), "a")
    world = World(composer.sequence(body, body), limits=limits)
    world.complete("a")
    world.fail("a")

    world.redrive()

    assert world.steps == ["a"]


def test_a_fake_that_fails_is_a_failure_of_the_run():
    assert simulate(composer.action("a"), actions={"a": Fail("No")}).error["code"] == "No"


def test_a_branch_whose_failure_was_handled_is_not_run_again():
    world = World(composer.sequence(composer.do(composer.parallel("a", "b"), "mend"), "c"))
    world.fail("a")
    world.complete("mend", {"n": 1})
    world.fail("c")

    world.redrive()

    assert world.steps == ["c"]
    assert world.invoked[-1].params == {"n": 1}
