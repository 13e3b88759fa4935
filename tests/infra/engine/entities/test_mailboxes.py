"""Entities in the engine: turns, memory, locks in time, and stuck sagas."""

from __future__ import annotations

import pytest

from tests.kit.engine.counters import add, counter, entity, operate, stored
from tests.kit.engine.engines import HELD, begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer as c
from xingqiao.actions import Call, ConflictError, ForbiddenError, NotFoundError
from xingqiao.composer import Failure, Name, Resolved, call, path, read, transaction
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.stores import MemoryStore

# --- turns -----------------------------------------------------------------------------------------


async def test_operations_of_one_key_are_done_one_at_a_time_in_order(world):
    world.hands.answers["counter"] = lambda _: HELD
    ids = [await world.start("counter", {"key": "k", "operation": "add"}) for _ in range(3)]
    await world.settle()
    assert [invocation.activation for invocation in world.hands.invoked] == ids[:1]

    for number, id in enumerate(ids, 1):
        world.hands.finish(id, {"state": number, "result": {"total": number}})
        assert await world.result(id) == {"total": number}
        await world.settle()
    assert await stored(world, "k") == 3


async def test_a_hot_key_does_not_hold_up_the_others(world):
    plain = counter
    world.hands.answers["counter"] = lambda m: HELD if m["key"] == "hot" else plain(m)
    for _ in range(5):
        await world.start("counter", {"key": "hot", "operation": "add"})

    assert await operate(world, "cold") == {"total": 1}


async def test_what_an_operation_is_given_and_leaves(world):
    await operate(world, "k", n=5)
    world.hands.invoked.clear()

    assert await operate(world, "k", n=2) == {"total": 7}
    (given,) = world.hands.invoked
    assert given.params == {"state": 5, "operation": "add", "params": {"n": 2}, "key": "k"}
    assert await world.engine.records.entities("/guest/counter", "", after="", limit=9) == [
        {"entity": "/guest/counter", "key": "k", "state": 7, "version": 2, "schema": 1,
         "updated": pytest.approx(world.clock.now_ms(), abs=60_000)}
    ]  # fmt: skip


async def test_a_refusal_and_nonsense_change_nothing(world):
    assert await operate(world, "k", "refuse") == {"error": "no"}
    assert (await operate(world, ""))["error"]["code"] == "MalformedMessage"
    with pytest.raises(NotFoundError):
        await stored(world, "k")


async def test_default_parameters_are_given_to_the_code_and_are_no_message(world):
    doc = {**entity(), "parameters": [{"key": "token", "value": "t"}, {"key": "api", "value": 1}]}
    await world.put(counter=doc)

    assert [await operate(world, "k"), await operate(world, "k")] == [{"total": 1}, {"total": 2}]
    assert world.hands.invoked[-1].params["api"] == 1


async def test_nobody_calls_the_entities_of_another(world):
    message = {"key": "k", "operation": "add"}
    with pytest.raises(ForbiddenError):
        await world.engine.invoke(Call(name=Name("guest", None, "counter"), params=message,
                                       namespace="other"))  # fmt: skip


# --- memory ----------------------------------------------------------------------------------------


async def test_entities_at_rest_leave_memory_and_come_back():
    few = EngineSettings(mailboxes=3)
    world = await begun(answers={"counter": counter}, clock=FastClock(), settings=few)
    await world.put(counter=entity())
    for _ in range(2):
        for number in range(20):
            await operate(world, f"k{number}")

    assert world.engine.gauges()["entities_in_memory"] <= 6
    assert [await stored(world, f"k{number}") for number in range(20)] == [2] * 20
    await world.kill()


async def test_one_that_cannot_be_read_fails_and_is_read_again_later(world, monkeypatch):
    await operate(world, "k", n=5)
    world.engine.entities._boxes.clear()

    def broken(*_, **__):
        raise OSError("the disk")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "documents", broken)
        answer = await operate(world, "k")
    assert "could not be read" in str(answer["error"])
    assert await operate(world, "k") == {"total": 6}


async def test_the_state_is_upgraded_when_the_type_is(world):
    await operate(world, "k", n=5)
    await world.put(counter=entity(version=2))

    assert await operate(world, "k", "look") == {"total": 500}
    assert await operate(world, "k") == {"total": 501}
    assert (await world.engine.records.entity("/guest/counter", "k"))["schema"] == 2
    await world.put(counter=entity(version=1))
    assert (await operate(world, "k"))["error"]["code"] == "NewerState"


# --- locks and sagas ---------------------------------------------------------------------------------


async def test_locks_that_are_not_prepared_are_let_go_of_in_time(world):
    slow = transaction(
        c.sequence(add("k", 5), c.wait(0.2), read("counter", "k")), seconds=0.05, retries=0
    )
    await world.put(slow=slow)
    id = await world.start("slow")
    waiting = await world.start("counter", {"key": "k", "operation": "add", "params": {"n": 1}})

    assert await world.result(waiting) == {"total": 1}
    error = (await world.result(id))["error"]
    assert (error["code"], error["retryable"]) == ("TransactionAborted", True)
    assert await stored(world, "k") == 1


async def test_a_stuck_saga_is_counted_over_a_restart_and_goes_on():
    answers = {"a": {}, "undo": Failure("Down", "down"), "fails": Failure("No", "no")}
    world = await begun(MemoryStore(), answers, clock=FastClock())
    await world.put(a=None, undo=None, fails=None)
    part = c.saga(c.step("a", undo="undo", undo_retries=0), c.step("fails", no_undo="it fails"))
    await world.put(stuck=part)
    id = await world.start("stuck")
    await world.until(lambda: world.engine.gauges()["stuck"] == 1)
    await world.settle()
    await world.kill()

    again = await begun(world.store, answers, clock=FastClock())
    assert again.engine.gauges()["stuck"] == 1
    doc = await again.engine.records.execution("guest", id)
    assert (doc["status"], doc["fibers"][0]["undoing"]) == ("stuck", "components[0]")
    with pytest.raises(ConflictError, match="not stuck in fiber 0/9"):
        await again.engine.resume("guest", id, Resolved("skip"), "0/9")
    await again.engine.resume("guest", id, Resolved("skip", detail={"reason": "done by hand"}))
    assert (await again.result(id))["error"] == "no"
    assert again.engine.gauges()["stuck"] == 0
    with pytest.raises(ConflictError, match="has ended"):
        await again.engine.resume("guest", id, Resolved("skip"))
    await again.kill()


async def test_a_step_that_can_not_be_sent_again_after_a_crash_may_have_been_done():
    """Nobody knows whether the pivot was done before: it is asked again until somebody does."""
    answers = {"a": {}, "undo": {}, "pivot": HELD}
    world = await begun(MemoryStore(), answers, clock=FastClock())
    await world.put(a=None, undo=None, pivot=None)
    await world.put(main=c.saga(c.step("a", undo="undo"), c.step("pivot", pivot=True, delay=0.01)))
    id = await world.start("main")
    await world.until(lambda: "pivot" in world.hands.names)
    await world.settle()
    await world.kill()

    again = await begun(world.store, {"a": {}, "undo": {}, "pivot": Failure("Unavailable", "x")},
                        clock=FastClock())  # fmt: skip
    await again.until(lambda: again.hands.names.count("pivot") > 1)
    assert "undo" not in again.hands.names
    again.hands.answers["pivot"] = {"done": True}
    assert await again.result(id) == {"done": True}
    await again.kill()


async def test_reads_beside_each_other(world):
    await operate(world, "k", n=3)
    await world.put(all=c.map(call("counter", path("$.value"), "look", {}, read=True)))

    assert await world.run("all", {"value": ["k"] * 50}) == {"value": [{"total": 3}] * 50}


async def test_many_operations_at_once_leave_others_their_turn(world):
    """Reads of a built-in kind are answered at once: a loop of them does not keep the engine busy."""
    await world.put(loop=c.loop(c.literal({"value": True}), read("counter", "k")))
    id = await world.start("loop")

    assert await operate(world, "other") == {"total": 1}
    await world.engine.cancel("guest", id, terminate=True)


# --- found by reading --------------------------------------------------------------------------------


async def test_what_undoes_and_has_no_token_may_come_twice_too(world):
    undo = {"key": "k", "operation": "add", "params": {"n": -1}, "undoes": "never"}

    assert await world.run("counter", undo) == {}
    late = {"key": "k", "operation": "add", "params": {"n": 1}, "token": "never"}
    assert (await world.run("counter", late))["error"]["code"] == "TransactionEnded"


async def test_a_stuck_saga_that_is_cancelled_is_stuck_no_more(world):
    answers = {"a": {}, "undo": Failure("Down", "down"), "late": Failure("Down", "down")}
    world.hands.answers.update(answers)
    await world.put(a=None, undo=None, late=None)
    part = c.saga(
        c.step("a", undo="undo", undo_retries=0), c.step("a", pivot=True),
        c.step("late", retriable=True, retries=0),
    )  # fmt: skip
    await world.put(main=part)
    id = await world.start("main")
    await world.until(lambda: world.engine.gauges()["stuck"] == 1)

    world.hands.answers["late"] = {"done": True}
    await world.engine.resume("guest", id)
    assert await world.result(id) == {"done": True}
    assert world.engine.gauges()["stuck"] == 0


async def test_flags_go_though_the_steps_are_used_up():
    settings = EngineSettings(limits=c.Limits(steps=20))
    world = await begun(answers={"counter": counter, "a": {}}, clock=FastClock(), settings=settings)
    await world.put(counter=entity(), a=None)
    await world.put(main=c.semantic_lock([("counter", "k")], c.repeat(99, "a")))

    assert (await world.run("main"))["error"]["code"] == "LimitExceeded"
    assert await operate(world, "k") == {"total": 1}
    await world.kill()
