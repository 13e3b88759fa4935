"""A history has a limit: a warning at a fifth of it, and an end."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer.machine.cursor import Limits
from xingqiao.composer.testing import Fail, simulate

STARTED, EACH = 1, 2  # entries of a start, and of each step


def steps(count):
    return composer.sequence(*["a"] * count)


@pytest.mark.parametrize("crash", [(), "every"])
def test_a_history_may_have_all_the_entries_of_the_limit_and_a_step_beyond_fails(crash):
    fits = STARTED + EACH * 9 + 1  # and the warning
    limits = Limits(entries=fits)

    whole = simulate(steps(9), {}, actions={"a": {}}, limits=limits, crash=crash)
    beyond = simulate(steps(10), {}, actions={"a": {}}, limits=limits, crash=crash)

    assert whole.value == {}
    assert beyond.error == {
        "code": "LimitExceeded",
        "message": f"the history of the execution has its {fits} entries: continue as a new run before that (continue_as_new)",
    }
    assert len({one.activation for one in beyond.invocations}) == 9


@pytest.mark.parametrize("crash", [(), "every"])
def test_it_is_warned_of_once_at_a_fifth(crash):
    limits = Limits(entries=50)

    below = simulate(steps(3), {}, actions={"a": {}}, limits=limits, crash=crash)
    above = simulate(steps(9), {}, actions={"a": {}}, limits=limits, crash=crash)

    assert "HistoryLong" not in below.kinds()
    assert above.kinds().count("HistoryLong") == 1
    place = above.kinds().index("HistoryLong")
    assert above.history[place].detail == {"entries": place, "limit": 50}
    assert 10 <= place <= 11


def test_a_start_that_waits_for_nothing_is_warned_of_once():
    body = composer.sequence(*[composer.annotate(n=n) for n in range(12)], "a")

    run = simulate(body, {}, actions={"a": {}}, limits=Limits(entries=40))

    assert run.kinds().count("HistoryLong") == 1


@pytest.mark.parametrize("crash", [(), "every"])
def test_no_handler_and_no_retry_takes_the_end_and_finalizers_run(crash):
    looped = composer.retry(1000, composer.do(steps(20), "handle"))
    body = composer.ensure(looped, composer.sequence("clean", "clean"))

    run = simulate(
        body,
        {},
        actions={"a": {}, "clean": {}, "handle": {}},
        limits=Limits(entries=20),
        crash=crash,
    )

    assert run.error["code"] == "LimitExceeded"
    assert len({one.activation for one in run.invocations if one.action.endswith("clean")}) == 2
    assert run.calls("handle") == []


@pytest.mark.parametrize("crash", [(), "every"])
def test_a_saga_is_undone(crash):
    body = composer.saga(
        composer.step("a", undo="u"), composer.step(steps(20), no_undo="nothing to undo")
    )

    run = simulate(body, {}, actions={"a": {}, "u": {}}, limits=Limits(entries=20), crash=crash)

    assert run.error["code"] == "LimitExceeded"
    assert len({one.activation for one in run.invocations if one.action.endswith("u")}) == 1


def test_an_attempt_after_the_limit_is_not_made():
    body = composer.retry(1000, "a", delay=1)

    run = simulate(body, {}, actions={"a": Fail("Busy")}, limits=Limits(entries=30))

    assert run.error["code"] == "LimitExceeded"
    assert 30 <= len(run.history) <= 34


@pytest.mark.parametrize("crash", [(), "every"])
def test_a_loop_that_only_receives_messages_ends(crash):
    told = [(n, "go", n) for n in range(1, 50)]
    body = composer.repeat(1000, composer.receive("go"))

    run = simulate(body, {}, messages=told, limits=Limits(entries=30), crash=crash)

    assert run.error["code"] == "LimitExceeded"
    assert 30 <= len(run.history) <= 34


def test_the_histories_of_branches_are_one():
    body = composer.parallel(steps(6), steps(6))

    run = simulate(body, {}, actions={"a": {}}, limits=Limits(entries=20))

    assert run.error["code"] == "LimitExceeded"
