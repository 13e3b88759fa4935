"""Whether a call may run now: each limit on both its sides."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import python
from xingqiao.actions import (
    InvalidError,
    Quotas,
    ThrottledError,
    TooLargeError,
    Usage,
    check_call,
    check_payload,
)

MINUTE = 60_000


def admit(usage, quotas, times=1, now_ms=0):
    """Admits calls, which run from then on."""
    for _ in range(times):
        usage.admit(quotas, now_ms)
        usage.running += 1


def test_without_quotas_everything_is_admitted():
    usage = Usage()

    admit(usage, Quotas(), 1000)

    assert usage.running == 1000


def test_so_many_calls_run_at_once_and_no_more():
    usage, quotas = Usage(), Quotas(concurrent=3)
    admit(usage, quotas, 3)

    with pytest.raises(ThrottledError) as refusal:
        usage.admit(quotas, 0)

    assert str(refusal.value) == ("Too many concurrent requests in flight (count: 3, allowed: 3).")
    assert usage.running == 3


def test_a_call_that_has_ended_makes_room_for_one():
    usage, quotas = Usage(), Quotas(concurrent=1)
    admit(usage, quotas)

    usage.running -= 1
    admit(usage, quotas)

    with pytest.raises(ThrottledError):
        usage.admit(quotas, 0)


def test_so_many_calls_in_a_minute_and_no_more():
    usage, quotas = Usage(), Quotas(per_minute=2)
    admit(usage, quotas, 2, now_ms=5 * MINUTE)

    with pytest.raises(ThrottledError) as refusal:
        usage.admit(quotas, 6 * MINUTE - 1)

    assert str(refusal.value) == ("Too many requests in the last minute (count: 3, allowed: 2).")


@pytest.mark.parametrize("later_ms", [6 * MINUTE, 60 * MINUTE, 4 * MINUTE])
def test_another_minute_begins_at_nothing(later_ms):
    usage, quotas = Usage(), Quotas(per_minute=2)
    admit(usage, quotas, 2, now_ms=6 * MINUTE - 1)

    admit(usage, quotas, 2, later_ms)

    with pytest.raises(ThrottledError):
        usage.admit(quotas, later_ms)


def test_a_call_that_is_refused_is_not_counted():
    usage = Usage()
    admit(usage, Quotas())
    with pytest.raises(ThrottledError):
        usage.admit(Quotas(concurrent=1, per_minute=2), 0)

    usage.admit(Quotas(per_minute=2), 0)  # the second of this minute

    with pytest.raises(ThrottledError, match="count: 3, allowed: 2"):
        usage.admit(Quotas(per_minute=2), 0)


def test_what_is_live_has_a_limit_and_who_is_refused_is_not_counted():
    usage, quotas = Usage(), Quotas(live=3)
    usage.live = 2
    usage.admit(quotas, 0)
    usage.live = 3

    with pytest.raises(ThrottledError) as refusal:
        usage.admit(quotas, 0)

    assert "(count: 3, allowed: 3)" in str(refusal.value)
    assert "'liveExecutions'" in str(refusal.value)
    usage.live = 2
    usage.admit(Quotas(live=3, per_minute=2), 0)  # the second of this minute


@pytest.mark.parametrize("size", [0, 1, 1024])
def test_a_payload_up_to_the_limit_is_taken(size):
    check_payload(size, Quotas(payload_bytes=1024))


def test_a_payload_over_the_limit_is_refused_with_both_figures():
    with pytest.raises(TooLargeError) as refusal:
        check_payload(1025, Quotas(payload_bytes=1024))

    assert str(refusal.value) == "Request larger than allowed: 1025 > 1024 bytes."


def test_triggers_fire_so_often_in_a_minute_and_no_more():
    usage, quotas = Usage(), Quotas(fires_per_minute=2)
    for _ in range(2):
        usage.admit_fire(quotas, MINUTE - 1)

    with pytest.raises(ThrottledError) as refusal:
        usage.admit_fire(quotas, MINUTE - 1)

    assert str(refusal.value) == ("Too many requests in the last minute (count: 3, allowed: 2).")
    usage.admit_fire(quotas, MINUTE)
    usage.admit(quotas, MINUTE)
    Usage().admit_fire(Quotas(), 0)


def test_a_call_may_set_what_is_not_final_and_is_not_too_large():
    parameters = [{"key": "a", "value": 1}]
    final = python(parameters=parameters, annotations=[{"key": "final", "value": True}])
    quotas = Quotas(payload_bytes=10)

    check_call(python(parameters=parameters), {"a": 2}, 10, quotas)
    check_call(final, {"b": 2}, 10, quotas)
    with pytest.raises(InvalidError, match="Request defines parameters that are not allowed"):
        check_call(final, {"a": 2}, 10, quotas)
    with pytest.raises(TooLargeError, match="11 > 10 bytes"):
        check_call(final, {"b": 2}, 11, quotas)
