"""Messages told to executions of an engine: durable, in order, once, also over crashes."""

from __future__ import annotations

import asyncio
from functools import partial

import anyio.lowlevel
import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.infra_clock import FastClock
from tests.kit.engine.mail import GUEST, kinds, stored, tell, undelivered
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import (
    ClosedError,
    ConflictError,
    InvalidError,
    NotFoundError,
    TooLargeError,
    TooManyMessagesError,
)
from xingqiao.composer import changed, path, receive
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore, SqliteStore

GO = receive("go")
UNKNOWN = "0" * 32
ANSWERS = {"a": HELD, "b": lambda params: {"b": params}}
BROKEN = composer.Failure("Broken", "broken")


LEAVES = pytest.mark.parametrize("made", [0], indirect=True)


@pytest.fixture(params=[0, 2_000], ids=["leaving", "staying"])
async def made(request):
    """Executions that wait leave memory at once, or stay for a while when they were told something."""
    async with world(answers=ANSWERS, settings=EngineSettings(dormant=request.param)) as made:
        await made.put(
            a=None,
            b=None,
            main=GO,
            twice=composer.sequence(GO, GO),
            later=composer.sequence("a", GO),
            never=composer.sequence("a"),
            teller=composer.tell(path("$.to"), "go", {"n": path("$.n")}),
            kept=composer.sequence("a", GO, "a"),
        )
        yield made


# --- who hears --------------------------------------------------------------------------------


async def test_a_message_is_heard_in_the_commit_that_takes_it(made):
    id = await made.start("main")
    await made.settle()
    before = made.engine.gauges()["commits"]

    assert await tell(made, id, "go", {"by": "anna"})

    assert await made.result(id) == {"by": "anna"}
    assert made.engine.gauges()["commits"] == before + 1
    assert await stored(made, "message") == []


async def test_an_early_message_waits_and_is_listed(made):
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)

    await tell(made, id, "go", 1)
    await tell(made, id, "go", 2, message="x")

    found = await made.engine.messages.undelivered(GUEST, id)
    assert found == [
        {"seq": 3, "name": "go", "payload": 1},
        {"seq": 4, "name": "go", "id": "x", "payload": 2},
    ]
    made.hands.finish(made.hands.invoked[0].activation, {})
    assert await made.result(id) == {"value": 1}
    assert await undelivered(made, id) == []
    assert await stored(made, "message") == []


async def test_it_shows_what_it_waits_for(made):
    id = await made.start("main")
    await made.settle()

    [fiber] = (await made.engine.records.execution(GUEST, id))["fibers"]

    assert (fiber["waits"], fiber["want"], fiber["path"]) == ("message", "go", "")


@LEAVES
async def test_an_execution_that_waits_leaves_memory(made):
    id = await made.start("main")
    await made.settle()
    assert id not in made.engine._parts.runs

    await tell(made, id, "other")
    await made.settle()
    assert id not in made.engine._parts.runs

    await tell(made, id, "go", 1)
    assert await made.result(id) == {"value": 1}


async def test_an_execution_that_was_told_nothing_reads_nothing_more(made):
    id = await made.start("main")
    await made.settle()
    read, documents = [], made.store.documents
    made.store.documents = lambda kind, *args, **how: (
        read.append(kind) or documents(kind, *args, **how)
    )

    await tell(made, id, "go", 1)

    assert await made.result(id) == {"value": 1}
    assert "message" not in read


async def test_large_payloads_are_stored_once():
    made = await begun(answers=ANSWERS)
    await made.put(a=None, later=composer.sequence("a", GO))
    id = await made.start("later")
    await made.until(lambda: made.hands.invoked)
    large = "x" * 5000

    await tell(made, id, "go", large)

    assert len(made.store._values) == 1
    again = await restarted(made)
    assert await undelivered(again, id) == [large]
    await again.kill()


# --- ids --------------------------------------------------------------------------------------


async def test_an_id_is_taken_once(made):
    id = await made.start("twice")

    assert await tell(made, id, "go", 1, message="x")
    await made.settle()
    assert not await tell(made, id, "go", 2, message="x")
    assert await tell(made, id, "go", 3, message="y")

    assert await made.result(id) == {"value": 3}


async def test_a_call_that_is_sent_again_gets_its_first_answer(made):
    """An answer was lost: only the caller's own repetition hears that the message was new."""
    id = await made.start("twice")
    told = partial(made.engine.messages.tell, GUEST, id, "go", 1, "x")

    first = await asyncio.gather(told("one"), told("one"), told("two"))
    again = [await told("one"), await told("two"), await told()]
    assert (first, again) == ([True, True, False], [True, False, False])

    await tell(made, id, "go", 2)
    assert await made.result(id) == {"value": 2}
    assert (await told("one"), await told("two")) == (True, False)


async def test_of_two_with_one_id_at_the_same_time_one_is_taken(made):
    id = await made.start("twice")
    await made.settle()

    taken = await asyncio.gather(*(tell(made, id, "go", n, message="x") for n in range(5)))

    assert sorted(taken) == [False] * 4 + [True]
    assert (await kinds(made, id)).count("MessageReceived") == 1


async def test_one_that_ends_by_the_first_of_several_with_one_id_takes_one(made):
    id = await made.start("main")
    await made.settle()

    taken = await asyncio.gather(*(tell(made, id, "go", n, message="x") for n in range(5)))

    assert sorted(taken) == [False] * 4 + [True]


@LEAVES
async def test_what_is_listed_is_not_brought_into_memory(made):
    id = await made.start("main")
    await tell(made, id, "other", 1)
    await made.settle()

    assert await undelivered(made, id) == [1]
    assert id not in made.engine._parts.runs


async def test_a_mistake_while_a_step_tells_fails_the_step(made, monkeypatch):
    async def broken(*_):
        raise RuntimeError

    monkeypatch.setattr(made.engine.messages._identities, "run_of", broken)

    answer = await made.record(await made.start("teller", {"to": UNKNOWN, "n": 1}))

    assert answer["response"]["result"]["error"]["code"] == "InternalError"


async def test_an_id_that_was_taken_is_so_after_the_end(made):
    id = await made.start("main")
    await tell(made, id, "go", 1, message="x")
    await made.result(id)

    assert not await tell(made, id, "go", 1, message="x")
    with pytest.raises(ClosedError):
        await tell(made, id, "go", 1, message="y")


async def test_ids_go_with_their_execution(made):
    id = await made.start("main")
    await tell(made, id, "go", 1, message="x")
    await made.result(id)
    later = made.clock.now_ms() + 1

    await made.engine.messages.forget_ids("", 10, later)
    assert await stored(made, "told") == [f"/{id}/x"]

    del made.store._executions[id]
    assert await made.engine.messages.forget_ids("", 10, later) == ""
    await made.settle()
    assert await stored(made, "told") == []


# --- refused ----------------------------------------------------------------------------------


async def test_there_is_no_such_execution(made):
    with pytest.raises(NotFoundError):
        await tell(made, UNKNOWN, "go")
    with pytest.raises(NotFoundError):
        await made.engine.messages.undelivered(GUEST, UNKNOWN)


async def test_another_namespace_is_not_told(made):
    id = await made.start("main")

    with pytest.raises(NotFoundError):
        await made.engine.messages.tell("other", id, "go", None)


async def test_an_execution_that_has_ended_is_not_told(made):
    id = await made.start("main")
    await tell(made, id, "go")
    await made.result(id)

    with pytest.raises(ClosedError, match=f"Execution {id} has ended"):
        await tell(made, id, "go")
    assert await undelivered(made, id) == []


async def test_the_end_wins_over_a_message_that_nobody_hears(made):
    id = await made.start("never")
    await made.until(lambda: made.hands.invoked)
    await tell(made, id, "go", 1)
    made.hands.finish(made.hands.invoked[0].activation, {})

    assert await made.result(id) == {}
    assert (await kinds(made, id))[-2:] == ["MessageDropped", "ExecutionSucceeded"]
    assert await stored(made, "message") == []


@pytest.mark.parametrize(("name", "what"), [("later", "an express"), ("a", "a single action")])
async def test_some_receive_no_messages(made, name, what):
    id = await made.start(name)
    await made.until(lambda: made.hands.invoked)
    run = made.engine._parts.runs[id]
    run.origin = changed(run.origin, express=name == "later")

    with pytest.raises(ConflictError, match=what):
        await tell(made, id, "go")


@pytest.mark.parametrize(
    ("name", "payload", "message", "error"),
    [
        ("a/b", 1, "", InvalidError),
        ("$a", 1, "", InvalidError),
        ("", 1, "", InvalidError),
        ("a", 1, "x" * 256, InvalidError),
        ("a", 1, "\n", InvalidError),
        ("a", {1}, "", InvalidError),
        ("a", "x" * (1 << 20), "", TooLargeError),
    ],
)
async def test_what_is_malformed_or_too_large_is_refused(made, name, payload, message, error):
    id = await made.start("main")

    with pytest.raises(error):
        await tell(made, id, name, payload, message)


async def test_one_too_many_is_refused_unless_it_is_heard(made):
    id = await made.start("main")
    for n in range(10):
        await asyncio.gather(*(tell(made, id, "x", n) for _ in range(1000)))

    with pytest.raises(TooManyMessagesError, match="10000 messages"):
        await tell(made, id, "x")
    await tell(made, id, "go", "yes")

    assert await made.result(id) == {"value": "yes"}


# --- told by a step ---------------------------------------------------------------------------


async def test_a_step_tells_another_execution(made):
    id = await made.start("main")

    answer = await made.run("teller", {"to": id, "n": 7})

    assert answer["executionId"] == id
    assert await made.result(id) == {"n": 7}


@pytest.mark.parametrize("name", ["unknown", "ended"])
async def test_a_step_hears_that_it_cannot_tell(made, name):
    id = UNKNOWN
    if name == "ended":
        id = await made.start("main")
        await tell(made, id, "go")
        await made.result(id)

    answer = await made.record(await made.start("teller", {"to": id, "n": 7}))

    code = {"unknown": "NotFound", "ended": "Closed"}[name]
    assert answer["response"]["result"]["error"]["code"] == code


async def test_an_execution_tells_itself(made):
    await made.put(loner=composer.sequence("a", composer.tell(path("$.id"), "go", 7), GO))
    id = await made.start("loner")
    await made.until(lambda: made.hands.invoked)

    made.hands.finish(made.hands.invoked[0].activation, {"id": id})

    assert await made.result(id) == {"value": 7}


async def test_an_execution_tells_one_that_it_started(made):
    await made.put(
        boss=composer.sequence(
            composer.asynchronous(composer.sequence(GO, "b")),
            composer.tell(path("$.activationId"), "go", {"n": 1}),
        )
    )

    told = await made.run("boss")

    assert await made.result(told["executionId"]) == {"b": {"n": 1}}


async def test_a_store_that_does_not_commit_delays_a_step_that_tells():
    settings = EngineSettings(
        pacing=Pacing(commit_deadline_s=0.02, commit_retry_s=0.01, visit_retry_s=0.01)
    )
    store = MemoryStore()
    made = await begun(store, ANSWERS, settings=settings)
    await made.put(
        a=None, main=GO, teller=composer.sequence("a", composer.tell(path("$.to"), "go", 1))
    )
    id, teller = await made.start("main"), await made.start("teller")
    await made.until(lambda: made.hands.invoked)
    made.engine._tick.healthy = False  # as after a commit that takes too long
    made.hands.finish(made.hands.invoked[0].activation, {"to": id})
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    made.engine._tick.healthy = True

    assert await made.result(id) == {"value": 1}
    assert (await made.result(teller))["executionId"] == id
    await made.kill()


# --- crashes ----------------------------------------------------------------------------------


async def test_messages_wait_over_a_restart(tmp_path):
    async with SqliteStore(tmp_path) as store:
        made = await begun(store, ANSWERS)
        await made.put(a=None, later=composer.sequence("a", GO, GO))
        id = await made.start("later")
        await made.until(lambda: made.hands.invoked)
        for n in range(3):
            await tell(made, id, "go", n, message=f"m{n}")
        again = await restarted(made)
        await again.until(lambda: again.hands.invoked)

        assert await undelivered(again, id) == [0, 1, 2]
        assert not await tell(again, id, "go", 9, message="m1")
        again.hands.finish(again.hands.invoked[0].activation, {})

        assert await again.result(id) == {"value": 1}
        await again.kill()


async def test_who_waited_first_hears_first_when_the_clock_is_set_back_at_a_restart():
    clock = StandingClock()
    made = await begun(MemoryStore(), ANSWERS, clock=clock)
    await made.put(a=None, main=composer.parallel(composer.sequence("a", GO), GO))
    id = await made.start("main")
    await made.until(lambda: made.hands.invoked)
    await made.settle()

    again = await restarted(made, seconds=-60)
    await again.until(lambda: again.hands.invoked)
    clock.ms += 1
    again.hands.finish(again.hands.invoked[0].activation, {})
    await again.settle()
    for n in range(2):
        await tell(again, id, "go", n)

    assert await again.result(id) == {"value": [{"value": 1}, {"value": 0}]}
    await again.kill()


async def test_a_redrive_has_the_messages_that_were_there(made):
    id = await made.start("kept")
    await made.until(lambda: made.hands.invoked)
    await tell(made, id, "go", 1)
    await tell(made, id, "more", 2)
    made.hands.finish(made.hands.invoked[0].activation, {})
    await made.until(lambda: len(made.hands.invoked) == 2)
    made.hands.finish(made.hands.invoked[1].activation, BROKEN)
    await made.record(id)
    await made.settle()

    await made.engine.redrive(GUEST, id)
    await made.until(lambda: len(made.hands.invoked) == 3)

    assert await undelivered(made, id) == [2]
    assert len(await stored(made, "message")) == 1
    made.hands.finish(made.hands.invoked[2].activation, {"done": True})
    await made.engine.wait(GUEST, id, 20)
    assert await made.result(id) == {"done": True}


PARTS = {
    "waits": composer.sequence("b", GO, "b"),
    "branches": composer.parallel(GO, composer.sequence("b", GO), receive("more")),
    "both": receive(composer.all_of("go", "more"), timeout=3600),
    "late": composer.sequence(
        "b", composer.wait(0.001), receive("go", early="keep"), receive("more")
    ),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", PARTS)
async def test_whatever_commit_it_dies_at(name, when):
    """A sender asks again until it hears that a message is durable, with the same id."""
    at, expected = 0, None
    while True:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, ANSWERS, clock=FastClock())
        await made.put(b=None, main=PARTS[name])
        id = await made.start("main")
        store.armed = at >= 0 and expected is not None
        sending = asyncio.ensure_future(send(made, id))
        dead = asyncio.ensure_future(store.dead.wait())
        ended = asyncio.ensure_future(made.record(id))
        await asyncio.wait((dead, ended), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (sending, dead, ended):
            task.cancel()
        await made.kill()
        again = await begun(kept, ANSWERS, clock=FastClock())
        await send(again, id)
        result = await again.result(id)
        history = await kinds(again, id)
        await again.kill()
        assert result == (expected or result)
        assert history.count("MessageReceived") <= 3
        if expected is not None and not died:
            break
        at, expected = at + (expected is not None), result
    assert at >= 2


async def send(made, id):
    for number, name in enumerate(("go", "more", "go")):
        try:
            await tell(made, id, name, number, message=f"m{number}")
        except ClosedError:
            return


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_step_tells_once_whatever_commit_it_dies_at(when):
    at, died = 0, True
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, ANSWERS, clock=FastClock())
        await made.put(
            b=None,
            main=composer.sequence(GO, GO),
            teller=composer.sequence("b", composer.tell(path("$.b.to"), "go", 1)),
        )
        id = await made.start("main")
        await made.settle()
        store.armed = True
        starting = asyncio.ensure_future(made.start("teller", {"to": id}))
        dead = asyncio.ensure_future(store.dead.wait())
        told = asyncio.ensure_future(_told(made, id))
        await asyncio.wait((dead, told), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (starting, dead, told):
            task.cancel()
        await made.kill()
        again = await begun(kept, ANSWERS, clock=FastClock())
        await again.settle()
        for row in await again.executions():
            if row.name == "teller":
                assert (await again.result(row.id))["executionId"] == id
                assert (await kinds(again, id)).count("MessageReceived") == 1
        await again.kill()
        at += 1
    assert at >= 3


async def _told(made, id):
    while True:
        rows = await made.executions()
        if any(row.name == "teller" and row.ended_ms is not None for row in rows):
            return
        await anyio.lowlevel.checkpoint()
