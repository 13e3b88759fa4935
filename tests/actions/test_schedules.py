"""What schedules decide: overlaps, windows, pauses, what users ask for, and ends."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import (
    OVERLAPS,
    InvalidError,
    ScheduleRules,
    ScheduleState,
    schedule_of,
    schedule_runs,
)
from xingqiao.composer import CANCELLED, Failure, Success

MINUTE = 60_000
BROKEN = Failure("Broken", "broken")


def definition(**fields):
    doc = {"spec": {"intervals": "60s"}, "do": {"action": "a", "input": {"n": 1}}, **fields}
    return schedule_of("/guest/s", doc)


def rules(**fields):
    return ScheduleRules(definition(**fields))


def fresh(made, now_ms=0):
    return made.created(now_ms)


def busy(made, now_ms=0):
    """The state with an open run of the time 0."""
    decision = made.due(fresh(made, now_ms), now_ms)
    return decision.state.begun(decision.start.name, "run-0", now_ms)


def all_due(made, state, now_ms):
    """The starts that are due, and the state after them."""
    starts = []
    while (decision := made.due(state, now_ms)) is not None:
        state = decision.state
        if decision.start is not None:
            starts.append(decision.start.at_ms)
    return starts, state


# --- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "expected", "counts"),
    [
        ("skip", [(0, 0), (180, 180), (360, 360)], (5, 0, 0)),
        ("buffer_one", [(0, 0), (150, 60), (300, 180), (450, 300)], (4, 0, 0)),
        ("buffer_all", [(0, 0), (150, 60), (300, 120), (450, 180)], (0, 4, 0)),
        ("cancel_other", [(0, 0), (70, 60), (130, 120), (190, 180)], (0, 0, 0)),
        ("terminate_other", [(0, 0), (60, 60), (120, 120), (180, 180)], (0, 0, 0)),
        ("allow_all", [(0, 0), (60, 60), (120, 120), (180, 180)], (0, 0, 0)),
    ],
)  # fmt: skip
def test_a_run_of_150_s_that_is_asked_for_each_60_s(overlap, expected, counts):
    """An end and a time at the same instant: the end first."""
    made = schedule_runs(
        {"spec": {"intervals": "60s"}, "overlap": overlap}, 0, 450_000, durations=150, finalizers=10
    )
    starts = [(run.started_ms // 1000, run.at_ms // 1000) for run in made.runs]
    state = made.state

    assert starts[: len(expected)] == expected
    assert (state.skipped, len(state.waiting), state.dropped) == counts


def test_three_runs_are_open_at_once_where_all_are_allowed():
    doc = {"spec": {"intervals": "60s"}, "overlap": "allow_all"}
    assert len(schedule_runs(doc, 0, 200_000, durations=150).state.open) == 3


def test_the_buffer_has_an_end():
    made = rules(overlap="buffer_all")
    starts, state = all_due(made, busy(made), 1_002 * MINUTE)

    assert starts == []
    assert (len(state.waiting), state.dropped, state.skipped) == (1_000, 2, 0)


def test_many_times_are_looked_at_in_parts():
    made = rules()
    first = made.due(busy(made), 300 * MINUTE)
    second = made.due(first.state, 300 * MINUTE)

    assert (first.state.skipped, second.state.skipped) == (200, 300)
    assert made.due(second.state, 300 * MINUTE) is None


@given(
    st.sampled_from(OVERLAPS),
    st.lists(st.integers(0, 300), min_size=1, max_size=10),
    st.integers(0, 100),
    st.integers(0, 40),
)
def test_each_time_is_met_once_or_counted(overlap, durations, finalizers, minutes):
    made = schedule_runs(
        {"spec": {"intervals": "60s"}, "overlap": overlap}, 0, minutes * MINUTE,
        durations=durations, finalizers=finalizers,
    )  # fmt: skip
    state, times = made.state, [run.at_ms for run in made.runs]
    open_at = [
        sum(other.started_ms <= run.started_ms and (other.ended_ms or 10**9) > run.started_ms
            for other in made.runs if other.started_ms != other.ended_ms)
        for run in made.runs
    ]  # fmt: skip

    assert len(times) + state.skipped + state.dropped + len(state.waiting) == minutes + 1
    assert times == sorted(set(times))
    assert all(at % MINUTE == 0 for at in times)
    assert overlap == "allow_all" or max(open_at) <= 1


# --- windows, limits -----------------------------------------------------------------------------


def test_times_within_the_window_are_met_in_order_and_older_ones_are_missed():
    made = rules(overlap="allow_all", catchup="2m")
    state = fresh(made)
    at_window, late = all_due(made, state, 4 * MINUTE), all_due(made, state, 4 * MINUTE + 1)

    assert (at_window[0], at_window[1].missed) == ([2 * MINUTE, 3 * MINUTE, 4 * MINUTE], 2)
    assert (late[0], late[1].missed) == ([3 * MINUTE, 4 * MINUTE], 3)


def test_a_limit_counts_times_that_have_a_run():
    made = rules(limit=2)
    state = busy(made)
    _, state = all_due(made, state, 2 * MINUTE)
    assert (state.left, state.skipped, state.next_ms) == (1, 2, 3 * MINUTE)
    state = made.ended(state, "run-0", Success(1), 2 * MINUTE).state
    starts, state = all_due(made, state, 3 * MINUTE)
    assert (starts, state.left, state.next_ms) == ([3 * MINUTE], 0, None)
    assert made.due(state, 99 * MINUTE) is None


def test_a_jitter_moves_a_start_and_not_the_time_that_it_stands_for():
    made = rules(spec={"intervals": "60s", "jitter": "50s"})
    state = fresh(made, 1)
    due_ms = made.definition.due_ms(MINUTE)

    assert MINUTE < due_ms < 2 * MINUTE
    assert made.due(state, due_ms - 1) is None
    assert made.due(state, due_ms).start.name == "s-1970-01-01T00:01:00Z"


# --- pauses, updates -----------------------------------------------------------------------------


def test_times_pass_while_it_is_paused():
    made = rules(paused=True)
    state = fresh(made)
    assert (state.paused, made.due(state, 5 * MINUTE)) == (True, None)
    resumed = made.resumed(state, 5 * MINUTE + 1).state
    assert (resumed.paused, resumed.next_ms, resumed.missed) == (False, 6 * MINUTE, 0)
    assert made.resumed(resumed, 9 * MINUTE).state is resumed
    ended = replace(state, next_ms=None)
    assert made.resumed(ended, MINUTE).state.next_ms is None


def test_what_waits_waits_on_while_it_is_paused():
    made = rules(overlap="buffer_all")
    _, state = all_due(made, busy(made), 2 * MINUTE)
    state = made.paused(state).state
    state = made.ended(state, "run-0", Success(1), 2 * MINUTE).state
    assert made.proceeding(state) is None
    asked = made.triggered(state, None, 2 * MINUTE + 5)
    assert asked.start.name == "s-1970-01-01T00:02:00.005Z-1"
    resumed = made.resumed(state, 2 * MINUTE).state
    assert made.proceeding(resumed).start.at_ms == MINUTE


def test_an_update_counts_from_now_and_keeps_what_is_open_and_waits():
    before = rules(overlap="buffer_all", limit=5)
    _, state = all_due(before, busy(before), 2 * MINUTE)
    after = rules(spec={"intervals": "1h"}, limit=5)
    state2 = after.updated(before.definition, state, 2 * MINUTE).state

    assert (state2.next_ms, state2.left) == (60 * MINUTE, 2)
    assert (state2.open, state2.waiting) == (state.open, state.waiting)
    other = rules(limit=7).updated(before.definition, state, 2 * MINUTE).state
    assert (other.left, other.next_ms) == (7, 3 * MINUTE)
    spent = replace(state, left=0)
    assert after.updated(before.definition, spent, 2 * MINUTE).state.next_ms is None
    paused = rules(paused=True).updated(before.definition, state, 0).state
    going = rules(paused=False).updated(before.definition, paused, 0).state
    still = rules().updated(before.definition, paused, 0).state
    assert (paused.paused, going.paused, still.paused) == (True, False, True)


# --- what users ask for --------------------------------------------------------------------------


def test_a_trigger_has_a_policy_of_its_own():
    made = rules()
    state = busy(made)
    skipped = made.triggered(state, None, 7)
    allowed = made.triggered(state, "allow_all", 7)
    buffered = made.triggered(state, "buffer_one", 7)
    again = made.triggered(buffered.state, "buffer_one", 8)

    assert (skipped.start, skipped.state.skipped) == (None, 1)
    assert (allowed.start.at_ms, allowed.start.asked, len(allowed.state.open)) == (7, True, 2)
    assert (len(buffered.state.waiting), again.state.skipped) == (1, 1)


def test_a_backfill_meets_both_ends_and_twice_is_twice():
    made = rules(paused=True)
    state, names = fresh(made), []
    for _ in range(2):
        decision = made.backfilled(state, (0, 2 * MINUTE), None)
        while decision is not None:
            state = decision.state.begun(decision.start.name, decision.start.name, 0)
            names.append(decision.start.name)
            decision = made.proceeding(state)

    assert names == [
        f"s-1970-01-01T00:0{minute}:00Z-{number}" for number in (1, 2) for minute in (0, 1, 2)
    ]
    assert len(state.open) == 6


def test_a_backfill_under_another_policy_starts_one_after_the_other():
    made = rules()
    decision = made.backfilled(fresh(made), (0, 2 * MINUTE), "buffer_all")
    assert (decision.start.at_ms, len(decision.state.waiting)) == (0, 2)
    state = decision.state.begun(decision.start.name, "r", 0)
    assert made.proceeding(state) is None
    state = made.ended(state, "r", Success(1), 5).state
    assert made.proceeding(state).start.at_ms == MINUTE


@pytest.mark.parametrize(
    ("period", "text"),
    [((1, 0), "'to' must not be before 'from'"), ((0, 1_000 * MINUTE), "too many times")],
)
def test_a_backfill_that_cannot_be_is_refused(period, text):
    made = rules()
    with pytest.raises(InvalidError, match=text):
        made.backfilled(fresh(made), period, None)


HARD = {"cron": "* * * * * *", "skip": [{"second": "0-58"}, {"minute": "0-9"}]}


def test_a_backfill_whose_times_are_hard_to_find_is_refused():
    made = rules(spec=HARD)
    with pytest.raises(InvalidError, match="too hard to find: backfill a shorter period"):
        made.backfilled(fresh(made), (0, 999 * MINUTE), None)


def test_times_that_are_hard_to_find_are_met_a_few_at_once():
    made = rules(spec=HARD, catchup="10s")
    decision = made.due(fresh(made), 10_000 * MINUTE)

    assert 0 < decision.state.missed < 50
    assert made.due(decision.state, 10_000 * MINUTE).state.missed > decision.state.missed


# --- stopping others -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("overlap", "stop"), [("cancel_other", "cancel"), ("terminate_other", "terminate")]
)
def test_the_open_run_is_stopped_once_and_only_the_newest_time_waits(overlap, stop):
    made = rules(overlap=overlap)
    first = made.due(busy(made), MINUTE)
    second = made.due(first.state, 2 * MINUTE)
    backfilled = made.backfilled(second.state, (0, MINUTE), None).state

    assert (first.start, first.stop, first.state.stopping) == (None, stop, stop)
    assert (second.start, second.stop, second.state.skipped) == (None, "", 1)
    assert [each.at_ms for each in second.state.waiting] == [2 * MINUTE]
    third = made.due(made.backfilled(first.state, (0, MINUTE), None).state, 2 * MINUTE).state
    assert [each.overlap for each in third.waiting] == ["allow_all", overlap]
    assert len(backfilled.open) == 2
    done = made.ended(second.state, "run-0", Failure(CANCELLED, "cancelled"), 3).state
    assert (done.stopping, done.open, done.failure) == ("", (), None)
    assert made.proceeding(done).start.at_ms == 2 * MINUTE


def test_termination_follows_a_cancellation_that_takes_long():
    made = rules(overlap="cancel_other")
    state = made.due(busy(made), MINUTE).state
    asked = made.triggered(state, "terminate_other", MINUTE + 1)
    assert (asked.stop, asked.state.stopping) == ("terminate", "terminate")
    after = made.due(asked.state, 2 * MINUTE)
    assert (after.stop, after.state.stopping) == ("", "terminate")


# --- ends ----------------------------------------------------------------------------------------


def test_the_next_run_has_the_last_result_and_the_last_failure():
    made = rules()
    state = made.ended(busy(made), "run-0", Success({"r": 1}), 5).state
    second = made.due(state, MINUTE)
    state = second.state.begun(second.start.name, "run-1", MINUTE)
    state = made.ended(state, "run-1", BROKEN, MINUTE + 5).state
    third = made.due(state, 2 * MINUTE)
    state = third.state.begun(third.start.name, "run-2", 2 * MINUTE)
    after = made.ended(state, "run-2", Success({"r": 2}), 2 * MINUTE).state

    failure = {"code": "Broken", "error": "broken"}
    assert second.start.params == {"n": 1, "__ow_last_result": {"r": 1}}
    assert third.start.params == {
        "n": 1, "__ow_last_result": {"r": 1}, "__ow_last_failure": failure,
    }  # fmt: skip
    assert (after.result, after.failure) == ({"r": 2}, None)
    assert made.triggered(state, "allow_all", 5).start.params == {"n": 1}
    assert [(run.status, run.error) for run in after.last] == [
        ("succeeded", ""), ("failed", "Broken: broken"), ("succeeded", ""),
    ]  # fmt: skip


def test_a_large_result_is_not_given_to_the_next_run():
    made = rules()
    large = made.ended(busy(made), "run-0", Success("x" * 70_000), 5).state
    failed = made.ended(busy(made), "run-0", Failure("Broken", "x" * 70_000), 5).state

    assert made.due(large, MINUTE).start.params == {"n": 1}
    assert failed.failure == {"code": "Broken", "error": None}
    assert len(failed.last[0].error) == 300


def test_ten_runs_are_remembered():
    made = schedule_runs({"spec": {"intervals": "60s"}}, 0, 30 * MINUTE)
    assert [run.at_ms // MINUTE for run in made.state.last] == [*range(21, 31)]


@pytest.mark.parametrize(
    ("outcome", "paused"),
    [(BROKEN, True), (Failure(CANCELLED, "cancelled"), False), (Success(1), False)],
)
def test_a_failure_pauses_where_that_is_asked_for(outcome, paused):
    made = rules(pause_on_failure=True)
    after = made.ended(busy(made), "run-0", outcome, 5).state

    assert after.paused is paused
    assert bool(after.why) is paused
    assert rules().ended(busy(made), "run-0", outcome, 5).state.paused is False


def test_a_run_that_is_refused_has_failed_without_an_end_of_others():
    made = rules(pause_on_failure=True)
    decision = made.due(fresh(made), 0)
    after = made.refused(decision.state, decision.start.name, "no such action", 9).state

    (run,) = after.last
    assert (run.status, run.started_ms, run.ended_ms, run.run) == ("refused", 9, 9, "")
    assert (run.error, after.open, after.paused) == ("refused: no such action", (), True)


def test_the_end_of_another_run_changes_nothing():
    made = rules()
    assert made.ended(busy(made), "another", Success(1), 5) is None


@given(st.sampled_from(OVERLAPS), st.integers(0, 20), st.booleans(), st.lists(st.integers(0, 200)))
def test_a_state_comes_back_as_it_was_written(overlap, minutes, triggered, durations):
    made = schedule_runs(
        {"spec": {"intervals": "60s"}, "overlap": overlap, "limit": 15},
        0, minutes * MINUTE, durations=[*durations, 90],
    )  # fmt: skip
    state = made.state
    if triggered:
        state = rules().triggered(state, "buffer_all", 5).state
    assert ScheduleState.from_json(state.to_json()) == state
    assert [*state.to_json()] == [field.name for field in fields(ScheduleState)]
