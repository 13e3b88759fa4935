"""Entities in the engine: turns, memory, locks in time, doubt, and what is withdrawn."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer as c
from xingqiao.actions import Call, ConflictError, ForbiddenError, NotFoundError
from xingqiao.composer import Failure, Name, Resolved, call, path, read, transaction
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.entities.documents import name_of
from xingqiao.infra.stores import MemoryStore

CODE = {"kind": "python:3", "code": "..."}


def entity(**settings):
    return {"exec": CODE, "annotations": [{"key": "entity", "value": settings or True}]}


def counter(message):
    """Counts, and adds what it is told."""
    total = message["state"] or 0
    match message["operation"]:
        case "add":
            total += message["params"].get("n", 1)
            return {"state": total, "result": {"total": total}}
        case "upgrade":
            return {"state": total * 100}
        case "refuse":
            return Failure("ApplicationError", "no")
        case _:
            return {"result": {"total": total}}


@pytest.fixture
async def world():
    made = await begun(answers={"counter": counter}, clock=FastClock())
    await made.put(counter=entity())
    yield made
    await made.kill()


def add(key, n=1):
    return call("counter", key, "add", {"n": n})


async def operate(world, key, operation="add", **params):
    message = {"key": key, "operation": operation, "params": params}
    return await world.run("counter", message)


async def stored(world, key):
    return (await world.engine.records.entity("/guest/counter", key))["state"]


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


async def test_a_mistake_of_ours_fails_the_call_and_harms_nobody(world, monkeypatch):
    await operate(world, "k")

    def broken(*_):
        raise RuntimeError("a mistake")

    box = world.engine.entities._boxes[name_of("/guest/counter", "k")]
    monkeypatch.setattr(type(box.participant), "receive", broken)
    assert "could not handle the request" in str((await operate(world, "k"))["error"])
    monkeypatch.undo()
    assert await operate(world, "k") == {"total": 2}


async def test_the_state_is_upgraded_when_the_type_is(world):
    await operate(world, "k", n=5)
    await world.put(counter=entity(version=2))

    assert await operate(world, "k", "look") == {"total": 500}
    assert await operate(world, "k") == {"total": 501}
    assert (await world.engine.records.entity("/guest/counter", "k"))["schema"] == 2
    await world.put(counter=entity(version=1))
    assert (await operate(world, "k"))["error"]["code"] == "NewerState"


# --- what is withdrawn -----------------------------------------------------------------------------


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


# --- durability --------------------------------------------------------------------------------------


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


async def test_a_transfer_alone_is_three_commits(world):
    await world.put(both=transaction(add("a"), add("b")))
    await world.run("both")
    await world.settle()

    before = world.engine.gauges()["commits"]
    await world.run("both")
    await world.settle()
    assert world.engine.gauges()["commits"] - before <= 3


# --- in doubt ----------------------------------------------------------------------------------------


def message(kind, id="tx-1", **about):
    deadline = FastClock().now_ms() + 30_000
    return {"key": "k", "transaction": {"id": id, "kind": kind, "deadline": deadline, **about}}


async def prepared(world, **about):
    """A vote of yes of the entity k, for a coordinator that says nothing more."""
    asked = {
        **message("prepare", **about),
        "operations": [{"operation": "add", "params": {"n": 5}}],
    }
    answer = await world.run("counter", asked)
    assert answer["vote"] == "yes"


async def test_a_vote_from_elsewhere_waits_for_its_decision_over_a_restart(world):
    await prepared(world)
    await world.kill()

    again = await begun(world.store, {"counter": counter}, clock=FastClock())
    assert again.engine.gauges()["in_doubt"] == 1
    waiting = await again.start("counter", {"key": "k", "operation": "add", "params": {}})
    await again.settle()
    assert await again.run("counter", message("commit")) == {"done": "commit"}
    assert await again.result(waiting) == {"total": 6}
    assert again.engine.gauges()["in_doubt"] == 0
    await again.kill()


def asking(milliseconds):
    return EngineSettings(pacing=Pacing(inquiry_ms=milliseconds))


async def test_a_vote_asks_its_coordinator_until_it_hears():
    """One that has ended without a decision has aborted; one that has decided says so."""
    world = await begun(
        answers={"counter": counter, "slow": HELD}, clock=FastClock(), settings=asking(5)
    )
    await world.put(counter=entity(), slow=None)
    part = transaction(add("k", 5), c.participant("slow", "slow", "slow"))
    await world.put(both=part)
    id = await world.start("both")
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 1)
    await asyncio.sleep(0.03)  # noqa: TID251  it is asked, and undecided
    assert world.engine.gauges()["in_doubt"] == 1

    await world.engine.cancel("guest", id, terminate=True)  # nobody will tell it any more
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 0)
    assert await operate(world, "k") == {"total": 1}
    await world.kill()


async def test_what_was_decided_cannot_be_terminated_and_is_told_to_who_asks():
    answers = {"counter": counter, "yes": {}, "commit": HELD}
    world = await begun(answers=answers, clock=FastClock(), settings=asking(5))
    await world.put(counter=entity(), yes=None, commit=None)
    await world.put(both=transaction(add("k", 5), c.participant("yes", "commit", "yes")))
    id = await world.start("both")
    await world.until(lambda: "commit" in world.hands.names)

    with pytest.raises(ConflictError, match="a transaction that is decided"):
        await world.engine.cancel("guest", id, terminate=True)
    assert await operate(world, "k") == {"total": 6}
    (held,) = world.hands.done
    world.hands.finish(held, {})
    assert await world.result(id) == {"value": [{"total": 5}, {}]}
    await world.kill()


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


# --- operators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("commits", [True, False])
async def test_an_operator_decides_and_it_is_kept(world, commits):
    await prepared(world)
    hand = world.engine.heuristics
    with pytest.raises(NotFoundError):
        await hand.decide("guest", "tx-other", commits=commits, by="me", reason="why")
    await hand.decide("guest", "tx-1", commits=commits, by="me", reason="why")

    (shown,) = hand.votes("guest")
    assert (shown["state"], shown["decision"]) == ("decided", "commit" if commits else "abort")
    assert await operate(world, "k") == {"total": 6 if commits else 1}
    await world.kill()
    again = await begun(world.store, {"counter": counter}, clock=FastClock())
    assert again.engine.heuristics.votes("guest") == [shown]
    await again.run("counter", message("abort" if commits else "commit"))
    assert again.engine.counters.damaged == 1
    assert again.engine.heuristics.votes("guest")[0]["state"] == "damaged"
    await again.engine.heuristics.forget("guest", "tx-1")
    assert again.engine.heuristics.votes("guest") == []
    with pytest.raises(NotFoundError):
        await again.engine.heuristics.forget("guest", "tx-1")
    await again.kill()


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


async def test_a_store_that_cannot_be_read_now_is_asked_again(monkeypatch):
    world = await begun(
        answers={"counter": counter, "slow": HELD}, clock=FastClock(), settings=asking(2)
    )
    await world.put(counter=entity(), slow=None)
    await world.put(both=transaction(add("k", 5), c.participant("slow", "slow", "slow")))
    load, failures = world.store.load, []

    async def failing(execution):
        failures.append(execution)
        if len(failures) < 3:
            raise OSError("the disk")
        return await load(execution)

    id = await world.start("both")
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 1)
    monkeypatch.setattr(world.store, "load", failing)
    await world.until(lambda: len(failures) > 3)
    await world.engine.cancel("guest", id, terminate=True)
    await world.until(lambda: world.engine.gauges()["in_doubt"] == 0)
    await world.kill()


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
