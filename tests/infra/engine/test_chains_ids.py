"""The ids of messages and updates belong to a chain: whichever run is named, each counts once."""

from __future__ import annotations

import asyncio
from functools import partial

import anyio.lowlevel
import pytest

from tests.kit.engine.engines import GUEST, begun, world
from tests.kit.engine.mail import tell
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.composer import continue_as_new, on_update, path, receive, updates
from xingqiao.infra.stores import MemoryStore

ANSWERS = {"note": lambda params: params}
# A run hears one message, and the next one begins; its update has an answer.
HEARING = updates(
    composer.sequence(
        composer.retain(receive("go")),
        composer.select({"n": path("$.result.n")}),
        "note",
        continue_as_new({"n": path("$.n")}),
    ),
    ping=on_update(body="note"),
)


class SlowStore(MemoryStore):
    """A store whose answers arrive some time after they were read."""

    async def documents(self, kind, *args, **options):
        found = [document async for document in super().documents(kind, *args, **options)]
        for _ in range(20 if kind in ("told", "update") else 0):
            await anyio.lowlevel.checkpoint()
        for document in found:
            yield document


async def chained(made):
    """The first and the second run of a chain; the second waits for a message."""
    await made.put(note=None, hears=HEARING)
    first = await made.start("hears")
    await made.settle()
    await tell(made, first, "go", {"n": 0}, "m0")
    await made.until(lambda: made.hands.names == ["note"])
    await made.settle()
    second = await made.engine.chains.newest(first)
    assert second != first
    return first, second


@pytest.mark.parametrize("restart", [False, True])
async def test_a_call_that_is_sent_again_gets_its_first_answer_by_any_run(restart):
    made = await begun(answers=ANSWERS)
    first, second = await chained(made)
    told = made.engine.messages.tell
    answers = [await told(GUEST, second, "go", {"n": 1}, "m1", token="one")]
    await made.until(lambda: len(made.hands.names) == 2)
    await made.settle()
    if restart:
        made = await restarted(made)
    third = await made.engine.chains.newest(second)
    assert third != second
    told = made.engine.messages.tell

    for run in (first, second, third):
        answers.append(await told(GUEST, run, "go", {"n": 1}, "m1", token="one"))
        answers.append(await told(GUEST, run, "go", {"n": 1}, "m1", token="two"))
        answers.append(await told(GUEST, run, "go", {"n": 1}, "m1"))

    assert answers == [True] + [True, False, False] * 3
    await made.kill()


async def test_of_two_with_one_id_by_two_runs_one_is_taken():
    async with world(SlowStore(), answers=ANSWERS) as made:
        first, second = await chained(made)
        send = partial(tell, made, name="go", payload={"n": 1}, message="m1")

        taken = await asyncio.gather(*(send(id) for id in (first, second, first, second)))
        await made.settle()

        assert sorted(taken) == [False] * 3 + [True]
        assert made.hands.names == ["note"] * 2


async def test_of_two_updates_with_one_id_by_two_runs_one_is_handled():
    async with world(SlowStore(), answers=ANSWERS) as made:
        first, second = await chained(made)
        made.hands.invoked.clear()

        found = await asyncio.gather(
            *(
                made.engine.updates.update(GUEST, run, "ping", {"n": n}, "u", wait_s=5)
                for n, run in enumerate((first, second, first))
            )
        )

        assert len(made.hands.invoked) == 1
        assert {each.outcome.value["n"] for each in found} == {0}
        assert {each.execution for each in found} == {second}
