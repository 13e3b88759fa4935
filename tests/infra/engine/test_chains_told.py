"""Messages between two runs of a chain, and schedules: nothing is lost or heard twice, and one chain is one run."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.kit.engine.engines import GUEST, DyingStore, begun
from tests.kit.engine.mail import tell
from tests.kit.engine.restarts import restarted
from tests.kit.engine.scheduling import described, furnished
from xingqiao import composer
from xingqiao.actions import Call, ConflictError, NotFoundError, StartOptions, Write
from xingqiao.composer import Name, continue_as_new, path, receive
from xingqiao.infra.stores import MemoryStore

COUNT = 12
# Each run hears one message of two names in turn and hands on what was heard.
HEARING = composer.sequence(
    composer.retain(receive("go")),
    composer.select({"left": path("$.params.left"), "n": path("$.result.n")}),
    "note",
    composer.when(path("$.left") > 0, continue_as_new()),
)


def noting(heard):
    def note(params):
        heard.append(params["n"])
        return {"left": params["left"] - 1}

    return note


async def start(made):
    call = Call(
        name=Name.parse("/guest/hears"), params={"left": COUNT}, namespace=GUEST,
        options=StartOptions(id="x", on_open="use", on_closed="reject"),
    )  # fmt: skip
    return (await made.engine.invoke(call)).activation


async def send(made, first, chance, upto):
    """Tells the chain numbers in order: by its user's id, or by its first run; some of them twice."""
    for n in range(upto):
        for _ in range(1 + (chance.random() < 0.3)):
            by = first if chance.random() < 0.5 else await made.engine.identities.run_of(GUEST, "x")
            await tell(made, by, "go", {"n": n}, f"m{n}")
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)  # noqa: TID251  the chain goes on meanwhile


@pytest.mark.parametrize("seed", range(25))
async def test_messages_between_two_runs_are_heard_once_and_in_order(seed):
    chance, heard = random.Random(seed), []
    made = await begun(answers={"note": noting(heard)})
    await made.put(note=None, hears=HEARING)
    id = await start(made)

    await send(made, id, chance, COUNT)
    assert await made.engine.wait(GUEST, id, 20)

    assert heard == [*range(COUNT)]
    with pytest.raises(ConflictError):
        await tell(made, id, "go", {"n": 99}, "new")
    assert not await tell(made, id, "go", {"n": 0}, "m0")
    await made.kill()


@pytest.mark.parametrize("seed", range(12))
async def test_messages_are_heard_once_and_in_order_over_crashes(seed):
    chance, heard = random.Random(seed), []
    store = DyingStore(MemoryStore(), chance.randrange(14), chance.choice(["before", "after"]))
    made = await begun(store, {"note": noting(heard)})
    await made.put(note=None, hears=HEARING)
    id = await start(made)
    store.armed = True
    sending = asyncio.ensure_future(send(made, id, chance, COUNT))
    dead = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait({sending, dead}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    sending.cancel()
    dead.cancel()
    await made.kill()

    again = await begun(store._store, {"note": noting(heard)}, clock=made.clock)
    await again.settle()
    await send(again, id, chance, COUNT)  # who had no answer asks again
    assert await again.engine.wait(GUEST, id, 20)

    # A step that was under way at the crash runs again: what was heard is the same.
    assert [n for at, n in enumerate(heard) if n not in heard[:at]] == [*range(COUNT)]
    assert all(heard.count(n) <= 2 for n in heard)
    await again.kill()


async def test_the_ids_of_messages_are_kept_as_long_as_the_chain():
    heard = []
    made = await begun(answers={"note": noting(heard)})
    await made.put(note=None, hears=HEARING)
    id = await start(made)
    await tell(made, id, "go", {"n": 0}, "m0")
    await made.until(lambda: heard == [0])
    await made.settle()
    made.clock.ms += 1000
    await made.engine.commit(Write(forgotten=[id]))

    for _ in range(2):
        await made.engine.messages.forget_ids("", 100, made.clock.ms)
        await made.engine.chains.forget("", 100, made.clock.ms)
        await made.settle()

    assert not await tell(made, id, "go", {"n": 0}, "m0")
    await made.kill()


@pytest.mark.parametrize("restart", [False, True])
async def test_a_schedule_takes_a_chain_for_one_run(restart):
    made = await furnished(put=False)
    await made.put(
        hears=composer.sequence(
            receive("go"), composer.when(path("$.more").exists(), continue_as_new())
        )
    )
    document = {"spec": {"intervals": "60s"}, "do": {"action": "hears"}, "overlap": "skip"}
    await made.engine.schedules.put(GUEST, "s", document)
    await made.engine.schedules.trigger(GUEST, "s")
    first = (await made.executions())[0].id
    await tell(made, first, "go", {"more": 1})
    await made.settle()
    assert described(made)["open"] == 1
    if restart:
        made = await restarted(made)
        await made.settle()
    assert described(made)["open"] == 1, "the chain goes on"

    await tell(made, first, "go", {})
    await made.engine.wait(GUEST, first, 20)
    await made.until(lambda: not described(made)["open"])

    assert described(made)["last"][-1]["status"] == "succeeded"
    await made.kill()


async def test_a_schedule_stops_a_chain():
    made = await furnished(put=False)
    await made.put(hears=composer.sequence(receive("go"), continue_as_new()))
    document = {
        "spec": {"intervals": "60s"},
        "do": {"action": "hears"},
        "overlap": "terminate_other",
    }
    await made.engine.schedules.put(GUEST, "s", document)
    await made.engine.schedules.trigger(GUEST, "s")
    first = (await made.executions())[0].id
    await tell(made, first, "go", {})
    await made.settle()

    await made.engine.schedules.trigger(GUEST, "s")

    assert await made.engine.wait(GUEST, first, 20)
    await made.until(lambda: described(made)["open"] == 1)
    await made.settle()
    assert sorted(row.status for row in await made.executions()) == [
        "cancelled",
        "continued",
        "running",
    ]
    with pytest.raises(NotFoundError):
        await made.engine.wait(GUEST, "0" * 32, 1)
    await made.kill()
