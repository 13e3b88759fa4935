"""Everything that is stored is looked at; what cannot be read is told, and the rest is still looked at."""

from __future__ import annotations

from tests.kit.engine.engines import begun
from tests.kit.engine.faulty import FaultyStore
from xingqiao import composer
from xingqiao.actions import Write
from xingqiao.infra.engine import check
from xingqiao.infra.stores import MemoryStore


async def stored():
    store = MemoryStore()
    world = await begun(store, {"a": {"n": "x" * 5000}})
    await world.put(a=None, main=composer.sequence("a", "a"), waits=composer.wait(3600))
    await world.run("main")
    await world.start("waits")
    await world.settle()
    await world.kill()
    return store


async def test_what_is_whole_is_counted():
    found = await check(await stored())

    assert found.faults == []
    assert found.counts["executions succeeded"] == 1
    assert found.counts["executions running"] == 1
    assert found.counts["activations"] == 3
    assert found.counts["actions, packages, triggers and rules"] == 3


async def test_one_fault_hides_no_other():
    store = await stored()
    (waiting,) = [row for row in store._executions.values() if row.status == "running"]
    await store.commit([Write(dropped=[(waiting.id, "")])])
    store._values.clear()

    found = await check(store)

    assert f"execution {waiting.id}: it is under way, but has no fibers" in found.faults
    assert sum("it refers to a missing record" in fault for fault in found.faults) >= 2


async def test_answers_that_are_missing_are_told():
    store = MemoryStore()
    world = await begun(store, {"a": {}})
    large = composer.let({"x": "x" * 5000}, "a")
    await world.put(a=None, main=composer.queries(large, x=composer.var("x")))
    await world.run("main")
    await world.kill()
    assert (await check(store)).faults == []

    store._values.clear()

    (fault,) = (await check(store)).faults
    assert "it refers to a missing record" in fault


async def test_what_cannot_be_read_is_told():
    store = FaultyStore(await stored(), 0, times=None, reads=True)
    store.armed = True

    found = await check(store)

    assert [fault.partition(":")[0] for fault in found.faults] == [
        "executions", "activations", "documents",
    ]  # fmt: skip
