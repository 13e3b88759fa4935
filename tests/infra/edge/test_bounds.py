"""Bounds, and the file descriptors that they leave."""

from __future__ import annotations

import resource

from xingqiao.infra.edge import Bounds, raise_descriptors
from xingqiao.infra.edge.bounds import LEAST_CONNECTIONS


def test_connections_leave_descriptors_for_all_else():
    bounds = Bounds(connections=1000)
    needed = bounds.descriptors(workers=16)
    assert needed > 1000

    assert bounds.within(needed, 16).connections == 1000
    assert bounds.within(needed - 1, 16).connections == 999
    assert bounds.within(needed - 900, 16).connections == 100
    assert bounds.within(0, 16).connections == LEAST_CONNECTIONS
    assert Bounds(connections=3).within(0, 16).connections == 3


def test_unfinished_connections_leave_room_for_others():
    low = Bounds(connections=100).within(1 << 20, 0)
    assert (low.unfinished, low.unfinished_per_address) == (75, 50)
    high = Bounds(connections=100, unfinished=9, unfinished_per_address=5).within(1 << 20, 0)
    assert (high.unfinished, high.unfinished_per_address) == (9, 5)


def test_deadlines_are_looked_at_often_enough_and_not_more():
    assert Bounds().tick_s == 1
    assert Bounds(header_s=2).tick_s == 0.5
    assert Bounds(body_s=0.01).tick_s == 0.05


def test_the_limit_on_descriptors_is_raised_as_far_as_it_may_be_and_never_lowered():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 2, hard))
        assert raise_descriptors(16) == soft - 2
        assert raise_descriptors(soft - 1) == soft - 1
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft - 1, hard)
        assert raise_descriptors(hard + 1) == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
