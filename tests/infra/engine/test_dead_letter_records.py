"""Dead letters: what becomes one, what does not, and that nothing accepted is lost between."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import ENTITY, GUEST, HELD, DyingStore, begun
from tests.kit.engine.faulty import FaultyStore
from xingqiao import composer as c
from xingqiao.actions import (
    Action,
    Call,
    ConflictError,
    InDoubtError,
    NotFoundError,
    Quotas,
    Rule,
    ThrottledError,
    Trigger,
    UnavailableError,
)
from xingqiao.composer import Failure, Name
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.dead_letter_records import CONTENT, GIVEN_UP, LETTER, DeadLetter
from xingqiao.infra.stores import MemoryStore

GONE = Failure("Crashed", "its worker was killed")


@pytest.fixture
async def world():
    made = await begun(answers={"work": GONE})
    await made.put(work=None)
    yield made
    await made.kill()


async def letters(world, count=1):
    """The dead letters of the namespace, as soon as there are so many."""
    await world.until(lambda: len(world.engine.letters) == count)
    return world.engine.letters.list(GUEST)


async def none_of(world):
    await world.settle()
    return world.engine.letters.list(GUEST) == []


# --- what becomes one ------------------------------------------------------------------------------


async def test_a_call_that_nobody_waits_for_and_that_never_ends_well_is_a_dead_letter(world):
    id = await world.start("work", {"n": 1})

    (letter,) = await letters(world)

    assert letter == {
        "id": letter["id"],
        "at": world.clock.ms,
        "kind": "invoke",
        "target": "/guest/work",
        "activationId": id,
        "code": "Crashed",
        "message": "its worker was killed",
        "mayHaveRun": "unknown",
        "attempts": 1,
    }
    whole = await world.engine.letters.get(GUEST, letter["id"])
    assert whole == {**letter, "params": {"n": 1}, "error": "its worker was killed"}


@pytest.mark.parametrize("code", sorted(GIVEN_UP))
async def test_what_the_action_has_not_answered_itself_is_one(world, code):
    world.hands.answers["work"] = Failure(code, {"code": code, "message": "why"})
    await world.start("work")

    (letter,) = await letters(world)

    assert (letter["code"], letter["message"]) == (code, "why")


@pytest.mark.parametrize("code", ["ApplicationError", "BadResponse", "PayloadTooLarge", "Timeout"])
async def test_what_an_action_answers_is_none(world, code):
    world.hands.answers["work"] = Failure(code, "its own")
    await world.run("work")

    assert await none_of(world)


async def test_what_goes_well_is_none(world):
    world.hands.answers["work"] = {"ok": True}
    await world.run("work")

    assert await none_of(world)


async def test_what_is_cancelled_is_none(world):
    world.hands.answers["work"] = HELD
    id = await world.start("work")
    await world.settle()
    await world.engine.cancel(GUEST, id)

    assert await none_of(world)


async def test_what_somebody_waits_for_is_none(world):
    call = Call(name=Name(GUEST, None, "work"), params={}, namespace=GUEST)
    await world.engine.invoke(call, wait_s=20)

    assert await none_of(world)


async def test_a_step_of_a_composition_is_none_by_itself(world):
    await world.put(main=c.do("work", c.literal({"handled": True})))

    assert await world.run("main") == {"handled": True}
    assert await none_of(world)


async def test_a_signal_is_one_with_its_message(world):
    world.hands.answers["counter"] = GONE
    await world.put(counter=ENTITY)
    message = {"key": "k", "operation": "add", "params": {"n": 2}}
    await world.start("counter", message)

    (letter,) = await letters(world)

    assert (letter["kind"], letter["target"]) == ("signal", "/guest/counter")
    assert (await world.engine.letters.get(GUEST, letter["id"]))["params"] == message


# --- rules -----------------------------------------------------------------------------------------


async def triggered(world, action="work"):
    """A trigger with one rule. Returns its name."""
    name = Name(GUEST, None, "bell")
    await world.engine.registry.put(Trigger, name, {}, overwrite=False)
    links = {"trigger": "/guest/bell", "action": f"/guest/{action}"}
    await world.engine.registry.put(Rule, Name(GUEST, None, "rings"), links, overwrite=False)
    return name


async def test_what_a_rule_calls_is_one(world):
    bell = await triggered(world)
    await world.engine.firing.fire(bell, {"n": 1})

    (letter,) = await letters(world)

    assert (letter["kind"], letter["rule"], letter["target"]) == (
        "trigger", "/guest/rings", "/guest/work",
    )  # fmt: skip


async def test_what_a_rule_may_not_call_just_now_is_one(world):
    bell = await triggered(world)
    await world.engine.registry.remove(Action, Name(GUEST, None, "work"))
    await world.engine.firing.fire(bell, {"n": 1})

    (letter,) = await letters(world)

    assert (letter["code"], letter["mayHaveRun"]) == ("Unavailable", "no")
    assert "activationId" not in letter
    with pytest.raises(NotFoundError):
        await world.engine.letters.retry(GUEST, letter["id"])
    world.hands.answers["work"] = lambda params: params
    await world.put(work=None)
    id = await world.engine.letters.retry(GUEST, letter["id"])
    assert await world.result(id) == {"n": 1}
    assert await none_of(world)


async def test_one_over_the_limit_of_calls_is_one_and_may_be_sent_again_when_there_is_room():
    limited = EngineSettings(quotas=lambda _: Quotas(concurrent=1))
    world = await begun(answers={"work": HELD}, settings=limited)
    await world.put(work=None)
    bell = await triggered(world)
    first = await world.start("work")
    await world.engine.firing.fire(bell, {"n": 1})

    (letter,) = await letters(world)
    with pytest.raises(ThrottledError):
        await world.engine.letters.retry(GUEST, letter["id"])
    world.hands.finish(first, {})
    await world.result(first)
    world.hands.answers["work"] = lambda params: params
    id = await world.engine.letters.retry(GUEST, letter["id"])

    assert await world.result(id) == {"n": 1}
    await world.kill()


# --- compositions ------------------------------------------------------------------------------------


async def test_an_execution_is_one_and_goes_on_from_where_it_failed(world):
    world.hands.answers["first"] = {"n": 1}
    await world.put(first=None, main=c.sequence("first", "work"))
    id = await world.start("main")

    (letter,) = await letters(world)
    assert "params" not in await world.engine.letters.get(GUEST, letter["id"])
    world.hands.answers["work"] = lambda params: {"got": params}
    again = await world.engine.letters.retry(GUEST, letter["id"])

    assert letter["executionId"] == id == again
    await world.until(lambda: world.engine.counters.succeeded == 1)
    await world.settle()
    assert (await world.executions())[0].status == "succeeded"
    assert world.hands.names == ["first", "work", "work"]
    assert await none_of(world)


async def test_an_execution_that_goes_on_already_stays_a_letter(world):
    await world.put(main=c.sequence("work", "work"))
    id = await world.start("main")
    (letter,) = await letters(world)
    world.hands.answers["work"] = HELD
    await world.engine.redrive(GUEST, id)

    with pytest.raises(ConflictError, match="under way"):
        await world.engine.letters.retry(GUEST, letter["id"])

    assert len(world.engine.letters) == 1


# --- again -----------------------------------------------------------------------------------------


async def test_what_fails_again_is_another_letter_that_counts(world):
    await world.start("work", {"n": 1})
    for attempts in (2, 3):
        (letter,) = await letters(world)
        id = await world.engine.letters.retry(GUEST, letter["id"])
        await world.record(id)
        (letter,) = await letters(world)
        assert (letter["attempts"], letter["activationId"]) == (attempts, id)


@pytest.mark.parametrize("asked", ["retry", "remove", "clear"])
async def test_whoever_asks_for_a_change_hears_of_a_store_that_does_not_commit(asked):
    pacing = Pacing(commit_deadline_s=0, commit_grace_s=0)
    store = FaultyStore(MemoryStore(), 0, times=None)
    world = await begun(store, {"work": GONE}, settings=EngineSettings(pacing=pacing))
    await world.put(work=None)
    await world.start("work")
    (letter,) = await letters(world)
    await world.settle()
    store.armed = True
    given = (GUEST,) if asked == "clear" else (GUEST, letter["id"])

    async with asyncio.timeout(20):
        with pytest.raises(InDoubtError):
            await getattr(world.engine.letters, asked)(*given)

    store.room = True
    await world.until(lambda: world.engine.healthy)
    await world.settle()
    await world.kill()


@pytest.mark.parametrize("asked", ["retry", "remove"])
async def test_a_letter_stays_while_the_store_does_not_commit(asked):
    pacing = Pacing(commit_deadline_s=0)
    store = FaultyStore(MemoryStore(), 0, times=None)
    world = await begun(store, {"work": GONE}, settings=EngineSettings(pacing=pacing))
    await world.put(work=None)
    await world.start("work")
    (letter,) = await letters(world)
    await world.settle()
    store.armed = True
    with pytest.raises(UnavailableError):
        await world.start("work")
    await world.until(lambda: not world.engine.healthy)

    with pytest.raises(UnavailableError, match="Nothing of this call is kept"):
        await getattr(world.engine.letters, asked)(GUEST, letter["id"])

    assert world.engine.letters.list(GUEST) == [letter]
    store.room = True
    await world.until(lambda: world.engine.healthy)
    await world.settle()
    assert world.engine.letters.list(GUEST) == [letter]
    await world.kill()


async def test_one_that_is_deleted_is_gone(world):
    await world.start("work")
    (letter,) = await letters(world)

    assert await world.engine.letters.remove(GUEST, letter["id"]) == letter

    for asked in (
        world.engine.letters.remove,
        world.engine.letters.get,
        world.engine.letters.retry,
    ):
        with pytest.raises(NotFoundError):
            await asked(GUEST, letter["id"])
    for kind in (LETTER, CONTENT):
        assert [document async for document in world.store.documents(kind)] == []


async def test_another_namespace_sees_none_of_it(world):
    await world.start("work")
    (letter,) = await letters(world)

    assert world.engine.letters.list("other") == []
    for asked in (
        world.engine.letters.remove,
        world.engine.letters.get,
        world.engine.letters.retry,
    ):
        with pytest.raises(NotFoundError):
            await asked("other", letter["id"])
    assert len(await letters(world)) == 1


async def test_a_namespace_that_is_no_more_leaves_none(world):
    for _ in range(3):
        await world.start("work")
    await letters(world, 3)

    await world.engine.letters.clear(GUEST)
    await world.engine.letters.clear("never")

    assert [document async for document in world.store.documents(LETTER)] == []


# --- how many ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "dropped"), [(3, 0), (4, 1)])
async def test_the_oldest_go_when_there_are_too_many(sent, dropped):
    world = await begun(answers={"work": GONE}, settings=EngineSettings(letters=3))
    await world.put(work=None)
    ids = []
    for n in range(sent):
        ids.append(await world.start("work", {"n": n}))
        await world.record(ids[-1])
        await world.until(lambda n=n: world.engine.counters.letters == n + 1)
        await world.settle()

    assert [letter["activationId"] for letter in world.engine.letters.list(GUEST)] == list(
        reversed(ids[dropped:])
    )
    assert world.engine.counters.letters_dropped == dropped
    assert len([document async for document in world.store.documents(CONTENT)]) == 3
    await world.kill()


# --- what is durable -----------------------------------------------------------------------------------


async def test_a_letter_is_there_after_a_restart():
    store, clock = MemoryStore(), StandingClock()
    world = await begun(store, {"work": GONE}, clock=clock)
    await world.put(work=None)
    await world.start("work", {"n": 1})
    before = await letters(world)
    await world.kill()

    world = await begun(store, {"work": lambda params: params}, clock=clock)
    assert world.engine.letters.list(GUEST) == before
    id = await world.engine.letters.retry(GUEST, before[0]["id"])

    assert await world.result(id) == {"n": 1}
    await world.kill()


def test_a_letter_of_the_version_before_is_read():
    doc = {
        "id": "1", "namespace": GUEST, "at_ms": 5, "target": "/guest/work", "how": "event", "rule": None,
        "activation": "a", "execution": False, "code": "Crashed", "message": "gone", "attempts": 1, "owner": "",
    }  # fmt: skip

    letter = DeadLetter.from_json({**doc, "ran": "unknown"})

    assert letter.to_json() == {**doc, "may_have_run": "unknown"}
    assert DeadLetter.from_json(letter.to_json()) == letter


@pytest.mark.parametrize("what", ["work", "main"])
async def test_a_call_that_was_under_way_in_a_crash_can_become_one(what):
    store, clock = MemoryStore(), StandingClock()
    world = await begun(store, {"work": HELD}, clock=clock)
    await world.put(work=None, main=c.sequence("work", "work"))
    id = await world.start(what, {"n": 1})
    await world.settle()
    await world.kill()

    world = await begun(store, {"work": GONE}, clock=clock)
    (letter,) = await letters(world)

    assert id == letter["activationId" if what == "work" else "executionId"]
    if what == "work":
        assert (await world.engine.letters.get(GUEST, letter["id"]))["params"] == {"n": 1}
    await world.kill()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_the_commit_that_closes_a_call_leaves_one_letter(when):
    store, clock = MemoryStore(), StandingClock()
    dying = DyingStore(store, at=1, when=when)  # the first is that of the call itself
    world = await begun(dying, {"work": GONE}, clock=clock)
    await world.put(work=None)
    dying.armed = True
    await world.start("work", {"n": 1})
    await dying.dead.wait()
    assert world.engine.letters.list(GUEST) == []
    await world.kill()

    world = await begun(store, {"work": GONE}, clock=clock)
    await letters(world)
    await world.settle()

    assert len(world.engine.letters) == 1
    await world.kill()


async def test_a_long_error_is_whole_in_the_letter_and_short_in_the_list(world):
    world.hands.answers["work"] = Failure("Lost", {"why": "x" * 5000})
    await world.start("work")

    (letter,) = await letters(world)

    assert len(letter["message"]) == 500
    whole = await world.engine.letters.get(GUEST, letter["id"])
    assert whole["error"] == {"why": "x" * 5000}
