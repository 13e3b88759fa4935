"""Updates of executions of an engine: durable, once for an id, answered over crashes and after the end."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.mail import GUEST, kinds, stored
from tests.kit.engine.restarts import restarted
from tests.kit.engine.updating import HANDLERS, LATER, LISTING, items
from xingqiao import composer
from xingqiao.actions import (
    ClosedError,
    ConflictError,
    InvalidError,
    NoSuchUpdateError,
    NotFoundError,
    RejectedError,
    TooLargeError,
    TooManyUpdatesError,
    UnavailableError,
)
from xingqiao.composer import Failure, Success, changed, path, var
from xingqiao.infra.engine import EngineSettings, Pacing, Place
from xingqiao.infra.stores import MemoryStore

UNKNOWN = "0" * 32
ANSWERS = {"work": HELD, "check": lambda params: params, "fail": Failure("Down", "no luck")}
SLOW = {**ANSWERS, "check": HELD}
CODE = dict.fromkeys(("work", "check", "fail"))
PACING = EngineSettings(
    pacing=Pacing(commit_deadline_s=0.01, commit_grace_s=0.01, commit_retry_s=0.001)
)


@pytest.fixture
async def made():
    async with world(answers={**ANSWERS}) as made:
        await made.put(**CODE, main=LISTING, later=LATER, plain=composer.sequence("work"))
        yield made


async def update(made, id, name="add", payload=None, update="", **options):
    options = {"wait_s": 5, **options}
    given = {"item": 1} if payload is None else payload
    return await made.engine.updates.update(GUEST, id, name, given, update, **options)


async def begin(made, name="main"):
    """An execution whose main line waits for a step that is held."""
    id = await made.start(name)
    await made.until(lambda: made.hands.done)
    await made.settle()
    return id


def release(made, name="work", answer=None):
    """Ends a held step of this action."""
    held = {
        each.activation: each for each in made.hands.invoked if each.activation in made.hands.done
    }
    found = next(id for id, each in held.items() if each.action.name.name == name)
    made.hands.finish(found, answer if answer is not None else held[found].params)


# --- what becomes of an update ------------------------------------------------------------------


async def test_an_update_is_answered_and_changes_the_execution(made):
    id = await begin(made)

    first = await update(made, id, payload={"item": 1})
    second = await update(made, id, payload={"item": 2}, update="mine")

    assert items(first.outcome.value["items"]) == [1]
    assert (second.id, second.status) == ("mine", "completed")
    release(made)
    assert items(await made.result(id)) == [1, 2]


async def test_a_rejected_update_leaves_nothing(made):
    id = await begin(made)
    before, gauges = await kinds(made, id), made.engine.gauges()["commits"]

    with pytest.raises(RejectedError, match=f"Execution {id} rejects update 'add'"):
        await update(made, id, payload={"n": 1}, update="mine")

    assert (await kinds(made, id), made.engine.gauges()["commits"]) == (before, gauges)
    assert await stored(made, "update") == []
    assert (await update(made, id, update="mine")).status == "completed"


async def test_of_two_that_exclude_each_other_the_second_is_rejected(made):
    part = composer.on_update(validate=var("n") == 0, sets={"n": 1})
    await made.put(main=composer.let({"n": 0}, composer.updates("work", one=part)))
    id = await begin(made)

    one, two = await asyncio.gather(
        update(made, id, "one"), update(made, id, "one"), return_exceptions=True
    )

    assert one.status == "completed"
    assert isinstance(two, RejectedError)


async def test_a_failure_is_its_callers_only(made):
    id = await begin(made)

    failed = await update(made, id, "fails", update="mine")

    assert failed.outcome == Failure("Down", "no luck")
    assert await made.engine.updates.outcome(GUEST, id, "mine") == failed
    release(made)
    assert await made.result(id) == {"value": None}


async def test_several_are_under_way_and_are_told_by_their_ids(made):
    made.hands.answers = SLOW
    id = await begin(made)

    first = await update(made, id, payload={"item": 1}, update="a", accepted=True)
    second = await update(made, id, payload={"item": 2}, update="b", wait_s=0)
    assert (first.status, second.status) == ("accepted", "accepted")
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(update(made, id, payload={"item": 9}, update="a"))
        await made.settle()
        release(made, "check")
    assert items(waiting.result().outcome.value["items"]) == [1]
    release(made, "check")
    ended = await made.engine.updates.outcome(GUEST, id, "b", name="add", wait_s=5)
    assert items(ended.outcome.value["items"]) == [1, 2]


async def test_one_id_counts_once_at_the_same_time_and_later(made):
    id = await begin(made)

    found = await asyncio.gather(
        *(update(made, id, payload={"item": n}, update="x") for n in range(5))
    )

    assert len({each.outcome.value["items"]["item"] for each in found}) == 1
    assert (await kinds(made, id)).count("UpdateAccepted") == 1
    release(made)
    await made.result(id)
    assert await update(made, id, payload={"item": 99}, update="x") == found[0]
    with pytest.raises(ClosedError, match=f"Execution {id} has ended"):
        await update(made, id)


async def test_open_updates_are_closed_when_the_execution_ends(made):
    made.hands.answers = SLOW
    id = await begin(made)
    await update(made, id, update="a", accepted=True)

    release(made, "work")
    await made.result(id)

    closed = await made.engine.updates.outcome(GUEST, id, "a")
    assert closed.outcome.code == "Closed"
    assert len(made.hands.cancelled) == 1


@pytest.mark.parametrize("how", ["cancel", "terminate", "broken"])
async def test_however_it_ends(made, how, monkeypatch):
    made.hands.answers = SLOW
    id = await begin(made)
    await update(made, id, update="a", accepted=True)

    if how == "broken":

        def wrong(*_):
            raise RuntimeError

        run = made.engine._parts.runs[id]
        monkeypatch.setattr(type(run.execution), "deliver", wrong)
        release(made, "work")
    else:
        await (made.engine.cancel if how == "cancel" else made.engine.endings.terminate)(GUEST, id)
    await made.record(id)

    closed = await made.engine.updates.outcome(GUEST, id, "a")
    assert closed.outcome.code == "Closed"
    assert "UpdateFailed" in await kinds(made, id)


async def test_a_step_updates_its_own_execution(made):
    """By the route that anybody takes: nothing waits for anything else."""
    id = await begin(made)
    answers = []

    async def change():
        answers.append(await update(made, id, "ping", payload=7))
        release(made)

    await asyncio.gather(change(), made.result(id))

    assert answers[0].outcome == Success({"value": 7})


# --- refused --------------------------------------------------------------------------------------


async def test_a_part_that_has_not_begun_is_waited_for(made):
    id = await begin(made, "later")
    with pytest.raises(NoSuchUpdateError, match="does not handle update 'add' yet"):
        await update(made, id, wait_s=0)

    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(update(made, id))
        await made.settle()
        release(made)

    assert items(asked.result().outcome.value["items"]) == [1]


async def test_a_part_that_has_ended_is_closed(made):
    await made.put(over=composer.sequence(LISTING, "work"))
    id = await begin(made, "over")
    release(made)
    await made.until(lambda: made.hands.names.count("work") == 2)

    with pytest.raises(ClosedError, match="that handles update 'add' has ended"):
        await update(made, id)


@pytest.mark.parametrize(("main", "text"), [
    ("main", "no update 'other': it has add, ping, fails"),
    ("plain", "its composition declares none"),
])  # fmt: skip
async def test_names_that_do_not_exist(made, main, text):
    id = await begin(made, main)

    with pytest.raises(NoSuchUpdateError, match=text):
        await update(made, id, "other")


async def test_executions_and_updates_that_do_not_exist(made):
    id = await begin(made)
    await update(made, id, update="mine")

    with pytest.raises(NotFoundError):
        await update(made, UNKNOWN)
    with pytest.raises(NotFoundError):
        await made.engine.updates.outcome(GUEST, UNKNOWN, "mine")
    with pytest.raises(NotFoundError):
        await made.engine.updates.outcome("other", id, "mine")
    with pytest.raises(NotFoundError):
        await made.engine.updates.update("other", id, "add", {"item": 1}, "mine")
    with pytest.raises(NotFoundError, match="no update with the id 'yours'"):
        await made.engine.updates.outcome(GUEST, id, "yours")
    with pytest.raises(NotFoundError, match="no update 'ping' with the id 'mine'"):
        await made.engine.updates.outcome(GUEST, id, "mine", name="ping")


@pytest.mark.parametrize(
    ("payload", "id", "error"),
    [
        ({1}, "", InvalidError),
        ("x" * (1 << 20), "", TooLargeError),
        (1, "x" * 256, InvalidError),
        (1, "a/b", InvalidError),
        (1, "\n", InvalidError),
    ],
)
async def test_what_is_malformed_or_too_large_is_refused(made, payload, id, error):
    with pytest.raises(error):
        await update(made, await begin(made), "ping", payload, id)


async def test_an_express_execution_has_no_updates(made):
    id = await begin(made)
    run = made.engine._parts.runs[id]
    run.origin = changed(run.origin, express=True)

    with pytest.raises(ConflictError, match="it is an express execution"):
        await update(made, id)
    run.origin = changed(run.origin, express=False)


async def test_ten_are_under_way_at_most(made):
    made.hands.answers = SLOW
    id = await begin(made)
    for n in range(10):
        await update(made, id, update=f"u{n}", accepted=True)

    with pytest.raises(TooManyUpdatesError, match="10 updates, which is the most at a time"):
        await update(made, id)
    release(made, "check")
    await made.engine.updates.outcome(GUEST, id, "u0", wait_s=5)
    assert (await update(made, id, accepted=True)).status == "accepted"


async def test_a_store_that_does_not_commit_accepts_once_when_it_does():
    store = FaultyStore(MemoryStore(), at=0, times=None)
    async with world(store, answers={**ANSWERS}, settings=PACING) as made:
        await made.put(**CODE, main=LISTING)
        id = await begin(made)
        store.armed = True
        for _ in range(2):  # the second is turned away
            with pytest.raises(UnavailableError):
                await update(made, id, update="x")
        store.room = True
        await made.until(lambda: made.engine._tick.healthy)
        assert (await update(made, id, update="x")).status == "completed"
        assert (await kinds(made, id)).count("UpdateAccepted") == 1


# --- over crashes ---------------------------------------------------------------------------------


async def test_an_update_under_way_goes_on_after_a_crash():
    made = await begun(answers={**SLOW})
    await made.put(**CODE, main=LISTING)
    id = await begin(made)
    await update(made, id, update="a", accepted=True)
    again = await restarted(made)
    try:
        await again.until(lambda: len(again.hands.done) == 2)
        release(again, "check")
        ended = await again.engine.updates.outcome(GUEST, id, "a", wait_s=5)
        assert items(ended.outcome.value["items"]) == [1]
        release(again)
        assert items(await again.result(id)) == [1]
    finally:
        await again.kill()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(4))
async def test_a_crash_at_a_commit_loses_and_repeats_nothing(at, when):
    """The caller asks again with the same id until it has an answer."""
    store = DyingStore(MemoryStore(), at, when)
    made = await begun(store, {**ANSWERS})
    await made.put(**CODE, main=LISTING)
    id = await begin(made)
    store.armed = True
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(asking(made, id)), tasks.create_task(store.dead.wait())]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for each in asked:
            each.cancel()
    made.store = store._store
    again = await restarted(made)
    try:
        await again.until(lambda: again.hands.done)
        for n in range(3):
            answer = await update(again, id, payload={"item": n}, update=f"u{n}")
            assert answer.status == "completed"
        release(again)
        assert items(await again.result(id)) == [0, 1, 2]
    finally:
        await again.kill()


async def asking(made, id):
    for n in range(3):
        await update(made, id, payload={"item": n}, update=f"u{n}")


# --- redrives, resets and retention ---------------------------------------------------------------


async def test_a_redrive_keeps_what_updates_have_set(made):
    id = await begin(made)
    first = await update(made, id, payload={"item": 1}, update="a")
    release(made, "work", Failure("Down", "no luck"))
    await made.record(id)

    await made.engine.redrive(GUEST, id)
    await made.until(lambda: made.hands.done)

    assert await update(made, id, update="a") == first
    assert items((await update(made, id, payload={"item": 2})).outcome.value["items"]) == [1, 2]
    release(made)
    await made.settle()
    assert items(await made.result(id)) == [1, 2]


async def test_a_reset_knows_the_updates_that_came_before(made):
    id = await begin(made)
    await update(made, id, payload={"item": 1}, update="a")
    await update(made, id, "fails", update="b")
    await update(made, id, payload={"item": 2}, update="c")
    entries = await made.engine.records.entries(id, after=0, limit=100)
    last = [e["seq"] for e in entries if e["type"] == "UpdateFailed"][0]  # noqa: RUF015

    run = await made.engine.resets.reset(GUEST, id, Place(to=last))

    a, b = [await made.engine.updates.outcome(GUEST, run, each) for each in "ab"]
    assert items(a.outcome.value["items"]) == [1]
    assert b.outcome == Failure("Down", "no luck")
    with pytest.raises(NotFoundError):
        await made.engine.updates.outcome(GUEST, run, "c")
    assert items((await update(made, run, payload={"item": 3})).outcome.value["items"]) == [1, 3]


async def test_an_update_under_way_goes_on_in_a_fork(made):
    made.hands.answers = SLOW
    id = await begin(made)
    await update(made, id, payload={"item": 1}, update="a", accepted=True)
    await made.settle()

    run = await made.engine.resets.fork(GUEST, id, Place(to="last"))
    await made.until(lambda: len(made.hands.done) == 4)
    assert (await made.engine.updates.outcome(GUEST, run, "a")).status == "accepted"
    for _ in range(2):
        release(made, "check")
    for each in (id, run):
        ended = await made.engine.updates.outcome(GUEST, each, "a", wait_s=5)
        assert items(ended.outcome.value["items"]) == [1]


async def test_updates_go_with_their_execution(made):
    id = await begin(made)
    await update(made, id, update="a")
    release(made)
    await made.result(id)
    later = made.clock.now_ms() + 1

    await made.engine.updates.forget("", 10, later)
    assert await stored(made, "update") == [f"/{id}/a"]
    del made.store._executions[id]
    assert await made.engine.updates.forget("", 10, later) == ""
    await made.settle()
    assert await stored(made, "update") == []


async def test_large_answers_are_stored_once():
    async with world(answers={**ANSWERS}) as made:
        await made.put(**CODE, main=composer.updates("work", ping=HANDLERS["ping"]))
        id = await begin(made)
        answer = await update(made, id, "ping", {"text": "x" * 5000}, "a")
        await made.settle()

        assert answer.outcome.value == {"text": "x" * 5000}
        assert len(made.store._values) <= 2


async def test_the_execution_shows_a_wait_for_a_condition(made):
    part = composer.on_update(sets={"n": path("$.n")})
    await made.put(
        waits=composer.let({"n": 0}, composer.updates(composer.until(var("n") > 1), set=part))
    )
    id = await made.start("waits")
    await made.settle()
    assert id not in made.engine._parts.runs

    [fiber] = (await made.engine.records.execution(GUEST, id))["fibers"]
    assert (fiber["waits"], fiber["path"]) == ("condition", "components[0].components[0]")
    await update(made, id, "set", {"n": 2})
    assert await made.result(id) == {}
