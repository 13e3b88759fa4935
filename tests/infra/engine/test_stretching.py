"""A thread evaluates long expressions while the event loop serves others, and no crash loses one."""

from __future__ import annotations

import asyncio
import json
import threading

import anyio.lowlevel
import pytest

from tests.kit.engine.engines import GUEST, DyingStore, begun, world
from xingqiao.actions import ActivationRow, Query
from xingqiao.composer import Limits, Stretch
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.stores import MemoryStore

HEAVY = "{% $sum([1..2000].($ * 2)) %}"
SUM = 4_002_000
AT_ONCE = EngineSettings(limits=Limits(at_once=0))


def machine(states, type="STANDARD"):
    definition = {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states}
    return {"exec": {"kind": "states", "definition": json.dumps(definition), "type": type}}


ONE = {"A": {"Type": "Pass", "Output": HEAVY, "End": True}}
TASK = {
    "A": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:000000000000:function:slow",
          "Output": HEAVY, "Next": "B"},
    "B": {"Type": "Pass", "Output": "{% $states.input + 1 %}", "End": True},
}  # fmt: skip


class Gate:
    """Stretches are made only once it is open."""

    def __init__(self, monkeypatch):
        self.made, self.open, self.entered = 0, threading.Event(), threading.Event()
        make = Stretch.make

        def wait(stretch):
            self.entered.set()
            assert self.open.wait(60)
            self.made += 1
            return make(stretch)

        monkeypatch.setattr(Stretch, "make", wait)

    async def reached(self):
        while not self.entered.is_set():
            await anyio.lowlevel.checkpoint()


@pytest.fixture
def gate(monkeypatch):
    made = Gate(monkeypatch)
    yield made
    made.open.set()


async def ended(world, id):
    """Whether a record says how it has ended."""
    return bool(await world.store.find(ActivationRow, Query(namespace=GUEST, id=id)))


@pytest.mark.parametrize("type", ["STANDARD", "EXPRESS"])
async def test_other_calls_are_served_during_a_stretch(gate, type):
    async with world(answers={"quick": {"n": 1}}) as made:
        await made.put(heavy=machine(ONE, type), quick=None)
        heavy = await made.start("heavy")
        await gate.reached()

        assert await made.result(await made.start("quick")) == {"n": 1}
        assert not await ended(made, heavy)
        assert made.engine.gauges()["evaluating"] == 1
        gate.open.set()
        assert await made.result(heavy) == SUM
        assert made.engine.gauges()["evaluating"] == 0


async def test_a_short_evaluation_needs_no_thread(gate):
    async with world() as made:
        await made.put(light=machine({"A": {**ONE["A"], "Output": "{% $sum([1..20].($ * 2)) %}"}}))

        assert await made.result(await made.start("light")) == 420
    assert not gate.made


async def test_an_execution_can_be_terminated_during_a_stretch(gate):
    async with world() as made:
        await made.put(heavy=machine(ONE))
        heavy = await made.start("heavy")
        await gate.reached()

        await made.engine.cancel(GUEST, heavy, terminate=True)

        assert (await made.record(heavy))["response"]["result"]["error"]["code"] == "Cancelled"
        gate.open.set()
        await made.engine.endings.done()


async def test_a_stretch_that_a_stop_interrupts_is_made_after_the_next_start(gate):
    store = MemoryStore()
    async with world(store) as first:
        await first.put(heavy=machine(ONE))
        heavy = await first.start("heavy")
        await gate.reached()
        asyncio.get_running_loop().call_later(0.05, gate.open.set)

    assert not await ended(first, heavy)
    async with world(store) as second:
        assert await second.result(heavy) == SUM


async def test_a_mistake_of_ours_fails_the_execution_alone(monkeypatch):
    def mistaken(_stretch):
        raise ZeroDivisionError

    monkeypatch.setattr(Stretch, "make", mistaken)
    async with world(answers={"quick": {"n": 1}}) as made:
        await made.put(heavy=machine(ONE), quick=None)

        record = await made.record(await made.start("heavy"))
        assert record["response"]["success"] is False
        assert await made.result(await made.start("quick")) == {"n": 1}


async def test_many_stretches_are_all_made():
    async with world() as made:
        await made.put(heavy=machine(ONE))
        started = [await made.start("heavy") for _ in range(20)]

        assert [await made.result(id) for id in started] == [SUM] * 20


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(6))
async def test_a_crash_at_a_commit_loses_nothing(at, when):
    store = MemoryStore()
    dying = DyingStore(store, at, when)
    first = await begun(dying, {"slow": {"n": 1}}, settings=AT_ONCE)
    await first.put(machine=machine(TASK), slow=None)
    dying.armed = True
    asking = asyncio.ensure_future(first.start("machine"))
    await first.until(
        lambda: dying.dead.is_set() or (asking.done() and not first.engine._parts.runs)
    )
    await first.kill()
    accepted = asking.done()
    asking.cancel()

    async with world(store, {"slow": {"n": 1}}, settings=AT_ONCE) as second:
        await second.settle()
        rows = await second.executions()

        assert [row.status for row in rows] in ([], ["succeeded"])
        assert rows or not accepted
        for row in rows:
            assert await second.result(row.id) == SUM + 1
