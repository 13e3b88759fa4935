"""Executions are deleted when nobody needs them any more, and nothing of them comes back."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.batching import furnished, started, statuses
from tests.kit.engine.engines import GUEST
from tests.kit.engine.mail import tell
from xingqiao import composer
from xingqiao.actions import ConflictError, NotFoundError, Query
from xingqiao.composer import continue_as_new, path


@pytest.fixture
async def made():
    made = await furnished()
    yield made
    await made.kill()


def delete(made, id, namespace=GUEST):
    return made.engine.batches._items.deletions.delete(namespace, id)


async def test_it_is_not_found_any_more_and_its_activation_is(made):
    (id,) = await started(made, "works", 1)
    await made.engine.annotations.annotate(GUEST, id, {"customer": "anna"})

    await delete(made, id)

    assert await statuses(made, [id]) == [None]
    assert await made.engine.finding.count(Query(namespace=GUEST), "customer = 'anna'") == {
        "count": 0
    }
    assert await made.result(id) == {"n": 1}
    with pytest.raises(NotFoundError):
        await delete(made, id)
    for change in (made.engine.redrive(GUEST, id), made.engine.annotations.annotate(GUEST, id, {})):
        with pytest.raises(NotFoundError):
            await change


async def test_it_must_be_of_the_namespace_and_have_ended(made):
    (ended,) = await started(made, "works", 1)
    (going,) = await started(made, "waits", 1)

    with pytest.raises(NotFoundError):
        await delete(made, ended, "other")
    with pytest.raises(ConflictError, match="cancel or terminate it first"):
        await delete(made, going)


@pytest.mark.parametrize("how", ["step", "child"])
async def test_a_part_of_an_open_execution_stays(made, how):
    part = "works" if how == "step" else composer.child("works")
    await made.put(outer=composer.sequence(part, "held"))
    outer = await made.start("outer")
    await made.until(lambda: made.hands.done)
    await made.settle()
    (inner,) = [row.id for row in await made.executions() if row.name == "works"]

    with pytest.raises(ConflictError, match=f"is a step of {outer}, which has not ended"):
        await delete(made, inner)
    await made.engine.cancel(GUEST, outer, terminate=True)
    await delete(made, inner)
    await delete(made, outer)

    assert await made.executions() == []


async def test_what_an_open_chain_needs_stays(made):
    kid = composer.sequence(composer.child("works", id="kid"), continue_as_new({"again": 1}))
    last = composer.sequence(composer.receive("end"))
    await made.put(outer=composer.sequence(composer.when(path("$.again").exists(), last, kid)))
    first = await made.start("outer")
    await made.settle()
    newest = await made.engine.chains.newest(first)
    (inner,) = [row.id for row in await made.executions() if row.name == "works"]

    with pytest.raises(ConflictError, match=f"is a step of {newest}, which has not ended"):
        await delete(made, inner)
    with pytest.raises(ConflictError, match=f"has continued as {newest}, which has not ended"):
        await delete(made, first)
    await tell(made, newest, "end")
    await made.result(newest)
    for id in (inner, first, newest):
        await delete(made, id)

    assert await made.executions() == []


async def test_of_a_deletion_and_a_redrive_one_is_refused(made):
    (id,) = await started(made, "breaks", 1)

    done = await asyncio.gather(
        delete(made, id), made.engine.redrive(GUEST, id), return_exceptions=True
    )

    assert [type(each) for each in done].count(ConflictError) == 1
    await made.settle()
    assert len(await made.executions()) == (0 if done[0] is None else 1)


async def test_of_a_deletion_and_an_annotation_nothing_comes_back(made):
    (id,) = await started(made, "works", 1)

    done = await asyncio.gather(
        delete(made, id),
        made.engine.annotations.annotate(GUEST, id, {"stage": 1}),
        return_exceptions=True,
    )

    assert done[0] is None
    await made.settle()
    assert await made.executions() == []
