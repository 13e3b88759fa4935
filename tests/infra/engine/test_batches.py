"""Batches: an operation for each execution that a filter finds, once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import orjson
import pytest

from tests.kit.engine.batching import (
    BROKEN,
    QUICK,
    RUNNING,
    counts,
    create,
    furnished,
    history,
    started,
    statuses,
    time_passes,
)
from tests.kit.engine.engines import GUEST, HELD, DyingStore
from tests.kit.engine.faulty import FaultyStore
from xingqiao import composer
from xingqiao.actions import (
    AlreadyStartedError,
    Call,
    InDoubtError,
    InvalidError,
    NotFoundError,
    Query,
    ThrottledError,
    TooLargeError,
    TooManyMessagesError,
    UnavailableError,
    Write,
)
from xingqiao.composer import Limits, Name
from xingqiao.infra.stores import MemoryStore


@pytest.fixture
async def made():
    made = await furnished()
    yield made
    await made.kill()


# --- each operation ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "status"), [("cancel", "cancelled"), ("terminate", "cancelled"), ("pause", "paused")]
)
async def test_open_executions_are_cancelled_terminated_or_paused(made, do, status):
    ids = await started(made, "waits", 3)

    id = await create(made, do, RUNNING)

    assert await counts(made, id) == (3, 0, 0, 0)
    await made.settle()
    assert await statuses(made, ids) == [status] * 3


async def test_paused_executions_are_resumed(made):
    ids = await started(made, "waits", 2)
    await made.engine.pauses.pause(GUEST, ids[0])

    id = await create(made, "resume", "action = 'waits'")

    assert await counts(made, id) == (1, 1, 0, 0)
    (error,) = (await made.engine.batches.get(GUEST, id))["errors"]
    assert error == {"executionId": ids[1], "error": f"Execution {ids[1]} is not paused."}
    assert await statuses(made, ids) == ["running", "running"]


async def test_executions_are_told_a_message_once(made):
    ids = await started(made, "listens", 2)

    id = await create(
        made, "tell", "action = 'listens'", **{"with": {"name": "go", "payload": {"n": 7}}}
    )

    assert await counts(made, id) == (2, 0, 0, 0)
    await made.settle()
    assert await statuses(made, ids) == ["succeeded"] * 2
    assert [invocation.params for invocation in made.hands.invoked] == [{"n": 7}] * 2


async def test_failed_executions_are_redriven_and_their_steps_with_them(made):
    await made.put(outer=composer.sequence("breaks"))
    await started(made, "outer", 2)
    made.hands.answers["broken"] = {"fine": True}

    id = await create(made, "redrive", "status = 'failed'")

    assert await counts(made, id) == (2, 0, 0, 0)
    await made.settle()
    assert made.hands.names.count("broken") == 4, "each failed once, and was run once more"


async def test_executions_are_reset_and_their_new_runs_are_left_alone(made):
    ids = await started(made, "breaks", 3)

    id = await create(made, "reset", BROKEN, **{"with": {"to": "first"}, "reason": "again"})

    assert await counts(made, id) == (3, 0, 0, 0)
    await made.settle()
    rows = [row for row in await made.executions() if row.name == "breaks"]
    assert len(rows) == 6, "the new runs fail, too, and are not reset"
    (new,) = [
        doc
        for row in rows
        if row.id not in ids
        for doc in [await made.engine.records.execution(GUEST, row.id)]
        if doc["reset"]["executionId"] == ids[0]
    ]
    entries = await made.engine.records.history(GUEST, new["executionId"], after=0, limit=100)
    assert next(e for e in entries if e["type"] == "ExecutionReset")["reason"] == "again"


async def test_executions_are_reset_to_a_step(made):
    await started(made, "breaks", 1)
    made.hands.answers["broken"] = {"fine": True}

    id = await create(
        made, "reset", BROKEN, **{"with": {"to": {"step": "broken"}, "messages": "drop"}}
    )

    assert await counts(made, id) == (1, 0, 0, 0)
    await made.settle()
    assert made.hands.names == ["a", "broken", "broken"]


async def test_executions_that_have_ended_are_deleted_and_open_ones_are_not(made):
    ended = await started(made, "works", 2)
    (open_one,) = await started(made, "waits", 1)

    id = await create(made, "delete", "action in ('works', 'waits')")

    assert await counts(made, id) == (2, 1, 0, 0)
    assert await statuses(made, [*ended, open_one]) == [None, None, "running"]
    (error,) = (await made.engine.batches.get(GUEST, id))["errors"]
    assert "cancel or terminate it first" in error["error"]
    with pytest.raises(NotFoundError):
        await made.engine.records.history(GUEST, ended[0], after=0, limit=1)


async def test_executions_are_annotated(made):
    ids = await started(made, "works", 2)

    id = await create(
        made, "annotate", "action = 'works' and stage is null",
        **{"with": {"attributes": {"stage": 2, "customer": None}, "memo": {"by": "me"}}},
    )  # fmt: skip

    assert await counts(made, id) == (2, 0, 0, 0)
    for run in ids:
        found = await made.engine.records.execution(GUEST, run)
        assert (found["attributes"], found["memo"]) == ({"stage": 2}, {"by": "me"})


async def test_a_mailbox_that_is_full_fails_its_execution_and_not_the_batch(made, monkeypatch):
    async def tell(*_):
        raise TooManyMessagesError("full")

    await started(made, "listens", 1)
    monkeypatch.setattr(made.engine.messages, "tell", tell)

    id = await create(made, "tell", "action = 'listens'", **{"with": {"name": "go"}})

    assert await counts(made, id) == (0, 1, 0, 0)


async def test_a_mistake_of_ours_fails_one_execution(made, monkeypatch, caplog):
    async def pause(*_):
        raise ZeroDivisionError

    await started(made, "waits", 1)
    monkeypatch.setattr(made.engine.pauses, "pause", pause)

    id = await create(made, "pause", RUNNING)

    assert await counts(made, id) == (0, 1, 0, 0)
    assert "cannot deal with" in caplog.text


# --- which executions ----------------------------------------------------------------------------


async def test_a_batch_has_as_many_pages_as_it_needs(made):
    await started(made, "waits", 201)

    id = await create(made, "terminate", RUNNING)

    assert await counts(made, id) == (201, 0, 0, 0)
    assert (await history(made, id)).count("StepSucceeded") == 3


@pytest.mark.parametrize("order", ["", " order by started", " order by started asc"])
async def test_what_starts_later_is_left_alone_also_in_the_same_millisecond(made, order):
    ids = await started(made, "breaks", 3)
    made.clock.ms -= 1  # the last of them started in this very millisecond
    made.hands.answers["broken"] = HELD

    id = await create(made, "reset", BROKEN + order, **{"with": {"to": "first"}})
    later = await made.start("waits")

    assert await counts(made, id) == (3, 0, 0, 0)
    await made.settle()
    assert made.hands.names.count("broken") == 6
    assert len(await made.executions()) == len(ids) * 2 + 2
    assert await statuses(made, [later]) == ["running"]


async def test_a_batch_deals_with_what_had_started_when_the_clock_was_set_back(made):
    await started(made, "waits", 3)
    made.clock.ms -= 20

    id = await create(made, "terminate", RUNNING)
    made.clock.ms += 10
    later = await made.start("waits")

    assert await counts(made, id) == (3, 0, 0, 0)
    assert await statuses(made, [later]) == ["running"]


async def test_no_batch_deals_with_a_batch(made):
    await started(made, "waits", 1)
    first = await create(made, "cancel", "status = 'running'")
    await made.result(first)
    made.clock.ms += 1

    second = await create(made, "delete", "started > '2000-01-01'")

    assert await counts(made, second) == (1, 0, 0, 0)
    assert (await made.engine.batches.get(GUEST, first))["done"] == 1
    assert (await made.engine.batches.get(GUEST, second))["matched"] == 1


async def test_what_changes_or_goes_before_its_turn_is_counted_and_left_alone(made):
    first, second, third, fourth = await started(made, "waits", 4)
    pause = made.engine.pauses.pause
    other = await made.engine.records.row(GUEST, third)

    async def meanwhile(namespace, id, also):
        """While the newest is paused, one is annotated, one is deleted, and one ends at the last moment."""
        if id == fourth:
            await made.engine.annotations.annotate(GUEST, third, {"stage": 1})
            await made.engine.commit(Write(forgotten=[second]))
        if id == first:
            raise NotFoundError
        await pause(namespace, id, also)

    made.engine.pauses.pause = meanwhile

    id = await create(made, "pause", "action = 'waits' and stage is null")

    assert await counts(made, id) == (1, 0, 1, 2)
    assert other.status == "running"
    assert await statuses(made, [third, fourth]) == ["running", "paused"]


async def test_other_namespaces_are_left_alone(made):
    await started(made, "waits", 1)

    assert await made.engine.batches.count("other", {"do": "cancel", "where": RUNNING}) == {
        "matched": 0
    }
    with pytest.raises(NotFoundError):
        await made.engine.batches.get("other", await create(made, "pause", RUNNING))


# --- their life ----------------------------------------------------------------------------------


async def test_a_pace_is_kept_in_time_that_passes(made):
    ids = await started(made, "waits", 25)

    id = await create(made, "terminate", RUNNING, per_second=1)
    await made.settle()
    seen = []
    for _ in range(3):
        seen.append((await made.engine.batches.get(GUEST, id))["done"])
        made.clock.ms += 9_999
        await made.settle()
        seen.append((await made.engine.batches.get(GUEST, id))["done"])
        made.clock.ms += 1
        await made.until(lambda: len(made.engine._timers) + len(made.engine._alarms) == 0)
        await made.settle()

    assert seen == [10, 10, 20, 20, 25, 25]
    assert await counts(made, id) == (25, 0, 0, 0)
    assert (await statuses(made, ids)).count("cancelled") == 25


async def test_the_progress_is_a_query_and_a_description(made):
    await started(made, "waits", 12)

    id = await create(made, "terminate", RUNNING, per_second=1, reason="why", id="night")
    await made.settle()

    shown = {"matched": 12, "done": 10, "failed": 0, "changed": 0, "gone": 0}
    answer = await made.engine.queries.answer(GUEST, id, "progress")
    assert answer.value == shown
    found = await made.engine.batches.get(GUEST, "night")
    assert found == {
        **shown, "id": "night", "executionId": id, "status": "running", "start": found["start"],
        "where": RUNNING, "do": "terminate", "per_second": 1.0, "reason": "why", "errors": [],
    }  # fmt: skip
    (line,) = await made.engine.batches.list(Query(namespace=GUEST))
    assert line == {name: value for name, value in found.items() if name != "errors"}
    made.clock.ms += 10_000
    assert await made.result(id) == {**shown, "done": 12}


async def test_a_batch_is_paused_behind_an_execution_and_resumed(made):
    ids = await started(made, "waits", 5)
    terminate = made.engine.endings.terminate

    async def paused_meanwhile(namespace, run, also):
        await terminate(namespace, run, also)
        if run == ids[3]:
            await made.engine.pauses.pause(GUEST, id)

    made.engine.endings.terminate = paused_meanwhile
    id = await create(made, "terminate", RUNNING)
    await made.settle()

    found = await made.engine.batches.get(GUEST, id)
    assert (found["status"], found["done"]) == ("paused", 2)
    await made.engine.resume(GUEST, id)
    assert await counts(made, id) == (5, 0, 0, 0)


async def test_a_batch_is_cancelled_behind_an_execution(made):
    ids = await started(made, "waits", 5)
    terminate = made.engine.endings.terminate

    async def cancelled_meanwhile(namespace, run, also):
        await terminate(namespace, run, also)
        if run == ids[3]:
            await made.engine.cancel(GUEST, id)

    made.engine.endings.terminate = cancelled_meanwhile
    id = await create(made, "terminate", RUNNING)
    await made.record(id)
    await made.settle()

    found = await made.engine.batches.get(GUEST, id)
    assert (found["status"], found["done"]) == ("cancelled", 2)
    assert await statuses(made, ids[:3]) == ["running"] * 3


async def test_a_stop_of_the_server_waits_for_one_execution_only(made):
    ids = await started(made, "waits", 5)
    pause = made.engine.pauses.pause

    async def stopped_meanwhile(namespace, run, also):
        await pause(namespace, run, also)
        if run == ids[3]:
            made.engine.batches.rest()

    made.engine.pauses.pause = stopped_meanwhile
    id = await create(made, "pause", RUNNING, per_second=0.2)
    await made.settle()

    assert (await made.engine.batches.get(GUEST, id))["done"] == 2


async def test_a_filter_whose_attribute_is_deleted_meanwhile_fails_the_batch(made):
    await started(made, "waits", 12)
    id = await create(made, "terminate", RUNNING + " and customer is null", per_second=1)
    await made.settle()

    await made.engine.annotations.remove(GUEST, "customer")
    made.clock.ms += 10_000

    assert "no attribute 'customer'" in str(await made.result(id))
    assert (await made.engine.batches.get(GUEST, id))["status"] == "failed"


async def test_nobody_else_runs_the_step_of_a_batch(made):
    await made.put(thief=composer.sequence("/whisk.system/batches/page"))
    call = Call(name=Name("whisk.system", "batches", "page"), params={"page": 1}, namespace=GUEST)

    alone = (await made.engine.invoke(call)).activation

    assert "is not a batch" in str(await made.result(alone))
    assert "is not a batch" in str(await made.run("thief"))
    with pytest.raises(NotFoundError, match="is not a batch"):
        await made.engine.batches.get(GUEST, await made.start("works"))


async def test_a_mistake_of_ours_in_a_page_fails_the_batch(made, monkeypatch, caplog):
    async def read(_):
        raise ZeroDivisionError

    monkeypatch.setattr(made.engine.batches._records, "read", read)

    assert "log of the server" in str(await made.result(await create(made, "pause", RUNNING)))
    assert "cannot deal with a page" in caplog.text


# --- what is refused -----------------------------------------------------------------------------


async def test_a_batch_deals_with_as_many_executions_as_its_history_has_room_for():
    made = await furnished(settings=replace(QUICK, limits=Limits(entries=24)))
    await started(made, "waits", 21)

    with pytest.raises(InvalidError, match=r"finds 21 executions, .* at most 20: narrow"):
        await create(made, "terminate", RUNNING, per_second=1)
    (first, *_) = [row.id for row in await made.executions()]
    await made.engine.cancel(GUEST, first, terminate=True)
    id = await create(made, "terminate", RUNNING, per_second=1)
    passing = asyncio.ensure_future(time_passes(made))

    assert await counts(made, id) == (20, 0, 0, 0)
    passing.cancel()
    assert len(await history(made, id)) <= 24
    await made.kill()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"where": "custmer = 'a'"}, "InvalidFilter: at 0: no attribute 'custmer'"),
        ({"where": "status = 'x' order by ended"}, "InvalidFilter: at 13: .* 'order by started'"),
        ({"do": "annotate", "with": {"attributes": {"stage": "x"}}}, "stage"),
        ({"do": "annotate", "with": {"memo": "x" * (64 << 10)}}, "memo takes"),
    ],
)
async def test_what_the_namespace_does_not_allow_is_refused(made, fields, why):
    document = {"do": "cancel", "where": RUNNING, **fields}

    for ask in (made.engine.batches.create, made.engine.batches.count):
        with pytest.raises((InvalidError, TooLargeError), match=why):
            await ask(GUEST, document)
    assert await made.executions() == []


async def test_an_id_is_one_of_the_open_executions(made):
    await started(made, "waits", 12)
    await create(made, "pause", RUNNING, id="night", per_second=1)

    with pytest.raises(AlreadyStartedError):
        await create(made, "pause", RUNNING, id="night")


async def test_calls_with_one_token_are_one_batch(made):
    await started(made, "waits", 1)
    document = {"do": "pause", "where": RUNNING}

    first = await made.engine.batches.create(GUEST, document, key="t")
    await made.result(first)
    made.clock.ms += 5

    assert await made.engine.batches.create(GUEST, document, key="t") == first


# --- crashes and a store that fails --------------------------------------------------------------

OPERATIONS = [
    ("cancel", RUNNING, {}),
    ("tell", "action = 'listens' and status = 'running'", {"name": "go"}),
    ("redrive", BROKEN, {}),
    ("reset", BROKEN, {"to": "first"}),
    ("delete", "action = 'works'", {}),
    ("annotate", "action = 'works' and stage is null", {"attributes": {"stage": 1}}),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(7))
@pytest.mark.parametrize(("do", "where", "given"), OPERATIONS)
async def test_a_crash_at_any_commit_deals_with_no_execution_twice(at, when, do, where, given):
    store = DyingStore(MemoryStore(), at, when)
    made = await furnished(store)
    for action in ("waits", "listens", "breaks", "works"):
        await started(made, action, 2)
    made.hands.answers["broken"] = HELD
    store.armed = True
    creating = asyncio.ensure_future(create(made, do, where, id="b", **{"with": given}))
    ended = asyncio.ensure_future(_ended(made))
    dead = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait({ended, dead}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    for task in (creating, ended, dead):
        task.cancel()
    await made.kill()

    again = await furnished(store._store, {"broken": HELD}, clock=made.clock)
    await again.settle()
    try:
        id = await again.engine.identities.run_of(GUEST, "b")
    except NotFoundError:
        id = await create(again, do, where, id="b", **{"with": given})

    assert await counts(again, id) == (2, 0, 0, 0)
    await again.settle()
    rows = await again.executions()
    broken = [row for row in rows if row.name == "breaks"]
    if do == "reset":
        assert len(broken) == 4
    if do == "redrive":
        assert [orjson.loads(row.body)["generation"] for row in broken] == [1, 1]
    assert len([row for row in rows if row.name == "works"]) == (0 if do == "delete" else 2)
    await again.kill()


async def _ended(made):
    while True:
        rows = [row for row in await made.executions() if row.name == "xingqiao.batch"]
        if rows and rows[0].ended_ms is not None:
            return
        await made.settle()


@pytest.mark.parametrize("does", ["refuses", "doubts"])
@pytest.mark.parametrize("at", range(1, 6))
async def test_a_store_that_fails_for_a_while_has_nothing_done_twice(at, does):
    store = FaultyStore(MemoryStore(), at, does=does)
    made = await furnished(store)
    await started(made, "breaks", 3)
    made.hands.answers["broken"] = HELD
    store.armed = True

    id = await create(made, "reset", BROKEN, **{"with": {"to": "first"}})

    assert await counts(made, id) == (3, 0, 0, 0)
    await made.settle()
    assert len([row for row in await made.executions() if row.name == "breaks"]) == 6
    await made.kill()


@pytest.mark.parametrize("error", [ThrottledError, UnavailableError, InDoubtError])
async def test_what_cannot_be_done_now_is_waited_for(made, monkeypatch, error):
    await started(made, "breaks", 2)
    reset, committed, refused = made.engine.resets.reset, made.engine._tick.committed, []

    async def fails(*arguments):
        """Fails before the first reset, and behind the second when it is done."""
        if not refused:
            refused.append("before")
            raise error("not now")
        run = await reset(*arguments)
        if len(refused) == 1:
            refused.append("behind")
            raise error("in doubt")
        return run

    async def fails_once():
        if len(refused) == 1:
            monkeypatch.setattr(made.engine._tick, "committed", committed)
            raise InDoubtError("not yet")
        await committed()

    monkeypatch.setattr(made.engine.resets, "reset", fails)
    monkeypatch.setattr(made.engine._tick, "committed", fails_once)

    id = await create(made, "reset", BROKEN, **{"with": {"to": "first"}})

    assert await counts(made, id) == (2, 0, 0, 0)
    await made.settle()
    assert len([row for row in await made.executions() if row.name == "breaks"]) == 4


async def test_a_batch_that_waits_for_the_store_is_cancelled(made, monkeypatch):
    async def fails(*_):
        raise UnavailableError("not now")

    await started(made, "breaks", 1)
    monkeypatch.setattr(made.engine.resets, "reset", fails)
    id = await create(made, "reset", BROKEN, **{"with": {"to": "first"}})
    await made.settle()

    await made.engine.cancel(GUEST, id)

    await made.record(id)
    assert (await made.engine.batches.get(GUEST, id))["status"] == "cancelled"


async def test_the_documents_of_a_batch_go_when_its_execution_has(made):
    await started(made, "works", 1)
    id = await create(made, "delete", "action = 'works'")
    await made.result(id)
    await made.settle()
    later_ms = made.clock.ms + 1

    assert await made.engine.batches.forget("", 10, later_ms) == ""
    assert await made.engine.batches.get(GUEST, id)
    await made.engine.commit(Write(forgotten=[id]))
    await made.engine.batches.forget("", 10, later_ms)
    await made.settle()

    assert [document async for document in made.store.documents("batch")] == []
