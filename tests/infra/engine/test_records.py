"""Views of executions and activations: what they tell, page by page, and to whom."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, world
from xingqiao import composer
from xingqiao.actions import NotFoundError
from xingqiao.composer import Failure, Success

PARTS = composer.parallel(composer.sequence("a", "a"), composer.sequence("a", "a"))


@pytest.fixture
async def made():
    async with world(answers={"a": {"n": 1}, "fails": Failure("Crashed", "gone")}) as made:
        await made.put(a=None, fails=None, main=PARTS, broken=composer.sequence("a", "fails", "a"))
        yield made


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
async def test_pages_of_a_history_are_the_history(made, limit):
    id = await made.start("main")
    await made.result(id)
    records = made.engine.records
    whole = await records.history(GUEST, id, after=0, limit=1000)

    read, after = [], 0
    while page := await records.history(GUEST, id, after=after, limit=limit):
        assert len(page) <= limit
        read, after = read + page, page[-1]["seq"]

    assert read == whole
    assert [entry["seq"] for entry in whole] == list(range(1, len(whole) + 1))


async def test_a_composition_that_fails_names_its_steps_and_the_one_to_blame(made):
    id = await made.start("broken")

    record = await made.record(id)

    steps = [await made.engine.records.activation(GUEST, step) for step in record["logs"]]
    assert [step["name"] for step in steps] == ["a", "fails"]
    (blamed,) = [note["value"] for note in record["annotations"] if note["key"] == "failed"]
    assert blamed == {
        "name": "fails",
        "activationId": steps[1]["activationId"],
        "status": "action developer error",
    }


async def test_an_outcome_is_read_as_it_was(made):
    well, ill = await made.start("a"), await made.start("fails")
    await made.result(well)
    await made.result(ill)

    assert await made.engine.records.outcome(GUEST, well) == Success({"n": 1})
    assert await made.engine.records.outcome(GUEST, ill) == Failure("Crashed", "gone")


async def test_an_execution_says_how_it_was_started(made):
    await made.put(outer=composer.sequence("main"))
    outer = await made.start("outer")
    await made.result(outer)

    shown = {row.id: await made.engine.records.execution(GUEST, row.id)
             for row in await made.executions()}  # fmt: skip

    told = shown.pop(outer)
    (inner,) = shown.values()
    assert told["startedBy"] == {"how": "invoke"}
    assert inner["startedBy"] == {"how": "execution"}
    assert inner["parent"]["executionId"] == outer


async def test_another_namespace_reads_nothing(made):
    id = await made.start("main")
    await made.result(id)
    records = made.engine.records

    for asked in (
        records.activation("other", id),
        records.outcome("other", id),
        records.execution("other", id),
        records.history("other", id, after=0, limit=1),
        records.cost("other", id),
    ):
        with pytest.raises(NotFoundError):
            await asked


async def test_an_execution_is_shown_as_it_is_stored(made, monkeypatch):
    """A step whose completion a crash can still undo is not told."""
    made.hands.answers["a"] = HELD
    id = await made.start("main")
    await made.until(lambda: len(made.hands.done) == 2)
    await made.settle()
    may, commit = asyncio.Event(), made.store.commit

    async def committed(writes):
        await may.wait()
        return await commit(writes)

    monkeypatch.setattr(made.store, "commit", committed)
    made.hands.answers["a"] = {"n": 1}
    made.hands.finish(next(iter(made.hands.done)), {"n": 1})
    await made.until(lambda: not made.engine._tick.idle)
    shown = asyncio.ensure_future(made.engine.records.execution(GUEST, id))
    for _ in range(20):
        await asyncio.sleep(0)  # noqa: TID251  what could be shown would be

    assert not shown.done()
    may.set()
    stands = (await shown)["fibers"]
    history = await made.engine.records.history(GUEST, id, after=0, limit=100)
    assert any(entry["type"] == "StepSucceeded" for entry in history)
    assert stands
