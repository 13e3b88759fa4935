"""Executions that stay in memory after a message: continued, deleted, terminated, updated, limited, in batches."""

from __future__ import annotations

import pytest

from tests.kit.engine.batching import counts, create, furnished
from tests.kit.engine.engines import GUEST, world
from tests.kit.engine.mail import tell
from xingqiao import composer
from xingqiao.actions import ClosedError, NotFoundError
from xingqiao.composer import continue_as_new, on_update, path, receive, updates, var
from xingqiao.infra.engine import EngineSettings

LISTENS = composer.let(
    {"n": 0},
    updates(
        composer.loop(
            composer.select({"value": True}),
            composer.sequence(
                composer.retain(receive(composer.any_of("go", "next"))),
                composer.when(path("$.result.next").exists(), continue_as_new({})),
            ),
        ),
        set=on_update(sets={"n": path("$.n")}, answer={"n": var("n")}),
    ),
)


@pytest.fixture
async def made():
    async with world(settings=EngineSettings(dormant=2)) as made:
        await made.put(main=LISTENS)
        yield made


async def lingers(made):
    """An execution that waits, and stays in memory."""
    id = await made.start("main")
    await made.settle()
    await tell(made, id, "go")
    await made.settle()
    assert [*made.engine._parts.runs] == [id]
    return id


def in_memory(made):
    return [*made.engine._parts.runs]


async def change(made, id, n, key=""):
    answer = await made.engine.updates.update(GUEST, id, "set", {"n": n}, key, wait_s=5)
    return answer.outcome.value


async def test_one_that_is_updated_stays_and_is_told_more(made):
    id = await lingers(made)

    assert await change(made, id, 1, "a") == {"n": 1}
    await made.settle()
    assert in_memory(made) == [id]

    assert await tell(made, id, "go", message="m")
    assert not await tell(made, id, "go", message="m")
    assert await change(made, id, 2, "a") == {"n": 1}
    assert await change(made, id, 3) == {"n": 3}


async def test_the_next_run_of_one_that_continues_is_told_and_updated(made):
    first = await lingers(made)
    await tell(made, first, "next", message="m")
    await made.settle()

    second = await made.engine.chains.newest(first)
    assert first not in in_memory(made)
    assert len(made.engine.messages._lingering) == 0
    assert not await tell(made, first, "go", message="m")
    assert await tell(made, first, "go", message="n")
    await made.settle()
    assert in_memory(made) == [second]
    assert await change(made, first, 7) == {"n": 7}


@pytest.mark.parametrize("terminate", [True, False])
async def test_one_that_is_stopped_leaves_and_is_deleted(terminate):
    made = await furnished()
    await made.put(main=LISTENS)
    id = await lingers(made)
    await change(made, id, 1, "a")

    await made.engine.cancel(GUEST, id, terminate=terminate)
    await made.settle()
    assert in_memory(made) == []
    assert len(made.engine.messages._lingering) == 0
    assert await change(made, id, 2, "a") == {"n": 1}
    with pytest.raises(ClosedError):
        await tell(made, id, "go")

    batch = await create(made, "delete", "action = 'main'")
    assert await counts(made, batch) == (1, 0, 0, 0)
    with pytest.raises(NotFoundError):
        await tell(made, id, "go")
    with pytest.raises(NotFoundError):
        await change(made, id, 2)
    await made.kill()


@pytest.mark.parametrize(("do", "status"), [("terminate", "cancelled"), ("pause", "paused")])
async def test_a_batch_deals_with_one_that_lingers(do, status):
    made = await furnished()
    await made.put(main=LISTENS)
    id = await lingers(made)

    batch = await create(made, do, "action = 'main' and status = 'running'")

    assert await counts(made, batch) == (1, 0, 0, 0)
    await made.settle()
    assert (await made.engine.records.execution(GUEST, id))["status"] == status
    assert len(made.engine.messages._lingering) == len(in_memory(made))
    await made.kill()


async def test_one_that_holds_a_slot_lingers_and_gives_it_back(made):
    await made.put(main=composer.limit(LISTENS, name="api", concurrent=1))
    first = await lingers(made)
    other = await made.start("main")
    await made.settle()
    await tell(made, other, "go")  # it waits for the slot, and stays in memory
    await made.settle()
    assert sorted(in_memory(made)) == sorted([first, other])

    await made.engine.cancel(GUEST, first, terminate=True)
    await made.settle()

    shown = made.engine.limits.shown(GUEST, "api")["keys"][""]
    assert [each["execution"] for each in shown["held"]] == [other]
    assert await change(made, other, 1) == {"n": 1}
