"""Those with a time to meet come first, each queue is in order, and nobody waits for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.infra.engine.urgency import IN_A_ROW, Line


def test_the_urgent_come_first():
    line = Line()
    line.add("end", urgent=False)
    line.add("time", urgent=True)

    assert [line.take(), line.take()] == ["time", "end"]


def test_one_that_waits_with_the_others_may_become_urgent():
    line = Line()
    for name in ("first", "second"):
        line.add(name, urgent=False)
    line.add("time", urgent=True)
    for name in ("second", "time", "unknown"):
        line.hurry(name)

    assert [line.take() for _ in range(len(line))] == ["time", "second", "first"]


def test_an_empty_line_has_nothing_to_take():
    with pytest.raises(LookupError):
        Line().take()


@given(st.lists(st.one_of(st.booleans(), st.none())))
def test_each_queue_is_in_order_and_others_come_after_so_many_in_a_row(moves):
    line, put, taken, passed = Line(), {True: [], False: []}, {True: [], False: []}, 0
    for number, move in enumerate([*moves, *[None] * len(moves)]):
        if move is not None:
            line.add((move, number), urgent=move)
            put[move].append(number)
        elif line:
            others = len(put[False]) - len(taken[False])
            urgent, one = line.take()
            taken[urgent].append(one)
            passed = passed + 1 if urgent and others else 0
            assert passed <= IN_A_ROW

    assert not line
    assert taken == put
