"""A message and the start of its execution in one commit."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.infra_clock import FastClock
from tests.kit.engine.mail import GUEST, kinds, tell, undelivered
from xingqiao import composer
from xingqiao.actions import (
    AlreadyCompletedError,
    Call,
    InvalidError,
    InvalidIdError,
    NotFoundError,
    StartOptions,
)
from xingqiao.composer import Name, path, receive
from xingqiao.infra.stores import MemoryStore

GO = receive("go")
ANSWERS = {"a": HELD, "b": {"b": 1}}


@pytest.fixture
async def made():
    async with world(answers=ANSWERS) as made:
        await made.put(
            a=None, main=GO, later=composer.sequence("a", GO), twice=composer.sequence(GO, GO)
        )
        yield made


async def told(made, name="main", payload=None, message="", **options):
    call = Call(
        name=Name(GUEST, None, name),
        params={},
        namespace=GUEST,
        options=StartOptions(**{"id": "order-7", **options}),
    )
    return await made.engine.messages.tell_or_start(call, "go", payload, message)


async def test_it_starts_and_the_message_is_its_first_entry(made):
    before = made.engine.gauges()["commits"]

    invoked, new = await told(made, "later", 7)

    assert (invoked.started, new) == (True, True)
    assert made.engine.gauges()["commits"] == before + 1
    assert (await kinds(made, invoked.activation))[:2] == ["ExecutionStarted", "MessageReceived"]
    assert await undelivered(made, invoked.activation) == [7]


async def test_it_may_begin_and_end_in_one_commit(made):
    invoked, _ = await told(made, payload={"n": 1})

    assert await made.result(invoked.activation) == {"n": 1}


async def test_an_open_one_is_told(made):
    first, _ = await told(made, "later", 1)

    second, new = await told(made, "main", 2)

    assert (second.activation, second.started, new) == (first.activation, False, True)
    assert await undelivered(made, first.activation) == [1, 2]


async def test_one_that_has_ended_is_followed_by_another(made):
    first, _ = await told(made, payload=1)
    await made.result(first.activation)

    second, _ = await told(made, payload=2)

    assert second.activation != first.activation
    assert await made.result(second.activation) == {"value": 2}


async def test_one_that_has_ended_may_be_the_last(made):
    first, _ = await told(made, payload=1)
    await made.result(first.activation)

    with pytest.raises(AlreadyCompletedError):
        await told(made, payload=2, on_closed="reject")


async def test_two_at_once_make_one_run(made):
    answers = await asyncio.gather(*(told(made, "twice", n, message=f"m{n}") for n in range(2)))

    assert len({invoked.activation for invoked, _ in answers}) == 1
    assert sorted(invoked.started for invoked, _ in answers) == [False, True]
    assert await made.result(answers[0][0].activation) == {"value": 1}


async def test_a_message_with_an_id_starts_once_while_it_is_open(made):
    first, _ = await told(made, "twice", 1, message="x")

    again, new = await told(made, "twice", 2, message="x")

    assert (again.activation, new) == (first.activation, False)
    assert not await tell(made, first.activation, "go", 3, message="x")


async def test_a_message_that_was_heard_starts_nothing_when_it_is_sent_again(made):
    first, _ = await told(made, payload=1, message="x")
    await made.result(first.activation)

    again, new = await told(made, payload=1, message="x")

    assert (again.activation, again.started, new) == (first.activation, False, False)


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("main", {"id": ""}, InvalidIdError),
        ("main", {"id": "0" * 32}, InvalidIdError),
        ("a", {}, InvalidError),
        ("nothing", {}, NotFoundError),
    ],
)
async def test_what_cannot_start_or_be_told_is_refused(made, name, options, error):
    with pytest.raises(error):
        await told(made, name, **options)
    assert await made.executions() == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_whatever_commit_it_dies_at_there_is_no_run_without_its_message(when):
    at, died = 0, True
    while died:
        kept = MemoryStore()
        store = DyingStore(kept, at, when)
        made = await begun(store, ANSWERS, clock=FastClock())
        await made.put(b=None, main=composer.sequence(GO, "b"))
        store.armed = True
        asking = asyncio.ensure_future(told(made, payload=1, message="x"))
        dead = asyncio.ensure_future(store.dead.wait())
        ended = asyncio.ensure_future(_ended(made, asking))
        await asyncio.wait((dead, ended), return_when=asyncio.FIRST_COMPLETED)
        died = store.dead.is_set()
        for task in (dead, ended, asking):
            task.cancel()
        await made.kill()
        again = await begun(kept, ANSWERS, clock=FastClock())
        for row in await again.executions():
            assert (await kinds(again, row.id))[1] == "MessageReceived"
            assert await again.result(row.id) == {"b": 1}
        await again.kill()
        at += 1
    assert at >= 2


async def _ended(made, asking):
    invoked, _ = await asking
    await made.record(invoked.activation)


async def test_a_child_is_told_by_its_id_and_tells_its_parent(made):
    await made.put(
        kid=composer.sequence(GO, composer.tell("boss-1", "done", {"n": path("$.n")})),
        boss=composer.sequence(
            composer.child("kid", {}, id="kid-1", wait=False),
            composer.tell("kid-1", "go", {"n": 7}),
            receive("done"),
        ),
    )
    call = Call(
        name=Name(GUEST, None, "boss"),
        params={},
        namespace=GUEST,
        options=StartOptions(id="boss-1"),
    )

    boss = (await made.engine.invoke(call)).activation

    assert await made.result(boss) == {"n": 7}


async def test_one_that_is_told_before_its_start_is_answered_hears_it(made):
    """The id is the caller's, so others may know it before the caller has its answer."""
    starting = asyncio.ensure_future(told(made, "later", "first"))
    await anyio.lowlevel.checkpoint()
    second = await told(made, "later", "second")

    first = await starting

    assert first[0].activation == second[0].activation
    assert await undelivered(made, first[0].activation) == ["first", "second"]
