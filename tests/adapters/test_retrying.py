"""Whether to ask again: not by the error, but by whether it ran."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.actions import FAILURES, Retrying
from xingqiao.adapters import Fault
from xingqiao.adapters.port import Pending
from xingqiao.adapters.retrying import RESERVE, Budget, wait_before_poll, wait_before_retry

RETRYING = Retrying(attempts=3, delay_ms=100, max_delay_ms=1000)


def fault(ran="no", *, transient=True, retry_after_ms=None):
    return Fault("Throttled", "no", ran, retry_after_ms, transient)


def wait(fault, attempt=1, *, repeatable=False, seed="s"):
    return wait_before_retry(fault, attempt, RETRYING, repeatable=repeatable, seed=seed)


@pytest.mark.parametrize(
    ("ran", "transient", "repeatable", "again"),
    [
        ("no", True, False, True),
        ("no", True, True, True),
        ("no", False, True, False),
        ("unknown", True, False, False),
        ("unknown", True, True, True),
        ("unknown", False, True, False),
        ("yes", True, False, False),
        ("yes", True, True, False),
        ("yes", False, True, False),
    ],
)
def test_what_may_be_asked_for_again(ran, transient, repeatable, again):
    assert (wait(fault(ran, transient=transient), repeatable=repeatable) is not None) is again


@pytest.mark.parametrize(("attempt", "again"), [(1, True), (2, True), (3, False), (4, False)])
def test_there_are_so_many_attempts(attempt, again):
    assert (wait(fault(), attempt) is not None) is again


@pytest.mark.parametrize(
    ("retry_after_ms", "least"),
    [(0, 50), (700, 700), (1000, 1000), (1001, None), (86_400_000, None)],
)
def test_what_the_cloud_asks_for_is_kept_or_it_is_given_up(retry_after_ms, least):
    waits = wait(fault(retry_after_ms=retry_after_ms))

    assert waits is None if least is None else waits >= least


FAULTS = st.builds(
    Fault,
    st.sampled_from(sorted(FAILURES)), st.none(), st.sampled_from(["no", "yes", "unknown"]),
    st.none() | st.integers(0, 100_000), st.booleans(),
)  # fmt: skip
RETRYINGS = st.builds(
    Retrying, attempts=st.integers(1, 20), delay_ms=st.integers(0, 60_000), max_delay_ms=st.integers(0, 600_000)
)  # fmt: skip


@given(FAULTS, st.integers(1, 30), RETRYINGS, st.booleans(), st.text())
def test_the_laws_of_asking_again(fault, attempt, retrying, repeatable, seed):
    waits = wait_before_retry(fault, attempt, retrying, repeatable=repeatable, seed=seed)

    if fault.may_have_run == "yes" or not fault.transient or attempt >= retrying.attempts:
        assert waits is None
    if fault.may_have_run == "unknown" and not repeatable:
        assert waits is None
    if waits is not None:
        assert 0 <= waits <= retrying.max_delay_ms
        assert waits >= (fault.retry_after_ms or 0)
        assert waits == wait_before_retry(
            fault, attempt, retrying, repeatable=repeatable, seed=seed
        )


@given(st.lists(st.sampled_from(["earn", "spend"]), max_size=300))
def test_repeats_are_a_share_of_what_is_asked_for_and_a_reserve(moves):
    budget, earned, spent = Budget(), 0, 0
    for move in moves:
        if move == "earn":
            budget.earn()
            earned += 1
        else:
            spent += budget.spend()

    assert spent <= RESERVE + 0.2 * earned


def test_an_outage_ends_asking_again():
    budget = Budget()

    assert sum(budget.spend() for _ in range(100)) == RESERVE


@pytest.mark.parametrize(
    ("answer", "backoff_ms", "wait_ms"),
    [
        (Pending({}), 1_600, 1_600),
        (Pending({}, 5_000), 1_600, 5_000),
        (Pending({}, most_ms=1_200), 1_200, 1_200),
        (Pending({}, most_ms=1), 250, 250),
        (Pending({}, most_ms=10_000), 1_600, 1_600),
        (fault(retry_after_ms=7_000), 1_600, 7_000),
        (fault(), 1_600, 1_600),
    ],
)
def test_a_poll_backs_off_within_what_the_cloud_says(answer, backoff_ms, wait_ms):
    assert wait_before_poll(1_000, answer) == (backoff_ms, wait_ms)


def test_a_run_is_asked_after_every_half_minute_at_least():
    assert wait_before_poll(29_000, Pending({})) == (30_000, 30_000)
