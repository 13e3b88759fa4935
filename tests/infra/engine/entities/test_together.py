"""Whole transactions: entities of one store, one step, one commit; and those that are left to the protocol."""

from __future__ import annotations

import pytest

from tests.kit.engine.counters import CODE, add, counter, entity, operate, stored
from tests.kit.engine.engines import HELD, DyingStore, PromptHands, begun
from tests.kit.engine.infra_clock import FastClock
from xingqiao import composer as c
from xingqiao.actions import ActivationRow, Query
from xingqiao.composer import Failure, Limits, call, participant, read, transaction
from xingqiao.infra.engine import EngineSettings
from xingqiao.infra.engine.entities.documents import PREPARED, STATE, name_of
from xingqiao.infra.stores import MemoryStore

BOTH = transaction(add("a"), add("b", 10))
GOING = transaction(c.sequence(add("a"), add("b", 10)))


async def told(world, id):
    return await world.engine.records.history("guest", id, after=0, limit=1000)


async def kinds(world, id):
    """The messages that an execution has sent, by its history."""
    history = await told(world, id)
    return [entry["message"] for entry in history if "message" in entry]


async def balances(world, *keys):
    return [(await operate(world, key, "look"))["total"] for key in keys]


async def votes(world):
    return [document async for document in world.store.documents(PREPARED)]


def holding(key, operation="add"):
    """The counter, which keeps calls of one entity waiting."""

    def answer(message):
        held = (message["key"], message["operation"]) == (key, operation)
        return HELD if held else counter(message)

    return answer


def locks_of(world, *keys):
    found = [world.engine.entities._boxes.get(name_of("/guest/counter", key)) for key in keys]
    return [not box.participant.idle for box in found if box is not None]


# --- one step, one commit ----------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "sent"), [
    (BOTH, ["transact"]), (GOING, ["work", "work", "transact"]),
])  # fmt: skip
async def test_all_participants_are_committed_with_the_step(world, part, sent):
    seen = []
    commit = world.store.commit

    async def watched(writes):
        seen.append({d.key for write in writes for d in write.documents if d.kind == STATE})
        assert not [d for write in writes for d in write.documents if d.kind == PREPARED]
        return await commit(writes)

    await world.put(both=part)
    world.store.commit = watched
    id = await world.start("both")
    await world.result(id)

    a, b = name_of("/guest/counter", "a"), name_of("/guest/counter", "b")
    assert [keys for keys in seen if keys] == [{a, b}]
    assert await kinds(world, id) == sent
    assert await balances(world, "a", "b") == [1, 10]
    assert locks_of(world, "a", "b") == [False, False]


async def test_code_that_answers_at_once_is_committed_with_the_call_itself():
    """The call, the transfer and its end are one commit; no row says that it was ever under way."""
    world = await begun(answers={"counter": counter}, clock=FastClock(), hands=PromptHands)
    await world.put(counter=entity(), both=BOTH)
    await world.run("both")
    await world.settle()
    seen, commit = [], world.store.commit

    async def watched(writes):
        seen.append(writes)
        return await commit(writes)

    world.store.commit = watched
    assert await world.run("both") == {"value": [{"total": 2}, {"total": 20}]}
    made = [write for writes in seen for write in writes]
    rows = [row for write in made for row in (*write.executions, *write.fibers)]
    assert len(seen) == 1
    assert [row.status for row in rows] == ["succeeded"]
    assert [d.kind for write in made for d in write.documents] == [STATE, STATE]
    await world.kill()


async def test_many_operations_that_answer_at_once_do_not_nest():
    world = await begun(answers={"counter": counter}, clock=FastClock(), hands=PromptHands)
    await world.put(counter=entity(), both=transaction(*[add("a") for _ in range(900)], add("b")))

    assert (await world.run("both"))["value"][-2:] == [{"total": 900}, {"total": 1}]
    await world.kill()


async def test_each_participant_has_its_record_with_its_results_and_logs(world):
    await world.put(both=BOTH)
    id = await world.start("both")
    await world.result(id)

    found = await world.store.find(ActivationRow, Query(namespace="guest", name="counter"))
    records = [await world.engine.records.activation("guest", row.id) for row in found]
    records.sort(key=lambda one: one["response"]["result"]["results"][0]["total"])
    shown = [(one["cause"], one["response"]["result"], one["logs"]) for one in records]
    assert shown == [
        (id, {"vote": "yes", "results": [{"total": 1}]}, ["a line"]),
        (id, {"vote": "yes", "results": [{"total": 10}]}, ["a line"]),
    ]
    scheduled = [e for e in await told(world, id) if "entities" in e]
    assert scheduled[0]["activation"] in {row.id for row in found}


async def test_several_calls_of_one_entity_see_each_other_and_reads_change_nothing(world):
    await world.put(both=transaction(add("b"), read("counter", "a"), add("b", 5)))

    done = await world.run("both")

    assert done["value"] == [
        {"total": 1}, {"state": None, "version": 0, "flag": None}, {"total": 6},
    ]  # fmt: skip
    assert (await operate(world, "b", "look")) == {"total": 6}
    assert [d.key async for d in world.store.documents(STATE)] == [name_of("/guest/counter", "b")]


async def test_readers_alone_write_nothing_and_share_their_locks(world):
    await operate(world, "a", n=3)
    look = [call("counter", key, "look", {}, read=True) for key in ("a", "b")]
    await world.put(seen=transaction(*look))
    world.hands.answers["counter"] = holding("b", "look")
    first, second = await world.start("seen"), await world.start("seen")
    await world.settle()

    held = list(world.hands.done)
    assert len(held) == 1  # an entity runs one at a time; both have the lock of a
    world.hands.answers["counter"] = counter
    world.hands.finish(held[0], {"result": {"total": 0}})
    expected = {"value": [{"total": 3}, {"total": 0}]}
    assert [await world.result(first), await world.result(second)] == [expected, expected]


# --- refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refusing", ["a", "b"])
async def test_a_participant_that_refuses_leaves_no_trace(world, refusing):
    calls = [call("counter", k, "refuse" if k == refusing else "add", {}) for k in ("a", "b")]
    await world.put(both=transaction(*calls))

    error = (await world.run("both"))["error"]

    assert (error["code"], error["reason"], error["retryable"]) == (
        "TransactionAborted", "no", False,
    )  # fmt: skip
    assert await balances(world, "a", "b") == [0, 0]
    assert await votes(world) == []
    assert locks_of(world, "a", "b") == [False, False]


async def test_code_that_fails_in_the_middle_refuses(world):
    def failing(message):
        return Failure("Timeout", "too slow") if message["key"] == "b" else counter(message)

    world.hands.answers["counter"] = failing
    await world.put(both=BOTH)
    error = (await world.run("both"))["error"]

    assert error["reason"] == {"value": "too slow"}
    world.hands.answers["counter"] = counter
    assert await balances(world, "a", "b") == [0, 0]


async def test_a_key_that_no_entity_can_have_is_refused(world):
    await world.put(both=transaction(add("a"), add("b\n")))

    assert "'key' must be" in str((await world.run("both"))["error"])


# --- others at the same time -------------------------------------------------------------------------


async def test_transactions_of_the_same_entities_wait_in_order_and_never_for_each_other(world):
    await world.put(one=transaction(add("a"), add("b")), two=transaction(add("b"), add("a")))
    world.hands.answers["counter"] = holding("a")
    ids = [await world.start(name) for name in ("one", "two", "one")]
    await world.settle()
    (held,) = world.hands.done
    world.hands.answers["counter"] = counter
    world.hands.finish(held, {"state": 1, "result": {"total": 1}})

    for id in ids:
        assert "value" in await world.result(id)
    assert await balances(world, "a", "b") == [3, 3]


async def test_a_plain_call_waits_until_the_transaction_has_ended(world):
    await world.put(both=BOTH)
    world.hands.answers["counter"] = holding("b")
    id = await world.start("both")
    await world.settle()
    (held,) = world.hands.done
    waiting = await world.start("counter", {"key": "a", "operation": "add", "params": {"n": 100}})
    await world.settle()
    assert len(world.hands.invoked) == 2  # not yet that of the plain call
    world.hands.answers["counter"] = counter
    world.hands.finish(held, {"state": 10, "result": {"total": 10}})

    assert await world.result(waiting) == {"total": 101}
    assert await world.result(id) == {"value": [{"total": 1}, {"total": 10}]}


async def test_a_lock_that_is_had_outlasts_the_deadline_and_one_that_is_waited_for_does_not(world):
    """The time limit is for the wait: whoever has begun to work is not interrupted, as before."""
    await world.put(both=transaction(add("a"), add("b", 10), seconds=1, retries=0))
    world.hands.answers["counter"] = holding("b")
    first = await world.start("both")
    await world.settle()
    second = await world.start("both")
    await world.settle()
    (held,) = world.hands.done
    error = (await world.result(second))["error"]
    assert error["retryable"] is True
    assert error["reason"]["code"] in ("Locked", "TransactionConflict")
    world.hands.answers["counter"] = counter
    world.hands.finish(held, {"state": 10, "result": {"total": 10}})

    assert await world.result(first) == {"value": [{"total": 1}, {"total": 10}]}
    assert await balances(world, "a", "b") == [1, 10]


# --- cancelled, terminated, stopped -------------------------------------------------------------------


@pytest.mark.parametrize("terminate", [False, True])
@pytest.mark.parametrize("key", ["a", "b"])
async def test_one_that_is_stopped_in_the_middle_has_no_effect(world, key, terminate):
    await world.put(both=BOTH)
    world.hands.answers["counter"] = holding(key)
    id = await world.start("both")
    await world.settle()
    held = list(world.hands.done)

    await world.engine.cancel("guest", id, terminate=terminate)
    await world.settle()
    world.hands.answers["counter"] = counter

    assert world.hands.cancelled[-2:] != []
    assert set(held) <= set(world.hands.cancelled)
    assert await balances(world, "a", "b") == [0, 0]
    assert await operate(world, "a", n=7) == {"total": 7}
    assert await votes(world) == []
    assert await world.engine.drain(5)


async def test_one_that_waits_for_a_lock_when_it_is_stopped_lets_others_pass(world):
    await world.put(both=BOTH)
    world.hands.answers["counter"] = holding("b")
    first = await world.start("both")
    await world.settle()
    second = await world.start("both")
    await world.settle()
    (held,) = world.hands.done

    await world.engine.cancel("guest", second)
    world.hands.answers["counter"] = counter
    world.hands.finish(held, {"state": 10, "result": {"total": 10}})
    assert await world.result(first) == {"value": [{"total": 1}, {"total": 10}]}
    assert await balances(world, "a", "b") == [1, 10]


async def test_a_stop_of_the_server_waits_for_it(world):
    await world.put(both=BOTH)
    world.hands.answers["counter"] = holding("b")
    id = await world.start("both")
    await world.settle()
    (held,) = world.hands.done
    world.hands.finish(held, {"state": 10, "result": {"total": 10}})

    assert await world.engine.drain(5)
    assert await world.result(id) == {"value": [{"total": 1}, {"total": 10}]}


@pytest.mark.parametrize("when", ["before", "after"])
async def test_after_a_crash_at_its_commit_it_is_done_once_or_done_again_whole(when):
    """Commit 0 accepts the call; the transaction is in it or in the next."""
    for at in range(4):
        kept = MemoryStore()
        dying = DyingStore(kept, at, when)
        first = await begun(dying, {"counter": counter}, clock=FastClock())
        await first.put(counter=entity(), both=BOTH)
        id = await first.start("both")
        dying.armed = True
        again_id = await started_until_dead(first, dying)
        await first.kill()

        after = await begun(kept, {"counter": counter}, clock=FastClock())
        rows = [row.id for row in await after.executions() if row.name == "both"]
        for one in rows:
            assert "value" in await after.result(one)
        assert await balances(after, "a", "b") == [len(rows), 10 * len(rows)]
        assert id in rows
        assert again_id is None or again_id in rows
        await after.kill()


async def started_until_dead(world, store):
    """Starts one more; returns its id if it was accepted before the store died."""
    import asyncio

    starting = asyncio.ensure_future(world.start("both"))
    dead = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait((starting, dead), return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        ended = asyncio.ensure_future(world.record(starting.result()))
        await asyncio.wait((ended, dead), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
    dead.cancel()
    return starting.result() if starting.done() and not starting.cancel() else None


# --- left to the protocol --------------------------------------------------------------------------


PROTOCOL = ["prepare", "prepare_commit", "commit"]


async def test_without_the_setting_the_protocol_is_spoken():
    settings = EngineSettings(limits=Limits())
    world = await begun(answers={"counter": counter}, clock=FastClock(), settings=settings)
    await world.put(counter=entity(), both=BOTH)
    id = await world.start("both")

    assert await world.result(id) == {"value": [{"total": 1}, {"total": 10}]}
    assert await kinds(world, id) == PROTOCOL
    await world.kill()


async def test_two_names_of_one_type_are_left_to_the_protocol(world):
    await world.put(both=transaction(add("b"), call("/guest/counter", "a", "add", {"n": 1})))
    id = await world.start("both")

    assert await world.result(id) == {"value": [{"total": 1}, {"total": 1}]}
    assert (await kinds(world, id))[0] == "transact"
    assert await balances(world, "a", "b") == [1, 1]


async def test_a_participant_that_is_no_entity_is_left_to_the_protocol(world):
    await world.put(other=None)
    world.hands.answers["other"] = {"vote": "committed", "results": [{"n": 1}]}
    await world.put(both=transaction(add("a"), call("other", "k", "add", {})))
    id = await world.start("both")

    assert await world.result(id) == {"value": [{"total": 1}, {"n": 1}]}
    assert await kinds(world, id) == ["transact", *PROTOCOL]


async def test_a_participant_that_may_run_once_is_left_to_the_protocol(world):
    notes = [{"key": "entity", "value": True}, {"key": "at-most-once", "value": True}]
    await world.put(once={"exec": CODE, "annotations": notes})
    world.hands.answers["once"] = counter
    await world.put(both=transaction(add("a"), call("once", "k", "add", {"n": 2})))
    id = await world.start("both")

    assert await world.result(id) == {"value": [{"total": 1}, {"total": 2}]}
    assert await kinds(world, id) == ["transact", *PROTOCOL]


async def test_participants_elsewhere_are_never_asked_with_entities(world):
    for name in ("ready", "do", "undo"):
        await world.put(**{name: None})
        world.hands.answers[name] = {}
    await world.put(mixed=transaction(add("a"), participant("ready", "do", "undo", {})))
    id = await world.start("mixed")

    assert "value" in await world.result(id)
    assert world.hands.names == ["counter", "ready", "do"]


async def test_results_that_no_message_holds_are_left_to_the_protocol():
    """Each participant may answer as much as a message holds; all of them together may not."""
    limits = Limits(one_store=True, value_bytes=40_000)
    big = {"total": "x" * 15_000}
    for size, sent in ((8_000, ["transact"]), (15_000, ["transact", *PROTOCOL])):
        settings = EngineSettings(limits=limits)
        answer = {"state": 1, "result": {"total": big["total"][:size]}}
        world = await begun(answers={"counter": answer}, clock=FastClock(), settings=settings)
        await world.put(counter=entity(), both=BOTH)
        id = await world.start("both")

        assert len((await world.result(id))["value"]) == 2
        assert await kinds(world, id) == sent
        await world.kill()


# --- what goes wrong -----------------------------------------------------------------------------------


async def test_work_that_is_lost_before_the_end_is_done_again(world, monkeypatch):
    """The first participant fails by a mistake of ours while the second one works."""
    await world.put(both=BOTH)
    world.hands.answers["counter"] = holding("b")
    id = await world.start("both")
    await world.settle()
    (held,) = world.hands.done
    box = world.engine.entities._boxes[name_of("/guest/counter", "a")]
    monkeypatch.setattr(
        type(box.participant), "cancel", lambda *_: (_ for _ in ()).throw(RuntimeError("a mistake"))
    )
    plain = await world.start("counter", {"key": "a", "operation": "add"})
    await world.settle()
    await world.engine.cancel("guest", plain)
    monkeypatch.undo()
    world.hands.answers["counter"] = counter
    world.hands.finish(held, {"state": 10, "result": {"total": 10}})

    assert await world.result(id) == {"value": [{"total": 1}, {"total": 10}]}
    assert await kinds(world, id) == ["transact", "transact"]
    assert await balances(world, "a", "b") == [1, 10]


async def test_a_mistake_of_ours_at_the_commit_fails_it_and_changes_nothing(world, monkeypatch):
    await world.put(both=BOTH)
    await operate(world, "b")
    box = world.engine.entities._boxes[name_of("/guest/counter", "b")]
    conclude = type(box.participant).conclude

    def broken(participant, transaction, *, commits, now_ms):
        if commits and participant is box.participant:
            raise RuntimeError("a mistake")
        return conclude(participant, transaction, commits=commits, now_ms=now_ms)

    monkeypatch.setattr(type(box.participant), "conclude", broken)
    error = (await world.run("both"))["error"]
    monkeypatch.undo()

    assert error["code"] == "TransactionAborted"
    assert "could not be committed" in str(error["reason"])
    assert await balances(world, "a", "b") == [0, 1]
    assert await stored(world, "b") == 1
    assert await world.run("both") == {"value": [{"total": 1}, {"total": 11}]}


async def test_one_as_it_goes_whose_copies_are_gone_is_tried_again(world):
    """The locks of work are released at the deadline; what has been lost is done again."""
    await world.put(both=GOING)
    lost = []

    def once(message):
        if message["key"] == "b" and not lost:
            lost.append(1)
            box = world.engine.entities._boxes[name_of("/guest/counter", "a")]
            box.participant._commit.copies.clear()
        return counter(message)

    world.hands.answers["counter"] = once
    id = await world.start("both")

    assert await world.result(id) == {"total": 10}
    assert await kinds(world, id) == ["work", "work", "transact"] * 2
    assert await balances(world, "a", "b") == [1, 10]
