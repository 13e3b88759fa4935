"""The laws of the `Clock` and `Ids` ports, for the machine's own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xingqiao.infra.clock import RandomIds, SystemClock

instants = st.integers(0, (1 << 48) - 1)  # milliseconds since the epoch, until the year 10889


def test_time_does_not_go_back():
    clock = SystemClock()

    elapsed = [clock.elapsed_us() for _ in range(1000)]

    assert elapsed == sorted(elapsed)


def test_the_time_is_a_whole_number_of_milliseconds_since_the_epoch():
    now_ms = SystemClock().now_ms()

    assert type(now_ms) is int
    assert 1_700_000_000_000 < now_ms < 1 << 43  # after 2023, and before 2248


@given(instants)
def test_an_id_is_32_digits_that_begin_with_the_time(now_ms):
    id = RandomIds().execution_id(now_ms)

    assert re.fullmatch("[0-9a-f]{32}", id)
    assert int(id[:12], 16) == now_ms


def test_no_id_is_drawn_twice():
    ids = RandomIds()

    assert len({ids.execution_id(7) for _ in range(10_000)}) == 10_000


@pytest.mark.parametrize(
    ("earlier", "later"), [(0, 1), (15, 16), (1_700_000_000_000, 1_700_000_000_001)]
)
def test_ids_are_in_order_of_time(earlier, later):
    ids = RandomIds()

    assert ids.execution_id(earlier) < ids.execution_id(later)
