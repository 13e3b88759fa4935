"""Calls with an idempotency key: one execution for each, also at the same time, and after a crash."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.faulty import FaultyStore
from xingqiao import composer
from xingqiao.actions import Call, ReusedKeyError, UnavailableError
from xingqiao.composer import Failure, Name, Success
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore


def call(name="main", key="k-1", namespace="guest", **params):
    return Call(
        name=Name.parse(f"/guest/{name}"), params=params, namespace=namespace, idempotency_key=key
    )


@pytest.fixture
async def made():
    async with world(answers={"a": lambda p: {"n": p.get("n", 0) + 1}, "hold": HELD}) as made:
        await made.put(
            a=None, hold=None, main=composer.sequence("a"), long=composer.sequence("hold")
        )
        yield made


async def test_a_call_that_is_sent_again_gets_the_same_execution(made):
    first = await made.engine.invoke(call())
    second = await made.engine.invoke(call())
    await made.settle()
    third = await made.engine.invoke(call())

    assert first.activation == second.activation == third.activation
    assert [one.replayed for one in (first, second, third)] == [False, True, True]
    assert len(made.hands.invoked) == 1


async def test_one_that_waits_gets_the_same_result_while_it_runs_and_after(made):
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(made.engine.invoke(call("long"), wait_s=60)) for _ in range(3)]
        await made.until(lambda: made.hands.invoked)
        made.hands.finish(made.hands.invoked[0].activation, {"done": True})
    ended = [task.result() for task in waiting]

    again = await made.engine.invoke(call("long"), wait_s=60)

    assert {one.activation for one in [*ended, again]} == {ended[0].activation}
    assert [one.ended.outcome for one in [*ended, again]] == [Success({"done": True})] * 4
    assert len(made.hands.invoked) == 1


async def test_one_that_does_not_end_in_time_goes_on(made):
    first = await made.engine.invoke(call("long"))

    second = await made.engine.invoke(call("long"), wait_s=0.001)

    assert (second.activation, second.ended) == (first.activation, None)


async def test_an_action_by_itself_is_run_once_too(made):
    first = await made.engine.invoke(call("a", n=1), wait_s=60)
    second = await made.engine.invoke(call("a", n=1), wait_s=60)

    assert first.activation == second.activation
    assert second.ended.outcome == Success({"n": 2})
    assert len(made.hands.invoked) == 1


@pytest.mark.parametrize("other", [call(n=1), call("a")])
async def test_a_key_is_not_for_another_call(made, other):
    await made.engine.invoke(call())

    with pytest.raises(ReusedKeyError, match="was used for another call"):
        await made.engine.invoke(other)


async def test_other_keys_and_other_namespaces_begin_executions_of_their_own(made):
    ids = {
        (await made.engine.invoke(each)).activation
        for each in (call("a"), call("a", key="k-2"), call("a", key=""), call("a", key=""))
    }

    assert len(ids) == 4


async def test_a_key_holds_after_a_restart():
    store = MemoryStore()
    async with world(store=store, answers={"a": {}}) as made:
        await made.put(a=None, main=composer.sequence("a"))
        first = await made.engine.invoke(call())
        await made.settle()
    async with world(store=store, answers={"a": {}}) as made:
        second = await made.engine.invoke(call(), wait_s=60)
        with pytest.raises(ReusedKeyError):
            await made.engine.invoke(call(n=2))

    assert first.activation == second.activation
    assert second.ended.outcome == Success({})


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_the_start_leaves_one_execution_or_none(when):
    """The key is stored in the commit that begins the execution."""
    store = MemoryStore()
    dying = DyingStore(store, at=0, when=when)
    made = await begun(dying, {"a": {}})
    await made.put(a=None, main=composer.sequence("a"))
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(made.engine.invoke(call()))
        await dying.dead.wait()
        await made.kill()
        task.cancel()

    async with world(store, {"a": {}}) as made:
        found = await made.engine.invoke(call(), wait_s=60)

    assert found.replayed == (when == "after")
    assert found.ended.outcome == Success({})


async def test_a_key_is_free_again_if_the_store_did_not_take_the_call(made):
    made.engine._tick.healthy = False
    with pytest.raises(UnavailableError):
        await made.engine.invoke(call())
    made.engine._tick.healthy = True

    assert not (await made.engine.invoke(call())).replayed


async def test_keys_are_forgotten_with_what_they_began(made):
    await made.engine.invoke(call("a", key="old"), wait_s=60)
    await made.engine.invoke(call("long", key="running"))
    later_ms = made.engine.now_ms + 1

    last = await made.engine.calls.keys.forget("", 1, 0)
    assert last != "", "nothing is old, and there is another page"
    assert await made.engine.calls.keys.forget(last, 1, 0) != ""
    assert await made.engine.calls.keys.forget("", 5, later_ms) == ""
    await made.settle()

    assert not (await made.engine.invoke(call("a", key="old"))).replayed
    assert (await made.engine.invoke(call("long", key="running"))).replayed


async def test_a_withdrawn_call_leaves_its_key_free():
    """Also when nobody is there any more to hear that the store has not taken it."""
    pacing = Pacing(commit_deadline_s=0.05, commit_retry_s=0.01)
    store = FaultyStore(MemoryStore(), 0, times=None)
    async with world(store, {"a": {}}, settings=EngineSettings(pacing=pacing)) as made:
        await made.put(a=None, main=composer.sequence("a"))
        store.armed = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await made.engine.invoke(call())
        await made.until(lambda: made.engine.counters.withdrawn)
        store.room = True
        await made.until(lambda: made.engine.healthy)

        again = await made.engine.invoke(call(), wait_s=60)

    assert not again.replayed
    assert again.ended.outcome == Success({})


async def test_a_repeated_call_gets_the_same_failure_with_its_code(made):
    made.hands.answers["a"] = Failure("Timeout", "too slow")

    first = await made.engine.invoke(call("a"), wait_s=60)
    second = await made.engine.invoke(call("a"), wait_s=60)

    assert first.ended.outcome == second.ended.outcome == Failure("Timeout", "too slow")
