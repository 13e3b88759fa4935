"""Sagas: what is done is undone in reverse, or goes forward after the pivot; or is stuck, and says so."""

from __future__ import annotations

import pytest

from tests.kit.composer.sagas import OK, STEPS, fakes, names, undone
from xingqiao import composer as c
from xingqiao.composer import path, saga, step
from xingqiao.composer.machine.sagas.compensations import Doubt, logged_values
from xingqiao.composer.testing import Fail, Never, Simulation, Slow, simulate
from xingqiao.composer.testing import Run as SimulatedRun


def test_a_saga_that_succeeds_undoes_nothing():
    run = simulate(STEPS, {"n": 1}, actions=fakes(), crash="every")

    assert run.value == {"c": 1}
    assert names(run) == ["a", "b", "c"]


@pytest.mark.parametrize("at", ["a", "b", "c"])
@pytest.mark.parametrize("code", ["Full", "Timeout"])
def test_it_comes_to_the_same_whenever_the_conductor_dies(at, code):
    plain = simulate(STEPS, {}, actions=fakes(**{at: Fail(code)}))
    run = simulate(STEPS, {}, actions=fakes(**{at: Fail(code)}), crash="every")

    assert (run.outcome, names(run)) == (plain.outcome, names(plain))


@pytest.mark.parametrize("code", ["Timeout", "Crashed", "Lost", "InternalError", "Cancelled"])
def test_an_unknown_outcome_counts_as_done(code):
    run = simulate(STEPS, {}, actions=fakes(b=Fail(code)))

    assert undone(run) == ["b", "a"]
    assert run.calls("undo_b") == [{"input": {"a": 1}, "error": run.error}]


@pytest.mark.parametrize("code", ["NotFound", "Throttled", "ApplicationError", "Full"])
def test_a_refusal_does_not(code):
    assert undone(simulate(STEPS, {}, actions=fakes(b=Fail(code)))) == ["a"]


def test_it_counts_as_done_when_an_earlier_attempt_had_an_unknown_outcome():
    retried = saga(step("a", undo="undo_a", retries=1, delay=0))
    caught = saga(step(c.do("a", "b"), undo="undo_a"), step("c", no_undo="it fails"))
    refused = {"a": [Fail("Timeout"), Fail("Full")]}

    assert undone(simulate(retried, {}, actions=fakes(**refused))) == ["a"]
    refused["b"] = Fail("Full")
    assert undone(simulate(caught, {}, actions=fakes(**refused))) == ["a"]


def test_it_counts_as_done_when_a_branch_of_it_has_an_unknown_outcome():
    inner = c.parallel("a", c.parallel("b", c.do("c", "d")), errors="wait")
    run = simulate(
        saga(step(inner, undo="undo_a")), {}, actions=fakes(c=Fail("Timeout"), d=Fail("Full"))
    )

    assert undone(run) == ["a"]
    slow = fakes(a=Slow(9, {}), c=Fail("Timeout"), d=Slow(1, Fail("Full")))
    again = simulate(saga(step(inner, undo="undo_a")), {}, actions=slow, crash="every")
    assert undone(again) == ["a"]


# --- it is stopped -------------------------------------------------------------------------------


def test_a_cancelled_saga_is_undone():
    run = simulate(STEPS, {}, actions=fakes(b=Never()), cancel_at=5, crash="every")

    assert run.outcome.code == "Cancelled"
    assert undone(run) == ["b", "a"]


def test_a_saga_that_takes_too_long_is_undone():
    limited = saga(step("a", undo="undo_a"), step("b", undo="undo_b"), seconds=7)
    run = simulate(limited, {}, actions=fakes(b=Never(), undo_b=Slow(20, {})))

    assert run.outcome.code == "Timeout"
    assert (undone(run), run.elapsed) == (["b", "a"], 27.0)


def test_a_step_that_takes_too_long_counts_as_done():
    limited = saga(step("a", undo="undo_a", seconds=2))

    assert undone(simulate(limited, {}, actions=fakes(a=Never()))) == ["a"]


def test_cancelling_while_it_is_undone_lets_that_finish():
    run = simulate(
        STEPS, {}, actions=fakes(c=Fail("Full"), undo_b=Slow(9, {})), cancel_at=5, crash="every"
    )

    assert run.outcome.code == "Cancelled"
    assert undone(run) == ["b", "a"]


def test_a_timeout_around_a_saga_under_way_back_waits_for_it():
    limited = c.timeout(5, STEPS)
    run = simulate(limited, {}, actions=fakes(c=Fail("Full"), undo_b=Slow(9, {})))

    assert run.outcome.code == "Timeout"
    assert undone(run) == ["b", "a"]


def test_one_with_too_many_steps_is_undone_all_the_same():
    long = saga(step("a", undo="undo_a"), c.repeat(50, step("b", undo="undo_b")))
    tired = fakes(undo_a=[Fail("Down"), {}])
    run = simulate(long, {}, actions=tired, limits=c.Limits(steps=9), crash="every")

    assert run.outcome.code == "LimitExceeded"
    assert undone(run) == ["b", "a"]
    of = {name: {i.activation for i in run.invocations if i.action.endswith(f"/{name}")}
          for name in ("b", "undo_b")}  # fmt: skip
    assert len(of["b"]) == len(of["undo_b"])


# --- the pivot -----------------------------------------------------------------------------------

PIVOTAL = saga(step("a", undo="undo_a"), step("b", pivot=True), step("c", retriable=True))


def test_before_the_pivot_it_is_undone_after_it_goes_forward():
    refused = simulate(PIVOTAL, {}, actions=fakes(b=Fail("Refused")))
    done = simulate(PIVOTAL, {}, actions=fakes(c=[Fail("x"), Fail("Timeout"), OK]), crash="every")

    assert (refused.error["code"], undone(refused)) == ("Refused", ["a"])
    assert (done.value, undone(done)) == (OK, [])
    assert "PivotPassed" in done.kinds()


def test_a_pivot_whose_outcome_is_unknown_is_asked_until_it_is_known():
    run = simulate(PIVOTAL, {}, actions=fakes(b=[Fail("Timeout"), Fail("Lost"), OK]))

    assert (run.value, len(run.calls("b"))) == ({"c": 1}, 3)
    refused = simulate(PIVOTAL, {}, actions=fakes(b=[Fail("Timeout"), Fail("Refused")]))
    assert (refused.error["code"], undone(refused)) == ("Refused", ["a"])


@pytest.mark.parametrize("at", [1, 4])
def test_one_cannot_cancel_a_decision(at):
    """While the pivot is asked, and afterwards: what is to be done is done, and then it is cancelled."""
    run = simulate(
        PIVOTAL, {}, actions=fakes(b=Slow(3, OK), c=Slow(3, OK)), cancel_at=at, crash="every"
    )

    assert run.outcome.code == "Cancelled"
    assert (undone(run), len(set(run.calls("c")[0]))) == ([], 1)


def test_a_cancelled_pivot_that_refuses_ends_as_cancelled():
    run = simulate(PIVOTAL, {}, actions=fakes(b=Slow(3, Fail("Refused"))), cancel_at=1)

    assert (run.outcome.code, undone(run)) == ("Cancelled", ["a"])


def test_a_saga_that_is_too_late_after_its_pivot_is_done():
    limited = saga(*PIVOTAL.arguments["components"], seconds=5)

    run = simulate(limited, {}, actions=fakes(c=Slow(9, OK)))

    assert run.value == OK


def test_the_pivot_of_a_saga_in_a_saga_is_the_outer_ones_too():
    outer = saga(step("d", undo="undo_d"), PIVOTAL, step("e", retriable=True))
    run = simulate(outer, {}, actions=fakes() | {"e": [Fail("x"), OK]})

    assert (run.value, undone(run)) == (OK, [])


def test_what_fails_after_the_pivot_and_is_no_step_fails_without_undoing():
    broken = saga(step("a", undo="undo_a"), step("b", pivot=True), c.select(path("$.nothing")))
    run = simulate(broken, {}, actions=fakes())

    assert (run.outcome.code, undone(run)) == ("ExpressionError", [])


# --- stuck ---------------------------------------------------------------------------------------


def stuck_at(composition, **answers):
    simulation = Simulation(
        c.compile(composition), {f"/_/{k}": v for k, v in fakes(**answers).items()}, (), c.Limits()
    )
    run = simulation.run({"n": 1})
    assert run.paused
    return simulation, run


def go_on(simulation, event):
    execution = simulation._execution
    assert simulation._apply(execution.resume(simulation._now_ms, event))
    return simulation._follow(None)


def test_an_undo_that_fails_for_good_leaves_it_stuck():
    _, run = stuck_at(STEPS, c=Fail("Full"), undo_b=Fail("Down"))

    assert run.kinds()[-1] == "Stuck"
    assert (run.outcome, undone(run), len(run.calls("undo_b"))) == (None, ["b"], 6)


def test_it_tries_again_with_the_same_or_other_parameters():
    failing = [Fail("Down")] * 6
    simulation, _ = stuck_at(STEPS, c=Fail("Full"), undo_b=[*failing, Fail("Down"), {}])
    run = simulation.resume()

    assert (undone(run), run.error["code"]) == (["b", "a"], "Full")
    simulation, _ = stuck_at(STEPS, c=Fail("Full"), undo_b=[*failing, {}])
    run = go_on(simulation, c.Resumed({"other": 1}, {"by": "me"}))
    assert run.calls("undo_b")[-1] == {"other": 1}
    resumed = next(entry for entry in run.history if entry.kind == "Resumed")
    assert resumed.detail == {"by": "me"}


def test_it_goes_on_as_if_undone_when_an_operator_says_so():
    simulation, _ = stuck_at(STEPS, c=Fail("Full"), undo_b=Fail("Down"))
    run = go_on(simulation, c.Resolved("skip", detail={"reason": "by hand"}))

    assert (undone(run), run.error["code"]) == (["b", "a"], "Full")
    resolved = next(entry for entry in run.history if entry.kind == "Resolved")
    assert resolved.detail == {"how": "skip", "reason": "by hand"}


@pytest.mark.parametrize(("given", "taken"), [(None, {}), ({"r": 1}, {"r": 1})])
def test_a_step_after_the_pivot_that_fails_for_good_is_stuck_too(given, taken):
    counted = saga(
        step("b", pivot=True),
        step("c", retriable=True, retries=1, delay=0),
        step("d", retriable=True),
    )
    simulation, run = stuck_at(counted, c=Fail("Down"))
    assert run.kinds()[-1] == "Stuck"

    run = go_on(simulation, c.Resolved("resolve", given))

    assert run.value == {"d": 1}
    assert run.calls("d") == [taken]


def test_what_is_only_paused_cannot_be_resolved():
    simulation, _ = stuck_at(c.retry(0, "a", on_exhausted="pause"), a=Fail("Down"))

    execution = simulation._execution
    assert execution.paused
    assert not execution.stuck
    assert execution.resume(0, c.Resolved("skip")).stale
    assert execution.resume(0, None, "0/1.0").stale


def test_code_that_undoes_and_has_a_flaw_is_stuck():
    """Its log names code that is not there: a program that was changed by a redrive, say."""
    flawed = saga(
        step("a", undo=c.select(path("$.nothing")), undo_retries=0), step("b", no_undo="x")
    )
    _, run = stuck_at(flawed, b=Fail("Full"))

    assert run.kinds()[-1] == "Stuck"


# --- keys ----------------------------------------------------------------------------------------


def keys_of(composition, params, actions):
    """The idempotency keys that each action has seen, in order."""
    simulation = Simulation(c.compile(composition), {}, (), c.Limits())
    seen = {}

    def invoke(fiber, command, inner=simulation._invoke):
        name = command.action.rpartition("/")[2]
        seen.setdefault(name, []).append(command.key)
        inner(fiber, command)

    simulation._invoke = invoke
    simulation._fakes.update({f"/_/{name}": fake for name, fake in actions.items()})
    run = simulation.run(params)
    assert isinstance(run, SimulatedRun)
    return seen


def test_a_step_has_one_key_however_often_it_is_tried():
    tried = saga(
        step(c.retry(2, "a", delay=1), undo=c.retry(1, "undo_a")),
        step(c.sequence("b", "b"), undo="undo_b"),
        step(c.parallel("c", "c"), undo="undo_c"),
        step("d", undo="undo_d"),
    )
    failing = [Fail("x"), Fail("Timeout"), OK]
    seen = keys_of(tried, {}, fakes(a=failing, undo_a=[Fail("x"), OK], d=Fail("Full")))

    assert len(seen["a"]) == 3
    assert len(set(seen["a"])) == 1
    assert len(set(seen["undo_a"])) == 1
    assert len(set(seen["b"])) == 2
    assert len(set(seen["c"])) == 2
    every = [set(keys) for keys in seen.values()]
    assert sum(map(len, every)) == len(set().union(*every))


def test_a_saga_that_is_tried_again_has_other_keys():
    tried = saga(step("a", undo="undo_a"), step("b", undo="undo_b"), retry=c.Times(2))

    assert len(set(keys_of(tried, {}, fakes(b=Fail("x")))["a"])) == 2
    assert keys_of(c.sequence("a"), {}, fakes())["a"] == [None]


# --- redrive -------------------------------------------------------------------------------------


def test_a_saga_that_has_been_undone_is_not_redriven():
    run = simulate(STEPS, {}, actions=fakes(c=Fail("Full")))
    entries = [entry.to_json(lambda value: value) for entry in run.history]

    with pytest.raises(c.RedriveError, match="has been undone"):
        c.redrive("0" * 32, c.compile(STEPS), entries, c.Limits(), 0)


def test_an_undo_that_is_a_saga_and_gives_all_up_is_stuck_as_any_other():
    undo = saga(step("d", undo="undo_d"), retry=c.AlwaysRevertAll())
    nested = saga(step("a", undo=undo, undo_retries=1), step("b", no_undo="it fails"))
    simulation, run = stuck_at(nested, b=Fail("Full"), d=[Fail("x"), Fail("y"), {}])
    assert (run.kinds()[-1], len(run.calls("d"))) == ("Stuck", 2)

    done = go_on(simulation, c.Resumed({"again": True}))

    assert (done.error["code"], done.calls("d")[-1]) == ("Full", {"again": True})


def test_the_story_of_a_saga_can_be_read():
    run = simulate(STEPS, {}, actions=fakes(c=Fail("Full")))
    lines = c.timeline([entry.to_json(lambda value: value) for entry in run.history])

    labels = [line.label for line in lines]
    assert labels[labels.index("undoing 2") :] == [
        "undoing 2", "undo_b", "undone", "undo_a", "undone", "all undone", "failed",
    ]  # fmt: skip


def test_a_saga_in_a_step_that_ends_while_it_is_cancelled_is_undone():
    inner = saga(step("b", pivot=True), step("c", retriable=True))
    outer = saga(step("a", undo="undo_a"), step(inner, undo="undo_d"))
    run = simulate(outer, {}, actions=fakes(c=Slow(9, {})), cancel_at=5)

    assert (run.outcome.code, undone(run)) == ("Cancelled", ["d", "a"])
    branch = saga(c.parallel(step(c.parallel(inner), undo="undo_d"), step("e", no_undo="it fails")))
    forked = simulate(branch, {}, actions=fakes(c=Slow(9, {})) | {"e": Slow(5, Fail("No"))})
    assert undone(forked) == ["d"]


def test_a_step_that_must_be_done_is_tried_again_though_a_saga_in_it_gives_all_up():
    inner = saga(step("c", undo="undo_c"), retry=c.AlwaysRevertAll())
    outer = saga(step("b", pivot=True), step(inner, retriable=True))
    run = simulate(outer, {}, actions=fakes(c=[Fail("Busy"), {"done": 1}]))

    assert run.value == {"done": 1}


def test_that_a_pivot_cannot_be_asked_again_does_not_tell_that_it_was_not_done():
    run = simulate(PIVOTAL, {}, actions=fakes(b=[Fail("Timeout"), Fail("NotFound"), OK]))
    never = simulate(PIVOTAL, {}, actions=fakes(b=Fail("NotFound")))

    assert (undone(run), len(run.calls("b"))) == ([], 3)
    assert undone(never) == ["a"]


def test_a_finalizer_runs_though_all_steps_are_used_up_but_not_for_ever():
    spent = c.ensure(c.repeat(99, "a"), "b")
    run = simulate(spent, {}, actions=fakes(), limits=c.Limits(steps=5))
    assert (run.outcome.code, len(run.calls("b"))) == ("LimitExceeded", 1)

    endless = c.ensure(c.repeat(99, "a"), c.loop(c.literal({"value": True}), "b"))
    run = simulate(endless, {}, actions=fakes(), limits=c.Limits(steps=50))
    assert run.outcome.code == "LimitExceeded"
    assert 0 < len(run.calls("b")) <= 100


def test_what_an_operator_has_done_by_hand_is_not_asked_for_again_by_a_redrive():
    counted = saga(
        step("b", pivot=True),
        step("c", retriable=True, retries=1, delay=0),
        step("d", retriable=True, retries=1, delay=0),
        c.select({"x": path("$.nothing")}),
    )
    simulation, _ = stuck_at(counted, c=Fail("Down"), d=[Fail("Down"), Fail("Down"), OK])
    go_on(simulation, c.Resolved("resolve", {"by": "hand"}))
    run = go_on(simulation, c.Resumed({"other": 1}))
    assert run.outcome.code == "ExpressionError"
    entries = [entry.to_json(lambda value: value) for entry in run.history]

    better = saga(*counted.arguments["components"][:3], c.select({"x": path("$.ok")}))
    execution, changes = c.redrive("0" * 32, c.compile(better), entries, c.Limits(), 0)

    assert changes.outcome == c.Success({"x": True})
    assert not execution.fibers


def test_large_values_of_a_log_are_known_to_the_fiber_that_holds_them():
    """Then they are stored once, and written down by reference."""
    forked = saga(
        step("a", undo="undo_a"),
        c.parallel(step("b", undo="undo_b"), step("d", undo="undo_d")),
        step("c", undo="undo_c"),
        step("e", no_undo="it fails"),
    )
    names = {f"/_/{name}": fake for name, fake in (fakes() | {"e": Never()}).items()}
    simulation = Simulation(c.compile(forked), names, (), c.Limits())
    simulation.run({"n": 1})
    held = [*simulation._execution.fibers["0"].values()]

    assert {"input": {"a": 1}, "result": {"b": 1}} in held
    assert {"input": {"n": 1}, "result": {"a": 1}} in held
    undoing, _ = stuck_at(
        saga(*forked.arguments["components"][:3], step("e", no_undo="it fails")),
        e=Fail("No"), undo_c=Fail("Down"),
    )  # fmt: skip
    left = [*undoing._execution.fibers["0"].values()]
    assert {"input": {"a": 1}, "result": {"d": 1}} in left
    assert list(logged_values((Doubt(),))) == []
