"""Executions emit CloudEvents: with their step, once, over crashes too; and the triggers fire that they fit."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.engine.cloudevents import event, kept, trigger
from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from tests.kit.engine.infra_clock import FastClock
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import read_cloud_event
from xingqiao.composer import emit, path
from xingqiao.infra.engine.emitting import hops_after
from xingqiao.infra.stores import MemoryStore

RESERVED = emit({"type": "order.reserved", "data": {"order": path("$.id")}})
ANSWERS = {"a": lambda params: params, "ship": {}, "b": {}}
FAILS = composer.Failure("Broken", "broken")


@pytest.fixture
async def made():
    async with world(answers=dict(ANSWERS)) as made:
        await made.put(a=None, b=None, ship=None, main=composer.sequence("a", RESERVED, "b"))
        await trigger(made, "reserved", "order.reserved", rules=["ship"])
        yield made


def shipped(made):
    """The CloudEvents that the rule was fired with, in order."""
    return [
        invocation.params["__ow_event"]
        for invocation in made.hands.invoked
        if invocation.action.name.name == "ship"
    ]


async def heard(made):
    return len(await kept(made, "heard"))


async def test_a_cloudevent_is_from_its_execution_and_fires_what_it_fits(made):
    id = await made.start("main", {"id": 7})
    await made.settle()

    (told,) = shipped(made)
    entries = await made.engine.records.entries(id, after=0, limit=100)
    (entry,) = [entry for entry in entries if entry["type"] == "Emitted"]
    assert told == {
        "specversion": "1.0", "id": entry["activation"], "type": "order.reserved",
        "source": "/xingqiao/guest/main", "subject": id, "time": told["time"],
        "traceparent": f"00-{id}-{entry['activation'][-16:]}-01",
    }  # fmt: skip
    assert read_cloud_event(told, outside=False).attributes == told
    assert await made.result(id) == {}
    assert (await kept(made, "cloudevent")) == {}


async def test_a_composition_may_say_where_it_is_from(made):
    said = {"type": "order.reserved", "source": "/shop", "subject": "7", "traceparent": "00-1"}
    await made.put(main=emit(said))

    await made.run("main")
    await made.settle()

    (told,) = shipped(made)
    assert {**told, **said} == told


async def test_the_source_of_an_action_with_an_odd_name_is_a_uri(made):
    await made.put(**{"a b@c": emit({"type": "order.reserved"})})

    await made.run("a b@c")
    await made.settle()

    assert shipped(made)[0]["source"] == "/xingqiao/guest/a%20b%40c"


async def test_a_template_that_makes_no_cloudevent_fails_the_step(made):
    await made.put(main=composer.do(composer.sequence(RESERVED, emit(path("$.no"))), "a"))

    result = await made.run("main", {"id": 1})
    await made.settle()

    assert result["error"]["code"] == "ExpressionError"
    assert len(shipped(made)) == 1


# --- crashes ---------------------------------------------------------------------------------------

EACH = composer.map(
    composer.sequence(RESERVED, "a"), items=[{"id": "x"}, {"id": "y"}], concurrency=2
)
PARTS = {
    "first": (composer.sequence(RESERVED, "b"), 1),
    "between": (composer.sequence("a", RESERVED, "b"), 1),
    "last": (composer.sequence("a", RESERVED), 1),
    "alone": (RESERVED, 1),
    "branches": (composer.sequence("a", EACH), 2),
    "nested": (composer.sequence("inner", "b"), 1),
    "again": (composer.retry(2, RESERVED, "fails"), 3),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", PARTS)
async def test_each_step_emits_once_whatever_commit_it_dies_at(name, when):
    part, expected = PARTS[name]
    answers = {**ANSWERS, "fails": FAILS}
    at, died = 0, True
    while died:
        stored = MemoryStore()
        store = DyingStore(stored, at, when)
        made = await begun(store, answers, clock=FastClock())
        await made.put(a=None, b=None, fails=None, ship=None, inner=RESERVED, main=part)
        await trigger(made, "reserved", "order.reserved", rules=["ship"])
        await made.settle()
        store.armed = True
        tasks = [made.start("main", {"id": 7}), store.dead.wait(), _shipped(made, expected)]
        starting, dead, over = (asyncio.ensure_future(task) for task in tasks)
        await asyncio.wait((dead, over), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (starting, dead, over):
            task.cancel()
        await made.kill()
        again = await begun(stored, answers, clock=FastClock())
        await again.settle()
        began = any(row.name == "main" for row in await again.executions())
        ships = [row for row in await again.activations() if row.name == "ship"]
        assert len(ships) == await heard(again) == (expected if began else 0)
        assert await kept(again, "cloudevent") == {}
        assert began or at == 0
        await again.kill()
        at += 1
    assert at >= 3


async def _shipped(made, count):
    while True:
        over = [row.name for row in await made.activations()]
        if over.count("ship") == count and "main" in over and not await kept(made, "cloudevent"):
            return
        await anyio.lowlevel.checkpoint()


async def test_a_step_that_is_not_durable_has_emitted_nothing():
    stored = MemoryStore()
    store = DyingStore(stored, 0)
    made = await begun(store, {**ANSWERS, "a": HELD})
    await made.put(a=None, ship=None, main=composer.sequence("a", RESERVED))
    await made.start("main")
    await made.settle()
    store.armed = True

    made.hands.finish(made.hands.invoked[0].activation, {"id": 1})
    await store.dead.wait()
    await made.kill()

    made = await begun(stored, {**ANSWERS, "a": HELD})
    assert await heard(made) == 0
    await made.kill()


async def test_a_redrive_emits_what_comes_after_the_failed_step_only(made):
    made.hands.answers["a"] = FAILS
    await made.put(main=composer.sequence(RESERVED, "a", emit({"type": "order.reserved", "n": 2})))
    id = await made.start("main", {"id": 7})
    await made.record(id)

    made.hands.answers["a"] = {}
    await made.engine.redrive(GUEST, id)
    await made.settle()

    assert [told.get("n") for told in shipped(made)] == [None, 2]
    assert await heard(made) == 2


# --- loops -----------------------------------------------------------------------------------------


def looping(how):
    """A composition that emits a CloudEvent of the type that starts it, in a roundabout way."""
    again = emit({"type": "order.reserved"})
    if how == "nested":
        return composer.sequence("inner", "b"), again
    if how == "child":
        return composer.child("inner"), again
    if how == "chain":
        return composer.continue_as_new(action="inner"), again
    return (composer.asynchronous(again) if how == "beside" else again), again


@pytest.mark.parametrize("how", ["itself", "nested", "child", "chain", "beside"])
async def test_a_loop_ends_with_a_dead_letter(made, how):
    main, inner = looping(how)
    await made.put(main=main, inner=inner)
    await trigger(made, "loop", "order.reserved", rules=["main"])

    await made.start("main")
    await made.until(lambda: made.engine.letters.list(GUEST) or len(shipped(made)) > 33)

    hops = [told.get("xqhops", 0) for told in shipped(made)]
    assert hops == [*range(33)]


async def test_an_input_does_not_change_the_count(made):
    await made.put(main=RESERVED)
    forged = {"id": 1, "__ow_event": {"xqhops": 30}}

    await made.run("main", forged)
    await made.settle()

    assert "xqhops" not in shipped(made)[0]


async def test_the_count_survives_a_restart():
    answers = {**ANSWERS, "a": HELD}
    made = await begun(MemoryStore(), answers)
    await made.put(a=None, b=None, ship=None, main=composer.sequence("a", RESERVED))
    await trigger(made, "started", "started", rules=["main"])
    await trigger(made, "reserved", "order.reserved", rules=["ship"])
    await made.engine.events.accept(GUEST, [event(type="started", xqhops=4)])
    await made.until(lambda: made.hands.done)

    made = await restarted(made)
    await made.until(lambda: made.hands.done)
    made.hands.finish(made.hands.invoked[-1].activation, {"id": 1})
    await made.until(lambda: shipped(made))

    assert shipped(made)[0]["xqhops"] == 5
    await made.kill()


@pytest.mark.parametrize(
    ("given", "hops"), [({}, 1), ({"xqhops": 0}, 1), ({"xqhops": 31}, 32), ({"xqhops": -9}, 1), ({"xqhops": "x"}, 1)]
)  # fmt: skip
def test_what_a_sender_says_only_adds_to_the_count(given, hops):
    assert hops_after(event(**given)) == hops
