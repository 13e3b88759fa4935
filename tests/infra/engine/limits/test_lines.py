"""The lines of limits: members wait in the order of their numbers, and time lets them in."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import StandingClock
from xingqiao.composer import UNBOUND, Bound
from xingqiao.infra.engine.limits.lines import MANY, Lines, Place

API = Place("guest", "api", "")


class Farm:
    """Lines whose limits have given numbers."""

    def __init__(self, **bounds):
        self.clock, self.admitted, self.bounds = StandingClock(), [], bounds
        self.lines = Lines(self.clock, self.admitted.append, self._bound, 10.0)

    def _bound(self, name):
        return self.bounds.get(name[1], UNBOUND)

    def ask(self, id, place=API):
        return self.lines.ask(place, id, self.lines.number())

    def line(self, place=API):
        return dict(self.lines).get(place)


@pytest.fixture
async def farm():
    made = Farm(api=Bound(concurrent=1))
    made.lines.open()
    yield made
    made.lines.close()


async def test_nobody_is_let_in_before_it_is_open():
    farm = Farm(api=Bound(concurrent=1))
    assert not farm.ask("a")
    farm.lines.look(API)
    assert farm.admitted == []
    farm.lines.open()
    assert farm.admitted == ["a"]
    farm.lines.close()


async def test_one_that_comes_does_not_pass_one_that_waits(farm):
    assert farm.ask("a")
    assert not farm.ask("b")
    assert farm.lines.leave("a") == API
    assert not farm.ask("c")  # the slot is free, but nobody has looked yet

    farm.lines.look(API)
    assert farm.admitted == ["b"]
    assert farm.lines.before("c") == 0


async def test_restored_members_are_in_order_whenever_they_come(farm):
    number = farm.lines.number()
    farm.lines.restored(API, "late", number + 9, holds=False)
    farm.lines.restored(API, "first", number + 1, holds=True)
    farm.lines.restored(API, "early", number + 2, holds=False)
    assert farm.line().waiting == ["early", "late"]
    assert farm.lines.number() > number + 9
    farm.lines.look(API)
    assert farm.admitted == []


async def test_a_line_that_nobody_uses_is_forgotten(farm):
    farm.ask("a")
    farm.lines.leave("a")
    farm.lines.look(API)
    assert farm.line() is None
    assert "a" not in farm.lines
    assert farm.lines.leave("a") is None
    assert farm.lines.before("a") == 0


async def test_many_lines_that_nobody_uses_are_forgotten_together(farm):
    for n in range(MANY):
        farm.ask(f"{n}", Place("guest", "other", f"{n}"))
        farm.lines.leave(f"{n}")
    farm.ask("a")
    assert len(dict(farm.lines)) == 1


async def test_a_rate_arms_one_timer():
    farm = Farm(api=Bound(per_minute=60))
    farm.lines.open()
    assert farm.ask("a")
    assert not farm.ask("b")
    assert not farm.ask("c")
    assert len(farm.lines._timers) == 1
    farm.clock.ms += 1_000
    farm.lines._timers._ring()
    assert (farm.admitted, len(farm.lines._timers)) == (["b"], 1)
    farm.lines.close()


async def test_other_numbers_count_for_all_lines_of_the_limit(farm):
    keyed = API._replace(key="k")
    for place in (API, keyed):
        farm.ask(f"a{place.key}", place)
        farm.ask(f"b{place.key}", place)
    farm.bounds["api"] = Bound(concurrent=2)
    farm.lines.look_all(("guest", "another"))
    assert farm.admitted == []
    farm.lines.look_all(API.name)
    assert farm.admitted == ["b", "bk"]
