"""How much is read at the same time."""

from __future__ import annotations

import pytest

from xingqiao.infra.edge import Bodies, BusyError
from xingqiao.infra.edge.bodies import FREE

MIB = 1 << 20


def test_small_bodies_are_not_counted():
    bodies = Bodies(whole=0, unproved=0)

    bodies.check(FREE, proved=False)
    assert bodies.take(0, FREE, proved=False) == 0
    with pytest.raises(BusyError):
        bodies.check(FREE + 1, proved=True)
    with pytest.raises(BusyError):
        bodies.take(0, FREE + 1, proved=True)
    assert bodies.refused == 2


@pytest.mark.parametrize("proved", [True, False])
def test_what_is_read_is_counted_until_it_is_given_back(proved):
    bodies = Bodies(whole=2 * MIB, unproved=2 * MIB)

    taken = bodies.take(0, MIB + FREE, proved=proved)
    taken = bodies.take(taken, 2 * MIB + FREE, proved=proved)
    assert (taken, bodies.reading) == (2 * MIB, 2 * MIB)
    with pytest.raises(BusyError, match="try again"):
        bodies.take(0, FREE + 1, proved=proved)
    bodies.give(taken, proved=proved)
    assert (bodies.reading, bodies.reading_unproved) == (0, 0)
    bodies.check(2 * MIB + FREE, proved=proved)


def test_who_is_not_known_leaves_room_for_who_is():
    bodies = Bodies(whole=3 * MIB, unproved=MIB)
    bodies.take(0, MIB + FREE, proved=False)

    with pytest.raises(BusyError):
        bodies.check(FREE + 1, proved=False)
    bodies.check(2 * MIB + FREE, proved=True)
    with pytest.raises(BusyError):
        bodies.check(2 * MIB + FREE + 1, proved=True)
