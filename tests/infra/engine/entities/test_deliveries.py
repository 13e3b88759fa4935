"""Operations of entities: durable when they are answered, and withdrawn without an effect."""

from __future__ import annotations

import pytest

from tests.kit.engine.counters import add, counter, operate, stored
from tests.kit.engine.engines import HELD
from xingqiao import composer as c
from xingqiao.actions import NotFoundError
from xingqiao.composer import transaction
from xingqiao.infra.engine.entities.documents import name_of


async def test_a_mistake_of_ours_fails_the_call_and_harms_nobody(world, monkeypatch):
    await operate(world, "k")

    def broken(*_):
        raise RuntimeError("a mistake")

    box = world.engine.entities._boxes[name_of("/guest/counter", "k")]
    monkeypatch.setattr(type(box.participant), "receive", broken)
    assert "could not handle the request" in str((await operate(world, "k"))["error"])
    monkeypatch.undo()
    assert await operate(world, "k") == {"total": 2}


@pytest.mark.parametrize("terminate", [False, True])
async def test_a_call_that_is_cancelled_has_no_effect(world, terminate):
    plain = counter
    world.hands.answers["counter"] = lambda _: HELD
    first = await world.start("counter", {"key": "k", "operation": "add"})
    await world.put(calls=add("k"))
    second = await world.start("calls")
    await world.settle()

    for id in (second, first):
        await world.engine.cancel("guest", id, terminate=terminate)
    world.hands.answers["counter"] = plain

    assert await operate(world, "k", n=10) == {"total": 10}
    assert world.hands.cancelled
    assert await world.engine.drain(5)


async def test_who_loses_a_race_has_no_effect(world):
    plain = counter
    await world.put(raced=c.race(add("slow"), add("fast")))
    world.hands.answers["counter"] = lambda m: HELD if m["key"] == "slow" else plain(m)

    assert await world.run("raced") == {"total": 1}
    await world.settle()
    with pytest.raises(NotFoundError):
        await stored(world, "slow")


@pytest.mark.parametrize("held", [False, True])
async def test_an_answer_that_withdraws_the_next_request_of_its_entity_keeps_nobody_waiting(
    world, held
):
    plain = counter
    await world.put(raced=c.race(add("k"), add("k")))
    world.hands.answers["counter"] = lambda m: HELD if held else plain(m)

    begun = await world.start("raced")
    await world.settle()
    for activation in list(world.hands.done):
        params = next(i.params for i in world.hands.invoked if i.activation == activation)
        world.hands.finish(activation, plain(params))
    await world.settle()
    world.hands.answers["counter"] = plain

    record = await world.engine.records.activation("guest", begun)
    assert record["response"]["result"] == {"total": 1}
    assert await operate(world, "k") == {"total": 2}


async def test_a_transaction_is_durable_whatever_its_composition_says(world):
    part = transaction(add("a"), add("b"))
    document = {
        "exec": {"kind": "composition", "composition": part.to_json()},
        "annotations": [{"key": "durability", "value": "express"}],
    }
    await world.put(both=document, outer={**document, "exec": {
        "kind": "composition", "composition": c.sequence("both").to_json()}})  # fmt: skip

    assert await world.run("both") == {"value": [{"total": 1}, {"total": 1}]}
    assert await world.run("outer") == {"value": [{"total": 2}, {"total": 2}]}
    assert "both" in [row.name for row in await world.executions()]


async def test_a_transfer_alone_is_two_commits(world):
    """One accepts the call, and one is the whole transfer."""
    await world.put(both=transaction(add("a"), add("b")))
    await world.run("both")
    await world.settle()

    before = world.engine.gauges()["commits"]
    await world.run("both")
    await world.settle()
    assert world.engine.gauges()["commits"] - before <= 2
