"""Executions that were told messages lately stay in memory while they wait, up to a number and a size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.engine.engines import HELD, world
from tests.kit.engine.mail import tell
from xingqiao import composer
from xingqiao.composer import receive
from xingqiao.infra.engine import EngineSettings, lingering

ENDLESS = composer.loop(composer.select({"value": True}), receive("go"))
ANSWERS = {"a": HELD, "large": {"text": "x" * (lingering.VALUES_BYTES + 1)}}


@pytest.fixture
async def made():
    async with world(answers=ANSWERS, settings=EngineSettings(dormant=2)) as made:
        await made.put(
            a=None,
            large=None,
            main=ENDLESS,
            once=receive("go"),
            then=composer.sequence(receive("go"), "a"),
            heavy=composer.sequence("large", receive("go")),
            wide=composer.parallel(*[receive("go")] * (lingering.FIBERS + 1)),
        )
        yield made


def in_memory(made, *ids):
    return [id in made.engine._parts.runs for id in ids]


async def test_those_that_were_told_last_stay(made):
    ids = [await made.start("main") for _ in range(3)]
    await made.settle()
    assert in_memory(made, *ids) == [False, False, False], "what was told nothing is a row only"

    for id in ids:
        await tell(made, id, "go")
    await made.settle()
    assert in_memory(made, *ids) == [False, True, True]

    await tell(made, ids[1], "go")
    await tell(made, ids[0], "go")
    await made.settle()
    assert in_memory(made, *ids) == [True, True, False]


async def test_one_that_stays_is_not_read_again(made):
    id = await made.start("main")
    await tell(made, id, "go")
    await made.settle()
    made.store.load = None  # whoever calls it fails

    for n in range(5):
        assert await tell(made, id, "go", n)
        await made.settle()


async def test_one_that_has_ended_makes_room(made):
    ended, other, last = [await made.start(name) for name in ("once", "main", "main")]
    await tell(made, other, "go")
    await tell(made, ended, "go")
    await made.result(ended)

    await tell(made, last, "go")
    await made.settle()

    assert in_memory(made, ended, other, last) == [False, True, True]


async def test_one_that_is_busy_is_not_sent_away_but_leaves_when_it_waits(made):
    busy = await made.start("then")
    others = [await made.start("main") for _ in range(2)]
    await tell(made, busy, "go")
    await made.until(lambda: made.hands.invoked)
    for id in others:
        await tell(made, id, "go")
    await made.settle()

    assert in_memory(made, busy, *others) == [True, True, True]


@pytest.mark.parametrize("name", ["heavy", "wide"])
async def test_a_large_one_leaves_at_once(made, name):
    id = await made.start(name)
    await made.settle()

    await tell(made, id, "other")
    await made.settle()

    assert in_memory(made, id) == [False]


async def test_what_stays_is_bounded_in_bytes(made, monkeypatch):
    monkeypatch.setattr(lingering, "MOST_BYTES", 2 * lingering.SELF_BYTES + 4_500)
    ids = [await made.start("once") for _ in range(2)]
    for id in ids:
        await tell(made, id, "other", "x" * 1_000)
    await made.settle()
    assert in_memory(made, *ids) == [True, True]

    await tell(made, ids[1], "other", "x" * 1_000)
    await made.settle()
    assert in_memory(made, *ids) == [False, True]

    await tell(made, ids[1], "other", "x" * 20_000)
    await made.settle()
    assert in_memory(made, *ids) == [False, False]


class Fakes:
    """Executions of these sizes, and what `Lingering` needs of an engine."""

    def __init__(self, most):
        self.runs = {}
        self.settings = EngineSettings(dormant=most)
        self.lingering = lingering.Lingering(self, self)

    def left(self, run):
        assert run.dormant


class Run:
    """A dormant execution, or a busy one."""

    def __init__(self, number):
        self.id, self.dormant, self.execution = str(number), True, self
        self.fibers, self.inbox = {}, None


@given(
    st.integers(0, 3),
    st.lists(st.tuples(st.sampled_from(["told", "busy", "settled", "ended"]), st.integers(0, 5))),
)
def test_no_more_stay_than_may_and_none_leaves_while_it_is_busy(most, moves):
    fakes = Fakes(most)
    for move, number in moves:
        run = fakes.runs.get(str(number)) or Run(number)
        match move:
            case "told":
                fakes.runs[run.id] = run
                fakes.lingering.used(run)
            case "busy":
                run.dormant = False
            case "settled" if run.id in fakes.runs:
                run.dormant = True
                fakes.lingering.settled(run)
            case "ended" if run.id in fakes.runs:
                del fakes.runs[run.id]
                fakes.lingering.forget(run.id)
        assert len(fakes.lingering) <= most

    for run in [*fakes.runs.values()]:
        run.dormant = True
        fakes.lingering.settled(run)
    assert len(fakes.runs) == len(fakes.lingering) <= most
