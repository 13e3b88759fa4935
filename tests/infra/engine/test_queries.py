"""Queries of executions: what was acknowledged is seen, what is seen is durable, and nothing is written."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.actions.things import StandingClock
from tests.kit.engine.callbacks import CALLBACK
from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.faulty import FaultyStore
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import (
    ClosedError,
    ExecutionRow,
    GoneError,
    InvalidQueryError,
    NoSuchQueryError,
    NotFoundError,
    Query,
    UnavailableError,
)
from xingqiao.composer import Failure, Success, path, var
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.stores import MemoryStore

GUEST = "guest"
UNKNOWN = "0" * 32
BUILT_IN = ["$fibers", "$inbox", "$variables"]
SEEN = {"done": var("done"), "at": path("$.n", default=None)}
ROUND = composer.sequence("ask", composer.assign(done=path("$.n")))
COUNT = composer.queries(composer.let({"done": 0}, composer.repeat(40, ROUND)), seen=SEEN)
TWO = composer.queries(composer.let({"done": 0}, "a", composer.assign(done=1), "b"), seen=SEEN)
MORE = {
    "bad": composer.queries(composer.let({"done": 3}, "fails"), seen=SEEN),
    "sleeps": composer.queries(composer.let({"done": 3}, composer.wait(60), "b"), seen=SEEN),
}
PACING = EngineSettings(
    pacing=Pacing(commit_deadline_s=0.01, commit_grace_s=0.01, commit_retry_s=0.001)
)


async def asked(made, id, name="seen", **options):
    return (await made.engine.queries.answer(GUEST, id, name, **options)).value


async def held(made, number=1):
    """Waits until so many steps are held, and all that happened is durable."""
    await made.until(lambda: len(made.hands.invoked) == number)
    await made.settle()


@pytest.fixture
async def made():
    async with world(
        answers={"a": HELD, "b": {"n": 7}, "fails": Failure("Down", "no luck")}
    ) as made:
        await made.put(
            a=None, b=None, fails=None, main=TWO, plain=composer.sequence("b"),
            **MORE, outer=composer.queries(composer.let({"done": 9}, "main"), seen=SEEN),
        )  # fmt: skip
        yield made


# --- what they see ------------------------------------------------------------------------------


async def test_an_execution_answers_under_way_and_after_its_end(made):
    id = await made.start("main", {"n": 5})
    await held(made)

    assert await asked(made, id) == {"done": 0, "at": 5}
    made.hands.finish(made.hands.invoked[0].activation, {"n": 6})
    await made.result(id)

    assert await asked(made, id) == {"done": 1, "at": 7}
    assert await made.engine.queries.answer(GUEST, id, "seen") == (
        {"done": 1, "at": 7}, "succeeded", "/guest/main", GUEST,
    )  # fmt: skip


async def test_a_nested_one_answers_for_itself(made):
    id = await made.start("outer", {"n": 5})
    await held(made)
    (child,) = [row.id for row in await made.executions() if row.id != id]

    assert await asked(made, id) == {"done": 9, "at": 5}
    assert await asked(made, child) == {"done": 0, "at": 5}


async def test_every_execution_has_the_queries_that_are_built_in(made):
    id = await made.start("main")
    await held(made)

    (fiber,) = await asked(made, id, "$fibers")
    assert (fiber["waits"], fiber["action"]) == ("action", "/guest/a")
    assert await asked(made, id, "$variables") == {"done": 0}
    assert await asked(made, id, "$inbox") == []
    assert await made.engine.queries.names(GUEST, id) == ["seen", *BUILT_IN]


async def test_after_the_end_those_that_are_built_in_answer_from_what_is_kept(made):
    id, plain = await made.start("bad"), await made.start("plain")
    await made.result(id)
    await made.result(plain)

    assert await asked(made, id) == {"done": 3, "at": None}
    assert [await asked(made, id, name) for name in BUILT_IN] == [[], [], {"done": 3}]
    assert await made.engine.queries.names(GUEST, id) == ["seen", *BUILT_IN]
    assert [await asked(made, plain, name) for name in BUILT_IN[:2]] == [[], []]
    assert await made.engine.queries.names(GUEST, plain) == BUILT_IN
    with pytest.raises(GoneError, match="only if it declares queries"):
        await asked(made, plain, "$variables")


async def test_a_dormant_one_is_answered_from_the_store_and_stays_there(made):
    id = await made.start("sleeps", {"n": 4})
    await made.until(lambda: id not in made.engine._parts.runs)

    assert await asked(made, id) == {"done": 3, "at": 4}
    assert await made.engine.queries.names(GUEST, id) == ["seen", *BUILT_IN]
    (fiber,) = await asked(made, id, "$fibers")
    assert fiber["waits"] == "timer"
    assert id not in made.engine._parts.runs


async def test_one_that_is_terminated_answers_from_where_it_was(made):
    id = await made.start("main", {"n": 5})
    await held(made)

    await made.engine.cancel(GUEST, id, terminate=True)

    assert await asked(made, id) == {"done": 0, "at": None}


async def test_one_that_is_redriven_answers_from_where_it_stands_again(made):
    made.hands.answers["b"] = Failure("Down", "no luck")
    id = await made.start("main", {"n": 5})
    await held(made)
    made.hands.finish(made.hands.invoked[0].activation, {"n": 6})
    await made.result(id)
    assert (await asked(made, id))["done"] == 1

    made.hands.answers["b"] = HELD
    await made.engine.redrive(GUEST, id)
    await held(made, 3)

    assert await asked(made, id) == {"done": 1, "at": 6}
    assert await asked(made, id, reject="closed") == {"done": 1, "at": 6}


async def test_messages_that_wait_are_seen_until_they_are_received():
    part = composer.sequence(composer.receive("go"), composer.receive("stop"))
    async with world() as made:
        await made.put(main=composer.queries(part, last=path("$.n", default=None)))
        id = await made.start("main")
        await made.settle()

        await made.engine.messages.tell(GUEST, id, "stop", {"n": 2}, "m-1")
        (message,) = await asked(made, id, "$inbox")
        assert (message["name"], message["id"], message["payload"]) == ("stop", "m-1", {"n": 2})
        await made.engine.messages.tell(GUEST, id, "go", {"n": 1})

        assert await asked(made, id, "$inbox") == []
        assert await asked(made, id, "last") == 2
        assert await made.result(id) == {"n": 2}


# --- refused ------------------------------------------------------------------------------------


async def test_a_wrong_name_is_answered_with_the_right_ones(made):
    id = await made.start("main")
    await held(made)
    ended = await made.start("plain")
    await made.result(ended)

    with pytest.raises(NoSuchQueryError, match=r"it has seen, \$fibers, \$inbox, \$variables"):
        await asked(made, id, "saw")
    with pytest.raises(NoSuchQueryError, match=r"it has \$fibers"):
        await asked(made, ended, "seen")


@pytest.mark.parametrize("name", ["main", "sleeps", "plain"])
async def test_an_execution_of_another_namespace_is_not_there(made, name):
    id = await made.start(name)
    await made.settle()

    for call in (
        made.engine.queries.answer("other", id, "$fibers"),
        made.engine.queries.names("other", id),
    ):
        with pytest.raises(NotFoundError):
            await call
    with pytest.raises(NotFoundError):
        await asked(made, UNKNOWN)


async def test_an_answer_of_one_that_has_ended_can_be_refused(made):
    good, bad = await made.start("plain"), await made.start("bad")
    await made.result(good)
    await made.result(bad)

    assert await asked(made, good, "$fibers", reject="failed") == []
    with pytest.raises(ClosedError, match="it has failed"):
        await asked(made, bad, reject="failed")
    with pytest.raises(ClosedError, match="it has succeeded"):
        await asked(made, good, "$fibers", reject="closed")
    with pytest.raises(InvalidQueryError, match="give closed or failed"):
        await asked(made, good, reject="open")


async def test_an_answer_that_is_too_large_is_not_kept_and_the_others_are(made):
    big = composer.queries(
        composer.let({"x": "x" * 40_000}, "b"), big=[var("x"), var("x")], n=path("$.n")
    )
    await made.put(big=big)
    id = await made.start("big")
    await made.result(id)

    assert await asked(made, id, "n") == 7
    assert await asked(made, id, "$variables") == {"x": "x" * 40_000}
    with pytest.raises(GoneError, match="more than 65536 bytes together"):
        await asked(made, id, "big")


async def test_an_answer_over_the_bound_of_values_is_refused(made):
    large = {"x": "x" * 300_000}
    await made.put(large=composer.queries(composer.let(large, "a"), all=[var("x")] * 4))
    id = await made.start("large")
    await held(made)

    with pytest.raises(InvalidQueryError, match="'all' cannot be answered: "):
        await asked(made, id, "all")


# --- nothing is written, and what is seen is durable ----------------------------------------------


async def test_a_query_adds_no_commit_and_no_entry(made):
    id = await made.start("main")
    await held(made)
    before = (
        made.engine.gauges()["commits"],
        await made.engine.records.history(GUEST, id, after=0, limit=99),
    )

    for name in ("seen", *BUILT_IN):
        await asked(made, id, name)

    after = (
        made.engine.gauges()["commits"],
        await made.engine.records.history(GUEST, id, after=0, limit=99),
    )
    assert after == before


class SlowStore:
    """A store whose commits take as many turns of the event loop as it is told."""

    def __init__(self, turns=0):
        self._store, self.turns = MemoryStore(), turns

    def __getattr__(self, name):
        return getattr(self._store, name)

    async def commit(self, writes):
        for _ in range(self.turns):
            await anyio.lowlevel.checkpoint()
        return await self._store.commit(writes)


async def stored(made, id):
    """What the store alone says, as another server would find it."""
    (row,) = await made.store.find(ExecutionRow, Query(namespace=GUEST, id=id))
    return (await made.engine.queries._restoring.restored(await made.store.load(row.id))).execution


@given(
    st.lists(st.sampled_from(["answer", "ask", "turn", "turns"]), max_size=60), st.integers(0, 7)
)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_was_acknowledged_is_seen_and_what_is_seen_is_durable(operations, turns):
    """Answers to steps and queries in any interleaving, with commits that take time: some 2,000 of them."""

    async def interleaved():
        store = SlowStore()
        made = await begun(store, {"ask": {}})
        await made.put(ask=CALLBACK, count=COUNT)
        id = await made.start("count")
        await held(made)
        store.turns = turns
        acknowledged, given = 0, 0
        answering = asyncio.Event()

        async def answer():
            nonlocal acknowledged, given
            given += 1
            number = given
            await made.engine.answering.answer_step(GUEST, id, None, Success({"n": number}))
            acknowledged = max(acknowledged, number)
            answering.clear()

        async def ask():
            least = acknowledged
            seen = (await asked(made, id))["done"]
            assert least <= seen <= given
            assert seen <= (await stored(made, id)).seen.variables["done"]

        async with asyncio.TaskGroup() as tasks:
            for operation in operations:
                if operation == "answer" and not answering.is_set() and waits(made, id):
                    answering.set()
                    tasks.create_task(answer())
                elif operation == "ask":
                    tasks.create_task(ask())
                for _ in range({"turn": 1, "turns": 5}.get(operation, 0)):
                    await anyio.lowlevel.checkpoint()
        assert (await asked(made, id))["done"] == acknowledged
        await made.kill()

    asyncio.run(interleaved())


def waits(made, id):
    """True if the execution waits for an answer."""
    return made.engine._parts.runs.get(id) is None or not made.engine._parts.runs[id].invocations


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(6))
async def test_a_crash_takes_nothing_back_that_a_query_has_shown(at, when):
    """The process dies at each commit of three rounds and of the end, while queries are asked."""
    store = DyingStore(MemoryStore(), at=at, when=when)
    made = await begun(store, {"ask": {}})
    rounds = composer.let({"done": 0}, composer.repeat(3, ROUND))
    await made.put(ask=CALLBACK, main=composer.queries(rounds, seen=SEEN))
    id = await made.start("main")
    await held(made)
    store.armed, shown = True, [0]

    async def answer():
        for number in (1, 2, 3):
            await made.until(lambda: waits(made, id))
            await made.engine.answering.answer_step(GUEST, id, None, Success({"n": number}))
            await held(made, min(number + 1, 3))

    async def ask():
        while True:
            shown.append((await asked(made, id))["done"])
            await anyio.lowlevel.checkpoint()

    working = [asyncio.ensure_future(answer()), asyncio.ensure_future(ask())]
    await asyncio.wait(
        [working[0], asyncio.ensure_future(store.dead.wait())], return_when="FIRST_COMPLETED"
    )
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    made.store = store._store
    again = await restarted(made)

    assert shown == sorted(shown)
    assert (await asked(again, id))["done"] >= shown[-1]
    await again.kill()


async def test_the_end_is_seen_as_soon_as_it_is_durable():
    store = SlowStore()
    made = await begun(store, {"ask": {}})
    await made.put(ask=CALLBACK, main=composer.queries(composer.let({"done": 0}, ROUND), seen=SEEN))
    id = await made.start("main")
    await held(made)
    store.turns = 30

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(made.engine.answering.answer_step(GUEST, id, None, Success({"n": 3})))
        await made.until(lambda: id in made.engine._parts.ended)
        given = await made.engine.queries.answer(GUEST, id, "seen")

    assert given[:2] == ({"done": 3, "at": 3}, "succeeded")
    await made.kill()


async def test_a_store_that_cannot_commit_keeps_nobody_waiting_and_shows_nothing():
    store = FaultyStore(MemoryStore(), at=0, times=None)
    made = await begun(store, {"ask": {}}, settings=PACING)
    await made.put(ask=CALLBACK, count=COUNT)
    id = await made.start("count")
    await held(made)
    store.armed = True

    async def answer():
        with pytest.raises(UnavailableError):
            await made.engine.answering.answer_step(GUEST, id, None, Success({"n": 1}))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(answer())
        await made.until(lambda: not made.engine._tick.idle)
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await asked(made, id)
        store.room = True
    await made.until(lambda: made.engine.healthy)

    assert (await asked(made, id))["done"] == 1
    await made.kill()


async def test_a_store_that_is_slow_is_waited_for():
    store = SlowStore()
    made = await begun(store, {"ask": {}}, clock=StandingClock())
    await made.put(ask=CALLBACK, count=COUNT)
    id = await made.start("count")
    await held(made)
    store.turns = 100

    async with asyncio.TaskGroup() as tasks:
        answer = tasks.create_task(
            made.engine.answering.answer_step(GUEST, id, None, Success({"n": 1}))
        )
        await made.until(lambda: not made.engine._tick.idle)
        seen = await asked(made, id)

    assert answer.done()
    assert seen["done"] == 1
    await made.kill()


async def test_another_process_answers_as_the_one_before_did():
    made = await begun(answers={"a": HELD, "fails": Failure("Down", "no luck")})
    await made.put(a=None, b=None, fails=None, main=TWO, **MORE)
    first, second = await made.start("sleeps", {"n": 4}), await made.start("main", {"n": 5})
    ended = await made.start("bad")
    await made.result(ended)
    await held(made, 2)
    before = [await asked(made, id) for id in (first, second, ended)]

    again = await restarted(made)

    assert [await asked(again, id) for id in (first, second, ended)] == before
    await again.kill()
