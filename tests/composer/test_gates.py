"""Limits that wait: nobody passes a closed gate, and those that wait go in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from xingqiao.composer import UNBOUND, Bound, Gate, WaitingLine

MINUTE_MS = 60_000


def line(now_ms=0, **bound):
    return WaitingLine(Bound(**bound), now_ms)


def test_a_gate_without_a_bound_is_open():
    gate = Gate(UNBOUND, 5)
    assert (gate.opens_ms(5), gate.idle(5)) == (5, True)


def test_a_rate_is_even_and_begins_with_one():
    gate = Gate(Bound(per_minute=120), 0)
    assert gate.opens_ms(0) == 0
    gate.enter(0)
    assert gate.opens_ms(0) == 500
    gate.leave()
    assert not gate.idle(499)
    assert gate.idle(500)


def test_a_burst_is_the_share_of_a_second():
    assert [Bound(per_minute=n).burst for n in (None, 1, 60, 119, 120, 600)] == [1, 1, 1, 1, 2, 10]
    gate = Gate(Bound(per_minute=120), 0)
    for _ in range(2):
        assert gate.opens_ms(MINUTE_MS) == MINUTE_MS
        gate.enter(MINUTE_MS)
    assert gate.opens_ms(MINUTE_MS) == MINUTE_MS + 500


def test_members_wait_in_the_order_of_their_places():
    made = line(concurrent=1)
    made.wait("late", 3)
    made.wait("first", 1)
    made.wait("second", 2)
    assert (made.waiting, made.first, len(made)) == (["first", "second", "late"], "first", 3)
    assert [made.before(id) for id in ("first", "second", "late", "nobody")] == [0, 1, 2, 0]

    assert made.admitted(0) == ["first"]
    assert made.holders == {"first"}
    made.leave("second")
    made.leave("nobody")
    made.leave("first")
    assert made.admitted(0) == ["late"]
    made.leave("late")
    assert (made.first, made.idle(0)) == (None, True)


def test_a_slot_that_is_held_already_counts_even_if_it_is_one_too_many():
    made = line(concurrent=1)
    for id in "ab":
        made.hold(id)
    made.wait("c", 1)
    made.leave("a")
    assert made.admitted(0) == []
    made.leave("b")
    assert made.admitted(0) == ["c"]


def test_another_bound_counts_at_once():
    made = line(concurrent=1)
    for place, id in enumerate("abcd"):
        made.wait(id, place)
    assert made.admitted(0) == ["a"]
    made.bound = Bound(concurrent=3)
    assert made.bound == Bound(concurrent=3)
    assert made.admitted(0) == ["b", "c"]
    made.bound = Bound(concurrent=2)
    made.leave("a")
    assert made.admitted(0) == []
    made.leave("b")
    assert made.admitted(0) == ["d"]


def test_time_lets_the_next_one_in():
    made = line(per_minute=60)
    assert made.opens_ms(0) is None
    for place, id in enumerate("ab"):
        made.wait(id, place)
    assert made.opens_ms(0) == 0
    assert made.admitted(0) == ["a"]
    assert made.opens_ms(0) == 1_000
    assert made.admitted(999) == []
    assert made.admitted(1_000) == ["b"]


def test_one_must_leave_before_time_counts():
    made = line(concurrent=1, per_minute=60)
    for place, id in enumerate("ab"):
        made.wait(id, place)
    made.admitted(0)
    assert made.opens_ms(5_000) is None
    made.leave("a")
    assert made.opens_ms(5_000) == 5_000


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=60),
    st.integers(1, 4),
    st.integers(1, 600),
)
def test_never_more_hold_than_may_and_everybody_gets_in(steps, most, rate):
    made, place, entered, now_ms = line(concurrent=most, per_minute=rate), 0, [], 0
    for step in steps:
        now_ms += 250
        if step is None:
            made.wait(f"{place}", place)
            place += 1
        elif made.holders:
            made.leave(sorted(made.holders)[step % len(made.holders)])
        entered += made.admitted(now_ms)
        assert len(made.holders) <= most
        assert len(entered) <= 1 + max(1, rate // 60) + now_ms * rate / MINUTE_MS
    while len(entered) < place:
        for id in [*made.holders]:
            made.leave(id)
        now_ms += MINUTE_MS
        entered += made.admitted(now_ms)
    assert entered == [f"{n}" for n in range(place)]


def test_a_bound_shows_the_numbers_that_it_has():
    assert Bound(3, 60).to_json() == {"concurrent": 3, "per_minute": 60}
    assert Bound(per_minute=60).to_json() == {"per_minute": 60}
    assert Bound().to_json() == {}
