"""Task queues: tasks wait until a worker takes them, are durable before it gets them, and keep their times."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, DyingStore, begun
from tests.kit.engine.engines import world as opened
from tests.kit.engine.queued import QUEUE, answer, beat, queued, take, taken
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import ConflictError, InvalidError, NotFoundError, UnavailableError
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.queues import queues
from xingqiao.infra.stores import MemoryStore

LOOKING = EngineSettings(pacing=Pacing(look_s=0.001))  # timers look at a clock that tests move


@pytest.fixture
async def made():
    async with opened(settings=LOOKING) as made:
        await made.put(work=queued())
        await made.settle()
        yield made


async def shown(made, queue=QUEUE):
    return made.engine.queues.shown(GUEST, queue)


# --- handing out -------------------------------------------------------------------------------


async def test_a_task_waits_until_a_worker_takes_it_and_ends_with_its_answer(made):
    id = await made.start("work", {"n": 1})
    await made.settle()
    assert (await shown(made))["backlog"] == 1

    task = await taken(made)
    assert (task["params"], task["action"], task["attempt"]) == ({"n": 1}, "/guest/work", 1)
    assert (task["activation"], task["key"]) == (id, id)
    assert task["deadline"] == made.clock.ms + 60_000
    assert (await shown(made))["underWay"] == 1

    await answer(made, task, {"done": True})
    assert await made.result(id) == {"done": True}
    await made.settle()
    assert ((await shown(made))["backlog"], (await shown(made))["underWay"]) == (0, 0)


async def test_a_worker_that_waits_gets_a_task_as_soon_as_it_comes(made):
    waiting = asyncio.ensure_future(taken(made))
    await made.settle()
    assert (await shown(made))["polling"] == 1

    id = await made.start("work")
    task = await waiting
    assert task["activation"] == id
    await answer(made, task, {})


async def accepted(made, id):
    """How often the history of an execution says that its step was accepted."""
    entries = await made.engine.records.history(GUEST, id, after=0, limit=100)
    return [entry["type"] for entry in entries].count("StepAccepted")


async def test_a_task_that_is_taken_at_once_costs_one_commit_less(made):
    await made.put(main=composer.action("work"))
    waiting = asyncio.ensure_future(taken(made))
    await made.settle()
    id = await made.start("main")
    await answer(made, await waiting, {})
    await made.result(id)
    assert await accepted(made, id) == 1

    id = await made.start("main")
    await made.settle()
    await answer(made, await taken(made), {})
    await made.result(id)
    assert await accepted(made, id) == 2


async def test_a_task_may_be_assigned_while_its_place_is_being_committed(made):
    await made.put(main=composer.action("work"))
    for _ in range(10):
        id = await made.start("main")
        task = await taken(made)  # at any moment of that
        await answer(made, task, {"ok": 1})
        assert await made.result(id) == {"ok": 1}


async def test_tasks_go_in_order_whenever_a_worker_asks(made):
    for n in range(30):
        await made.start("work", {"n": n})
        made.clock.ms += 1
    found = [await taken(made) for _ in range(30)]

    assert [task["params"]["n"] for task in found] == list(range(30))


async def test_an_empty_queue_hands_out_nothing(made):
    assert await take(made) == []
    assert await take(made, wait_s=0.01) == []
    assert await take(made, queue="unknown") == []
    assert made.engine.queues.gauges()["polling_workers"] == 0


async def test_two_workers_never_get_one_task(made):
    for n in range(6):
        await made.start("work", {"n": n})
    found = await asyncio.gather(*(taken(made, f"w{n}") for n in range(6)))

    assert sorted(task["params"]["n"] for task in found) == list(range(6))
    assert await take(made) == []
    for task in found:
        await answer(made, task, {})


async def test_the_worker_that_has_waited_longest_gets_the_first_task(made):
    first = asyncio.ensure_future(taken(made, "first"))
    await made.settle()
    second = asyncio.ensure_future(taken(made, "second"))
    await made.settle()
    await made.start("work", {"n": 1})
    assert (await first)["params"] == {"n": 1}
    await made.start("work", {"n": 2})
    assert (await second)["params"] == {"n": 2}


async def test_a_worker_may_take_several_tasks_at_once(made):
    for n in range(5):
        await made.start("work", {"n": n})
        made.clock.ms += 1
    await made.settle()

    assert [task["params"]["n"] for task in await take(made, count=3)] == [0, 1, 2]
    assert len(await take(made, count=3)) == 2


async def test_a_step_of_a_composition_waits_in_its_queue(made):
    await made.put(main=composer.sequence(composer.action("work"), composer.action("work")))
    id = await made.start("main", {"n": 1})

    await answer(made, await taken(made), {"n": 2})
    second = await taken(made)
    assert second["params"] == {"n": 2}
    await answer(made, second, {"n": 3})
    assert await made.result(id) == {"n": 3}


async def test_a_failure_fails_the_step_and_is_retried_by_the_composition(made):
    await made.put(main=composer.retry(2, composer.action("work")))
    id = await made.start("main")

    first = await taken(made)
    await answer(made, first, {"error": "no luck"})
    second = await taken(made)
    assert first["activation"] != second["activation"]
    await answer(made, second, {"ok": 1})
    assert await made.result(id) == {"ok": 1}


async def test_the_parameters_of_the_action_are_given_too(made):
    await made.put(work={**queued(), "parameters": [{"key": "size", "value": "xl"}]})
    await made.start("work", {"n": 1})

    assert (await taken(made))["params"] == {"size": "xl", "n": 1}


async def test_priority_and_version_come_from_the_parameters(made):
    at = {"$path": "$.p", "$default": 3}
    await made.put(work=queued(priority=at, version={"$path": "$.v", "$default": ""}))
    for p, version in ((5, ""), (3, "v2"), (1, "")):
        await made.start("work", {"p": p, "v": version})
        await made.settle()

    assert (await taken(made, version="v1"))["params"]["p"] == 1
    assert (await taken(made, version="v1"))["params"]["p"] == 5
    assert await take(made, version="v1") == []
    assert (await taken(made, version="v2"))["params"]["p"] == 3


async def test_a_task_that_asks_for_what_is_not_allowed_fails(made):
    await made.put(work=queued(key={"$path": "$.tenant"}))

    record = await made.record(await made.start("work"))
    assert "the option 'key' of the queue" in record["response"]["result"]["error"]["message"]


# --- answers -----------------------------------------------------------------------------------


async def test_the_first_answer_counts(made):
    id = await made.start("work")
    task = await taken(made)
    await answer(made, task, {"n": 1})

    with pytest.raises(ConflictError):
        await answer(made, task, {"n": 2})
    assert await made.result(id) == {"n": 1}


async def test_a_cancelled_task_is_not_handed_out(made):
    await made.put(main=composer.action("work"))
    id = await made.start("main")
    await made.settle()
    await made.engine.cancel(GUEST, id)
    await made.settle()

    assert await take(made) == []
    assert (await shown(made))["backlog"] == 0


async def test_the_worker_of_a_cancelled_task_hears_so_by_its_heartbeat(made):
    await made.put(main=composer.action("work"))
    id = await made.start("main")
    task = await taken(made)
    assert await beat(made, task)

    await made.engine.cancel(GUEST, id)
    assert not await beat(made, task)
    with pytest.raises(ConflictError):
        await answer(made, task, {})


# --- times -------------------------------------------------------------------------------------


async def passed(made, seconds):
    """Lets time pass, until its timers have fired."""
    made.clock.ms += int(seconds * 1000)
    async with asyncio.timeout(20):
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        for _ in range(3):
            waited = asyncio.Event()
            asyncio.get_running_loop().call_later(0.004, waited.set)
            await waited.wait()
    await made.settle()


async def test_a_task_that_no_worker_takes_in_time_fails_and_has_not_run(made):
    await made.put(work=queued(to_start=10))
    id = await made.start("work")
    await made.settle()
    await passed(made, 11)

    error = (await made.result(id))["error"]
    assert (error["code"], error["timeout"]) == ("Timeout", "to_start")
    assert error["message"] == "No worker took the task from the queue 'gpu' within 10 s."
    assert await take(made) == []


async def test_a_silent_worker_loses_its_task_to_nobody_by_default(made):
    """A task is done at most once unless its action says that it may be handed out again."""
    await made.put(work=queued(timeout=5_000))
    id = await made.start("work")
    task = await taken(made)
    await passed(made, 6)

    error = (await made.result(id))["error"]
    assert error["timeout"] == "to_end"
    assert error["message"] == "The worker 'one' did not answer within 5 s (attempt 1 of 1)."
    assert await take(made) == []
    assert not await beat(made, task)


async def test_a_silent_worker_loses_its_task_to_another_if_there_are_attempts(made):
    await made.put(work=queued(heartbeat=5, attempts=2))
    id = await made.start("work")
    first = await taken(made, "first")
    await passed(made, 3)
    assert await beat(made, first, {"at": 40})
    await passed(made, 3)
    assert await take(made) == []
    await passed(made, 3)

    second = await taken(made, "second")
    assert (second["attempt"], second["key"]) == (2, first["key"])
    assert second["details"] == {"at": 40}
    assert second["params"] == {"__ow_heartbeat": {"at": 40}}
    assert not await beat(made, first)
    with pytest.raises(ConflictError):
        await answer(made, first, {"by": "first"})
    await answer(made, second, {"by": "second"})
    assert await made.result(id) == {"by": "second"}


async def test_a_late_answer_counts_while_nobody_else_has_the_task(made):
    await made.put(work=queued(heartbeat=5, attempts=2))
    id = await made.start("work")
    first = await taken(made)
    await passed(made, 6)
    assert (await shown(made))["backlog"] == 1

    await answer(made, first, {"late": True})
    assert await made.result(id) == {"late": True}
    assert await take(made) == []


async def test_a_task_whose_attempts_are_spent_fails_in_doubt_and_leaves_a_dead_letter(made):
    await made.put(work=queued(heartbeat=5, attempts=2))
    id = await made.start("work")
    for _ in range(2):
        await taken(made)
        await passed(made, 6)

    assert (await made.result(id))["error"]["timeout"] == "heartbeat"
    (letter,) = made.engine.letters.list(GUEST)
    assert (letter["target"], letter["code"], letter["mayHaveRun"]) == (
        "/guest/work", "Timeout", "unknown",
    )  # fmt: skip
    again = await made.engine.letters.retry(GUEST, letter["id"])
    task = await taken(made)
    assert task["activation"] == again
    await answer(made, task, {})


async def test_the_timeouts_of_a_composition_know_when_a_worker_has_the_task(made):
    part = composer.within(composer.action("work"), to_start=10, to_end=5)
    await made.put(main=part)
    late, soon = await made.start("main", {"n": 1}), await made.start("main", {"n": 2})
    await made.settle()
    task = await taken(made)
    await passed(made, 4)
    await answer(made, task, {"ok": 1})
    await passed(made, 7)

    assert await made.result(late) == {"ok": 1}
    assert (await made.result(soon))["error"]["timeout"] == "to_start"
    assert await take(made) == []


async def test_an_attempt_of_a_composition_counts_from_when_a_worker_has_the_task(made):
    await made.put(main=composer.within(composer.action("work"), to_end=5))
    id = await made.start("main")
    await made.settle()
    await passed(made, 30)
    await taken(made)
    await passed(made, 6)

    assert (await made.result(id))["error"]["timeout"] == "to_end"


# --- limits ------------------------------------------------------------------------------------


async def test_a_queue_with_a_limit_hands_out_no_more(made):
    await made.engine.queues.configure(GUEST, QUEUE, {"concurrent": 1})
    for n in range(2):
        await made.start("work", {"n": n})
    task = await taken(made)
    waiting = asyncio.ensure_future(taken(made))
    await made.settle()
    assert not waiting.done()

    await answer(made, task, {})
    assert (await waiting)["params"] == {"n": 1}


async def test_a_limit_that_is_lifted_lets_tasks_go_at_once(made):
    await made.engine.queues.configure(GUEST, QUEUE, {"concurrent": 1})
    for n in range(2):
        await made.start("work", {"n": n})
    await taken(made)
    waiting = asyncio.ensure_future(taken(made))
    await made.settle()

    await made.engine.queues.configure(GUEST, QUEUE, None)
    assert (await waiting)["params"] == {"n": 1}


async def test_each_tenant_has_its_limit_and_its_turn(made):
    await made.put(work=queued(key={"$path": "$.tenant"}, concurrent=1))
    for tenant in ("a", "a", "b"):
        await made.start("work", {"tenant": tenant})
        await made.settle()

    assert [task["params"]["tenant"] for task in await take(made, count=9)] == ["a", "b"]


# --- workers -----------------------------------------------------------------------------------


async def test_a_worker_that_goes_before_it_gets_its_task_leaves_it_to_another(made):
    async def gone():
        return True

    await made.start("work")
    await made.settle()
    assert await take(made, gone=gone) == []
    await made.settle()

    task = await taken(made, "two")
    assert task["attempt"] == 1  # nobody has had it


async def test_a_worker_that_goes_late_does_not_give_back_what_another_one_has(made):
    await made.put(work=queued(timeout=1000, attempts=5))
    looked = asyncio.Event()

    async def gone():
        await looked.wait()
        return True

    await made.start("work")
    await made.settle()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(take(made, "one", gone=gone))
        await made.settle()
        made.clock.ms += 1001
        second = await taken(made, "two")
        looked.set()
    await made.settle()

    assert (first.result(), second["attempt"]) == ([], 2)
    assert await take(made, "three") == []
    assert await beat(made, second)


async def test_a_worker_that_is_cut_off_while_it_waits_gets_nothing(made):
    waiting = asyncio.ensure_future(taken(made))
    await made.settle()
    waiting.cancel()
    await made.settle()
    await made.start("work")

    assert (await taken(made, "two"))["attempt"] == 1


async def test_a_worker_that_leaves_is_answered_at_once(made):
    waiting = asyncio.ensure_future(take(made, "one", 20.0))
    await made.settle()
    made.engine.queues.leave(GUEST, QUEUE, "one")
    made.engine.queues.leave(GUEST, "unknown", "one")

    assert await waiting == []
    assert (await shown(made))["workers"] == {}


async def test_an_operator_sees_the_workers_by_version(made):
    await take(made, "one", version="v1", slots=4)
    await take(made, "two", version="v1", slots=2)
    await take(made, "three", version="v2", slots=1)

    workers = (await shown(made))["workers"]
    assert workers["v1"] == {"slots": 6, "lastSeen": made.clock.ms, "workers": ["one", "two"]}
    assert workers["v2"]["slots"] == 1
    made.clock.ms += 301_000
    assert (await shown(made))["workers"] == {}


async def test_queues_are_listed_by_name_with_their_actions(made):
    await made.put(other=queued("cpu"))
    await made.engine.queues.configure(GUEST, "later", {"per_minute": 60})

    found = made.engine.queues.listed(GUEST)
    assert [(doc["name"], doc["actions"], doc["settings"]) for doc in found] == [
        ("cpu", ["other"], {}), ("gpu", ["work"], {}), ("later", [], {"per_minute": 60}),
    ]  # fmt: skip
    with pytest.raises(NotFoundError):
        made.engine.queues.shown(GUEST, "unknown")
    with pytest.raises(NotFoundError):
        await made.engine.queues.configure(GUEST, "unknown", None)


async def test_a_malformed_name_is_refused(made):
    with pytest.raises(InvalidError, match="'queue' must be the name of a queue"):
        await take(made, queue="a b")


async def test_a_server_that_stops_ends_the_wait_and_hands_out_nothing():
    made = await begun()
    await made.put(work=queued())
    waiting = asyncio.ensure_future(take(made, "one", 20.0))
    await made.settle()
    assert await made.engine.drain(5)

    assert await waiting == []
    with pytest.raises(UnavailableError):
        await take(made)
    await made.engine.__aexit__(None, None, None)


# --- restarts ----------------------------------------------------------------------------------


async def test_tasks_wait_in_their_order_over_a_restart():
    made = await begun()
    await made.put(work=queued(priority={"$path": "$.p", "$default": 3}))
    for n in range(20):
        await made.start("work", {"n": n, "p": 1 if n == 17 else 3})
        await made.settle()

    made = await restarted(made)
    await made.settle()
    found = [task["params"]["n"] for task in await take(made, count=100)]
    assert found == [17, *(n for n in range(20) if n != 17)]
    await made.kill()


async def test_a_task_that_was_taken_before_a_crash_is_answered_after_it():
    made = await begun()
    await made.put(work=queued(heartbeat=5))
    id = await made.start("work")
    task = await taken(made)

    made = await restarted(made, seconds=3)
    await made.settle()
    assert await take(made) == []
    assert (await shown(made))["underWay"] == 1
    assert await beat(made, task)
    await answer(made, task, {"ok": 1})
    assert await made.result(id) == {"ok": 1}
    await made.kill()


async def test_limits_hold_over_a_restart():
    made = await begun()
    await made.put(work=queued())
    await made.engine.queues.configure(GUEST, QUEUE, {"concurrent": 2})
    for n in range(3):
        await made.start("work", {"n": n})
    first = await taken(made)
    await taken(made)

    made = await restarted(made)
    await made.settle()
    assert await take(made) == []
    await answer(made, first, {})
    await made.settle()
    assert (await taken(made))["params"] == {"n": 2}
    await made.kill()


async def test_a_task_whose_action_was_deleted_fails_after_a_restart():
    made = await begun()
    await made.put(work=queued(), main=composer.action("work"))
    id = await made.start("main")
    await made.settle()
    await made.put(work=None)

    made = await restarted(made)
    await made.settle()
    assert "its action is gone or of another kind" in str(await made.result(id))
    await made.kill()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(4))
async def test_a_crash_at_any_commit_loses_no_task_and_does_none_twice(at, when):
    """Started, accepted, taken, answered: the server dies before or after each of them is durable."""
    store = DyingStore(MemoryStore(), at, when)
    made = await begun(store)
    await made.put(work=queued())
    store.armed = True
    life = asyncio.ensure_future(_worked(made))
    dying = asyncio.ensure_future(store.dead.wait())
    await asyncio.wait([life, dying], return_when=asyncio.FIRST_COMPLETED)
    life.cancel()
    await asyncio.wait([life])
    await made.kill()

    token = made.token if hasattr(made, "token") else None
    made = await begun(store._store)
    await made.settle()
    rows = [row for row in await made.executions() if row.ended_ms is None]
    if rows:
        if found := await take(made):
            assert token is None  # else another worker has had it
            token = found[0]["token"]
        if (
            token is None
        ):  # it was durable as taken, and no worker had heard of it: its time ends it
            assert (await shown(made))["underWay"] == 1
        else:
            await made.engine.complete(token, composer.Success({"ok": 1}))
            await made.settle()
            assert await made.executions() == []
    await made.kill()


async def _worked(made):
    await made.start("work")
    task = await taken(made)
    made.token = task["token"]
    await answer(made, task, {"ok": 1})


async def test_a_recovery_that_lasts_does_not_stop_all_workers(made, monkeypatch, caplog):
    """One execution that cannot be loaded is tried again for ever: the tasks of the others are handed out."""
    monkeypatch.setattr(queues, "OPEN_S", 0.001)
    waiting = queues.Queues(made.engine._parts, made.engine._tick, made.engine.queues._tokens)
    assert not waiting._open
    await waiting.begin(asyncio.Event())

    assert waiting._open
    assert "before all executions have been recovered" in caplog.text
    waiting.close()
