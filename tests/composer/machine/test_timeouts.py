"""Timeouts of steps and runs, heartbeats with details, and what a later attempt is told."""

from __future__ import annotations

import json

import pytest

from tests.kit.asl.machines import lowered
from xingqiao import composer
from xingqiao.composer import Failure, Fiber, Heartbeat, RetryPolicy
from xingqiao.composer.machine import timeouts
from xingqiao.composer.machine.frames import Attempts, Deadline
from xingqiao.composer.machine.waits import Invoking
from xingqiao.composer.testing import Beats, Fail, Never, Slow, Waits, simulate

CRASHES = pytest.mark.parametrize("crash", [(), "every"])


def bound(run):
    return run.error["timeout"]


# --- each timeout alone --------------------------------------------------------------------------


@CRASHES
@pytest.mark.parametrize(
    ("limits", "fake", "at", "text"),
    [
        ({"to_end": 30}, Never(), 30, "the attempt has not ended within 30 seconds"),
        ({"in_all": 30}, Never(), 30, "all attempts together have not ended within 30 seconds"),
        ({"heartbeat": 30}, Never(), 30, "no heartbeat within 30 seconds"),
        ({"to_start": 30}, Waits(None), 30, "no worker has taken the step within 30 seconds"),
    ],
)
def test_a_timeout_alone(limits, fake, at, text, crash):
    run = simulate(composer.within("a", **limits), actions={"a": fake}, crash=crash)

    assert run.elapsed == at
    assert run.error["code"] == "Timeout"
    assert run.error["message"] == text
    assert bound(run) == next(iter(limits))


@pytest.mark.parametrize(
    "limits", [{"to_end": 30}, {"in_all": 30}, {"heartbeat": 30}, {"to_start": 30}]
)
def test_what_is_done_in_time_is_not_disturbed(limits):
    run = simulate(composer.within("a", **limits), actions={"a": Slow(29, {"ok": True})})

    assert run.value == {"ok": True}


def test_heartbeats_keep_a_step_alive():
    answer = {"ok": True}
    for _ in range(5):
        answer = Beats(29, None, answer)
    run = simulate(composer.within("a", heartbeat=30), actions={"a": answer})

    assert run.value == {"ok": True}
    late = simulate(composer.within("a", heartbeat=30), actions={"a": Beats(20, 1, Never())})
    assert (late.elapsed, bound(late)) == (50, "heartbeat")


def test_without_heartbeats_a_plain_step_has_no_such_timeout():
    run = simulate(composer.task("a"), actions={"a": Beats(9, {"n": 1}, {"ok": True})})

    assert run.value == {"ok": True}


# --- the tighter of two --------------------------------------------------------------------------


@CRASHES
@pytest.mark.parametrize(
    ("limits", "at", "which"),
    [
        ({"to_end": 10, "in_all": 20}, 10, "to_end"),
        ({"to_end": 20, "in_all": 10}, 10, "in_all"),
        ({"to_end": 10, "heartbeat": 20}, 10, "to_end"),
        ({"to_end": 20, "heartbeat": 10}, 10, "heartbeat"),
        ({"in_all": 10, "heartbeat": 20}, 10, "in_all"),
    ],
)
def test_the_tighter_of_two_wins(limits, at, which, crash):
    run = simulate(composer.within("a", **limits), actions={"a": Never()}, crash=crash)

    assert (run.elapsed, bound(run)) == (at, which)


def test_to_end_is_of_each_attempt_and_in_all_of_all():
    part = composer.within(composer.retry(5, "a", delay=1), to_end=10, in_all=35)
    run = simulate(part, actions={"a": Never()})

    assert [call.at for call in run.invocations] == [0, 11, 22, 33]
    assert (run.elapsed, bound(run)) == (35, "in_all")
    crashed = simulate(part, actions={"a": Never()}, crash="every")
    assert (crashed.elapsed, bound(crashed)) == (35, "in_all")


def test_a_run_of_several_steps_has_one_time():
    part = composer.within("a", "b", to_end=10)
    run = simulate(part, actions={"a": Slow(6, {}), "b": Slow(6, {})})

    assert (run.elapsed, bound(run)) == (10, "to_end")


# --- in a queue ----------------------------------------------------------------------------------


@CRASHES
def test_the_time_in_a_queue_counts_for_to_start_only(crash):
    part = composer.within("a", to_start=60, to_end=10, heartbeat=10)
    run = simulate(part, actions={"a": Waits(50, Slow(9, {"ok": True}))}, crash=crash)

    assert run.value == {"ok": True}


@CRASHES
def test_to_end_counts_from_when_a_worker_takes_the_step(crash):
    part = composer.within("a", to_start=60, to_end=10)
    run = simulate(part, actions={"a": Waits(50, Never())}, crash=crash)

    assert (run.elapsed, bound(run)) == (60, "to_end")


@CRASHES
def test_to_start_is_not_retried(crash):
    part = composer.within(composer.retry(5, "a"), to_start=10)
    run = simulate(part, actions={"a": Waits(None)}, crash=crash)

    assert (run.elapsed, bound(run)) == (10, "to_start")
    assert len({call.activation for call in run.invocations}) == 1


def test_a_step_that_answers_later_has_been_taken():
    deadline = Deadline(None, 5000, once_taken=True, bound="to_end")
    fiber = Fiber("0", 1, {}, (deadline,), 1, wait=Invoking())
    program = composer.compile(composer.task("a"))
    context = composer.Context("x", 1000, composer.Limits())

    after = composer.advance(program, fiber, composer.Accepted(1, {}), context).fiber

    assert after.frames[0].at_ms == 6000


def test_an_event_for_another_turn_is_stale():
    fiber = Fiber("0", 1, {}, (), 1, wait=Invoking())
    program = composer.compile(composer.task("a"))
    context = composer.Context("x", 1000, composer.Limits())

    for event in (composer.Queued(2), composer.Taken(2), Heartbeat(2)):
        assert composer.advance(program, fiber, event, context).stale


def test_whether_a_worker_matters():
    assert timeouts.awaits_worker((Deadline(1, 1, bound="to_start"),))
    assert timeouts.awaits_worker((Deadline(1, 1, once_taken=True, bound="to_end"),))
    assert not timeouts.awaits_worker((Deadline(1, 1, once_taken=True), Deadline(1, 1)))


def test_the_shortest_time_between_heartbeats():
    beats = [Deadline(1, ms, beats=True, bound="heartbeat") for ms in (9, 7)]

    assert timeouts.heartbeat_ms((*beats, Deadline(1, 3))) == 7
    assert timeouts.heartbeat_ms(()) is None


# --- details of heartbeats -----------------------------------------------------------------------


def told(run):
    """What each activation was told at last."""
    return list({call.activation: call.again for call in run.invocations}.values())


@CRASHES
def test_the_next_attempt_is_given_the_last_details(crash):
    fake = [Beats(1, {"page": 1}, Beats(1, {"page": 2}, Never())), lambda params: params]
    part = composer.within(composer.retry(1, "a"), heartbeat=20)
    run = simulate(part, {"n": 1}, actions={"a": fake}, crash=crash)

    assert run.value == {"n": 1, "__ow_heartbeat": {"page": 2}}
    second = told(run)[-1]
    assert second.attempt == 2
    assert second.failure.error["timeout"] == "heartbeat"


def test_details_outlive_an_attempt_that_sends_none():
    fake = [Beats(1, 7, Fail()), Fail(), lambda params: params]
    run = simulate(composer.retry(2, "a"), {"n": 1}, actions={"a": fake})

    assert run.value == {"n": 1, "__ow_heartbeat": 7}


def test_details_are_given_to_the_step_that_sent_them():
    fakes = {
        "a": [Beats(1, "a's", {"n": 1}), {"n": 2}],
        "b": [Beats(1, "b's", Fail()), lambda p: p],
    }
    run = simulate(composer.retry(1, "a", "b"), actions=fakes)

    assert run.calls("a") == [{}, {}]
    assert run.value == {"n": 2, "__ow_heartbeat": "b's"}


def test_a_step_that_a_crash_interrupts_is_told_of_its_own_heartbeats():
    beaten = []

    def work(params):
        beaten.append(params.get("__ow_heartbeat"))
        return Beats(1, {"page": len(beaten)}, Slow(1, {"ok": True}))

    run = simulate(composer.task("a"), actions={"a": work}, crash=[(2, "before"), (2, "after")])

    assert run.value == {"ok": True}
    assert beaten == [None, {"page": 1}]
    assert told(run)[-1].attempt == 1


def test_large_details_are_kept_by_reference():
    large = "x" * 5000
    frame = Attempts(0, 2, {}, failed=Failure("No", "no"), heard=3, details=large)
    fiber = Fiber("0", 1, {}, (frame,), 1, wait=Invoking(None, details=large))
    kept = []

    def keep(value):
        kept.append(value)
        return {"r": len(kept) - 1}

    doc = json.loads(json.dumps(fiber.to_json(keep)))

    assert large in list(fiber.values())
    assert "xxx" not in json.dumps(doc)
    assert Fiber.from_json(doc, lambda found: kept[found["r"]], lambda _: None) == fiber


# --- what an attempt is told, and what a failure may say ------------------------------------------


def test_an_attempt_is_told_its_number_and_the_failure_before():
    fake = [Fail("Down"), Fail("Busy"), {"ok": True}]
    run = simulate(composer.retry(2, "a"), actions={"a": fake}, crash="every")

    first, second, third = told(run)
    assert first is None
    assert (second.attempt, second.failure.code) == (2, "Down")
    assert (third.attempt, third.failure.code) == (3, "Busy")


def test_a_function_and_a_named_action_are_told_too():
    value = {"type": "action", "name": "a", "params": {}}
    named = composer.sequence(composer.literal(value), composer.dynamic())
    run = simulate(composer.retry(1, named), actions={"a": [Fail(), {"ok": True}]})
    assert told(run)[-1].attempt == 2

    inline = composer.retry(1, composer.sequence(lambda params: params, "a"))
    run = simulate(inline, actions={"a": [Fail(), {}]})
    assert [call.again.attempt for call in run.invocations[2:]] == [2, 2]


def test_the_error_of_the_last_attempt_is_the_run_s():
    fake = [Fail("E", {"n": n}) for n in range(1, 6)]
    run = simulate(composer.retry(4, "a", delay=1), actions={"a": fake}, crash="every")

    assert run.error == {"n": 5}


@pytest.mark.parametrize("errors", [(), ("Declined", "Down")])
def test_a_failure_that_is_excepted_is_never_retried(errors):
    part = composer.retry(5, "a", errors=errors, except_errors=["Declined"])
    run = simulate(part, actions={"a": [Fail("Down"), Fail("Declined")]})

    assert run.error["code"] == "Declined"
    assert composer.compile(part).instructions[0].policy.except_errors == ("Declined",)
    doc = json.loads(json.dumps(composer.compile(part).to_json()))
    assert composer.Program.from_json(doc, composer.DIALECTS).hash == composer.compile(part).hash


def test_a_failure_may_say_that_it_is_final():
    final = Fail("E", {"message": "no", "retryable": False})
    run = simulate(composer.retry(5, "a"), actions={"a": [Fail(), final]})
    assert run.error == {"message": "no", "retryable": False}

    waits = simulate(composer.retry(5, "a", on_exhausted="pause"), actions={"a": [final]})
    assert waits.paused


@pytest.mark.parametrize("word", [True, None, 0, "false"])
def test_only_false_is_final(word):
    maybe = Fail("E", {"retryable": word})

    assert simulate(composer.retry(1, "a"), actions={"a": [maybe, {"ok": 1}]}).value == {"ok": 1}


def test_a_saga_s_undo_is_not_given_up_by_its_failure():
    final = Fail("E", {"retryable": False})
    part = composer.saga(composer.step("a", "undo"), composer.step("b", no_undo="it fails"))
    run = simulate(part, actions={"a": {}, "b": Fail("No"), "undo": [final, {}]})

    assert run.error["code"] == "No"
    assert len(run.calls("undo")) == 2


@pytest.mark.parametrize(
    ("asked", "most", "waited"),
    [
        (7, None, 7),
        (0, None, 0),
        (2.5, None, 2.5),
        (7, 3, 3),
        (1e300, None, 366 * 24 * 3600),
        (-1, None, 2),
        ("7", None, 2),
        (True, None, 2),
        (None, None, 2),
    ],
)
def test_a_failure_may_say_when_to_try_again(asked, most, waited):
    busy = Fail("Busy", {"retry_after": asked})
    part = composer.retry(2, "a", delay=2, max_delay=most)
    run = simulate(part, actions={"a": [busy, {"ok": 1}]})

    assert run.elapsed == waited


def test_it_replaces_one_delay():
    busy = Fail("Busy", {"retry_after": 7})
    run = simulate(composer.retry(2, "a", delay=2), actions={"a": [busy, Fail(), {}]})

    assert run.elapsed == 9


def test_a_policy_without_exceptions_is_written_as_before():
    assert "except_errors" not in RetryPolicy(retries=1).to_json()


# --- runs ----------------------------------------------------------------------------------------


@CRASHES
@pytest.mark.parametrize(
    "part",
    [
        composer.task("a"),
        composer.wait(100),
        composer.parallel("a", "b"),
        composer.retry(None, "a"),
    ],
)
def test_a_run_ends_in_its_time(part, crash):
    fakes = {"a": Slow(60, Fail()), "b": Never()}
    run = simulate(part, actions=fakes, crash=crash, run_timeout=30)

    assert (run.elapsed, bound(run)) == (30, "run_timeout")
    assert run.outcome.code == composer.RUN_TIMED_OUT
    assert composer.as_step(run.outcome).code == "Timeout"
    assert run.history[0].detail["timeouts"] == [
        {"bound": "run_timeout", "timeout_ms": 30_000, "until": 30_000}
    ]


@CRASHES
def test_its_finalizers_run(crash):
    part = composer.ensure(composer.do("a", "b"), "clean")
    run = simulate(part, actions={"a": Never(), "clean": {}}, crash=crash, run_timeout=30)

    assert bound(run) == "run_timeout"
    assert len(run.calls("clean")) >= 1
    assert run.calls("b") == []


def test_its_steps_are_undone():
    part = composer.saga(composer.step("a", "undo"), composer.step("b", no_undo="it fails"))
    run = simulate(part, actions={"a": {}, "undo": {}, "b": Never()}, run_timeout=30)

    assert bound(run) == "run_timeout"
    assert len(run.calls("undo")) == 1


def test_a_failure_of_its_own_is_not_changed():
    failed = Failure("No", {})

    assert composer.as_step(failed) is failed


@pytest.mark.parametrize(("run_ms", "chain_ms", "bounds"), [
    (None, None, []), (5, None, ["run_timeout"]), (5, 9, ["execution_timeout", "run_timeout"]),
])  # fmt: skip
def test_the_frames_that_a_run_begins_with(run_ms, chain_ms, bounds):
    frames = composer.deadlines(100, run_ms, chain_ms)

    assert [frame.bound for frame in frames] == bounds
    assert timeouts.deadlines_of(timeouts.deadlines_told(frames)) == frames


def test_a_state_machine_times_out_in_its_own_words():
    states = {"W": {"Type": "Wait", "Seconds": 100, "End": True}}
    machine = lowered({"QueryLanguage": "JSONata", "StartAt": "W", "States": states})
    run = simulate(machine, {}, run_timeout=30)

    assert run.elapsed == 30
    assert run.outcome.error["Status"] == "TIMED_OUT"


def redriven(part, fakes, at_ms, run_timeout=None):
    run = simulate(part, actions=fakes, run_timeout=run_timeout)
    entries = [entry.to_json(lambda value: value) for entry in run.history]
    program = composer.compile(part)
    return composer.redrive("e" * 32, program, entries, composer.Limits(), at_ms)


@pytest.mark.parametrize(
    "part", [composer.sequence("a", "b"), composer.sequence("a", composer.wait(50))]
)
def test_a_run_that_has_timed_out_can_be_redriven(part):
    execution, changes = redriven(part, {"a": {}, "b": Never()}, 60_000, run_timeout=30)

    (fiber,) = execution.fibers.values()
    assert [frame.at_ms for frame in fiber.frames] == [90_000]
    assert changes.outcome is None


def test_a_redrive_gives_each_step_its_time_again():
    part = composer.within("a", to_start=5, to_end=10, heartbeat=10)
    execution, _ = redriven(part, {"a": Never()}, 60_000)

    (fiber,) = execution.fibers.values()
    assert [(f.bound, f.at_ms) for f in fiber.frames] == [
        ("to_start", None), ("to_end", 70_000), ("heartbeat", 70_000),
    ]  # fmt: skip
