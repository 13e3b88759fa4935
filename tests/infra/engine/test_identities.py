"""Starts with ids of their users': one open run for an id, whatever happens at the same time or between."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from tests.kit.engine.faulty import FaultyStore
from xingqiao import composer
from xingqiao.actions import (
    AlreadyCompletedError,
    AlreadyStartedError,
    Call,
    ConflictError,
    Document,
    Expiry,
    InvalidError,
    InvalidIdError,
    NotFoundError,
    ReusedKeyError,
    StartOptions,
    UnavailableError,
    Write,
)
from xingqiao.composer import CANCELLED, Failure, Name, Success
from xingqiao.infra.engine import EngineSettings, Pacing
from xingqiao.infra.engine.calls import Beside
from xingqiao.infra.engine.identities import IDS
from xingqiao.infra.stores import MemoryStore

ID = "order-7"
DOWN = Failure("Down", {"code": "Down", "message": "no luck"})
STARTED, COMPLETED = AlreadyStartedError, AlreadyCompletedError


def call(name="main", id=ID, token="", **more):
    options = {key: more.pop(key) for key in ("on_open", "on_closed") if key in more}
    return Call(
        name=Name.parse(f"/guest/{name}"), params=more, namespace="guest",
        idempotency_key=token, options=StartOptions(id=id, **options),
    )  # fmt: skip


async def put(made):
    made.hands.answers |= {"a": lambda p: {"n": p.get("n", 0) + 1}, "bad": DOWN, "hold": HELD}
    await made.put(
        a=None, bad=None, hold=None, main=composer.sequence("a"), fails=composer.sequence("bad"),
        long=composer.sequence("hold"), tidy=composer.ensure("hold", "hold"),
    )  # fmt: skip
    return made


@pytest.fixture
async def made():
    async with world() as made:
        yield await put(made)


async def start(made, *args, **more):
    return (await made.engine.invoke(call(*args, **more))).activation


async def status(made, run):
    return (await made.engine.records.execution("guest", run))["status"]


async def succeeded(made, name="main"):
    run = await start(made, name)
    await made.settle()
    return run


async def failed(made, name="fails"):
    return await succeeded(made, name)


async def cancelled(made, name="long", *, terminate=False):
    run = await start(made, name)
    await made.settle()
    await made.engine.cancel("guest", run, terminate=terminate)
    await made.settle()
    return run


async def expired(made):
    run = await succeeded(made)
    later_ms = made.engine.now_ms + 1
    await made.engine.commit(Write(expired=Expiry(later_ms, 100, now_ms=later_ms)))
    assert await made.store.load(run) is None
    return run


PAST = {
    "succeeded": succeeded,
    "succeeded alone": partial(succeeded, name="a"),
    "failed": failed,
    "failed alone": partial(failed, name="bad"),
    "cancelled": cancelled,
    "cancelled alone": partial(cancelled, name="hold"),
    "terminated": partial(cancelled, terminate=True),
    "terminated alone": partial(cancelled, name="hold", terminate=True),
    "expired": expired,
}


@pytest.mark.parametrize("on_open", ["fail", "use", "same", "terminate"])
@pytest.mark.parametrize("on_closed", ["allow", "allow_failed", "reject"])
@pytest.mark.parametrize("past", PAST)
async def test_each_policy_after_each_end(made, past, on_open, on_closed):
    first = await PAST[past](made)
    free = past == "expired" or on_closed == "allow"
    free = free or (on_closed == "allow_failed" and "succeeded" not in past)

    asked = call(on_open=on_open, on_closed=on_closed)
    if free:
        second = await made.engine.invoke(asked, wait_s=20)
        assert second.started
        assert second.ended.outcome == Success({"n": 1})
        assert second.activation != first
        assert await made.engine.identities.run_of("guest", ID) == second.activation
    else:
        with pytest.raises(COMPLETED) as refused:
            await made.engine.invoke(asked, wait_s=20)
        assert refused.value.run == first
        assert await made.engine.identities.run_of("guest", ID) == first


@pytest.mark.parametrize("on_closed", ["allow", "allow_failed", "reject"])
@pytest.mark.parametrize("name", ["long", "hold"])
@pytest.mark.parametrize("state", ["running", "paused", "dormant"])
async def test_each_policy_while_a_run_is_open(made, state, name, on_closed):
    await made.put(sleeper=composer.sequence(composer.wait(3600)))
    name = "sleeper" if state == "dormant" else name
    first = await start(made, name)
    if state == "paused" and name == "long":
        await made.engine.pauses.pause("guest", first)
    await made.settle()
    asked = partial(call, name, on_closed=on_closed)

    with pytest.raises(STARTED) as refused:
        await made.engine.invoke(asked())
    used = await made.engine.invoke(asked(on_open="use", n=5))
    same = await made.engine.invoke(asked(on_open="same"))
    with pytest.raises(STARTED, match="with another action or input"):
        await made.engine.invoke(asked(on_open="same", n=5))
    with pytest.raises(STARTED, match="with another action or input"):
        await made.engine.invoke(call("main", on_open="same", on_closed=on_closed))

    assert refused.value.run == used.activation == same.activation == first
    assert used.used
    assert same.used
    replaced = await made.engine.invoke(asked(on_open="terminate"))
    await made.settle()
    assert replaced.started
    assert replaced.activation != first
    assert await made.engine.identities.run_of("guest", ID) == replaced.activation
    assert await made.engine.calls.outcome("guest", first, 20) == Failure(
        CANCELLED, {"code": CANCELLED, "message": "terminated"}
    ) or name == "hold"  # fmt: skip


async def test_a_run_that_is_used_is_waited_for(made):
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(made.engine.invoke(call("long"), wait_s=20))
        await made.until(lambda: made.hands.invoked)
        second = tasks.create_task(made.engine.invoke(call(on_open="use"), wait_s=20))
        await made.settle()
        made.hands.finish(made.hands.invoked[0].activation, {"done": True})

    assert first.result().ended.outcome == second.result().ended.outcome == Success({"done": True})
    assert (first.result().used, second.result().used) == (False, True)


async def test_an_id_is_of_a_namespace_whatever_the_action_is(made):
    first = await start(made, "long")

    with pytest.raises(STARTED):
        await start(made, "hold")
    elsewhere = Call(
        name=Name.parse("/guest/main"), params={}, namespace="other", options=StartOptions(id=ID)
    )

    assert await made.engine.identities.run_of("guest", ID) == first
    with pytest.raises(NotFoundError):
        await made.engine.identities.run_of("other", ID)
    assert elsewhere.namespace == "other"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (partial(call, id="a\nb"), InvalidIdError),
        (partial(call, id="0" * 32), InvalidIdError),
        (partial(call, on_open="kill"), InvalidError),
        (partial(call, id="", token="t", on_open="use"), InvalidError),
        (partial(call, "nobody"), NotFoundError),
    ],
)
async def test_a_start_that_cannot_be_leaves_nothing(made, asked, error):
    with pytest.raises(error):
        await made.engine.invoke(asked())

    assert await made.executions() == []
    assert [document async for document in made.store.documents(IDS)] == []


# --- at the same time ----------------------------------------------------------------------------


@pytest.mark.parametrize("on_open", ["fail", "use", "same"])
async def test_of_many_starts_at_once_one_begins(made, on_open):
    asked = [made.engine.invoke(call("long", on_open=on_open)) for _ in range(20)]
    found = await asyncio.gather(*asked, return_exceptions=True)

    begun_ = [one for one in found if not isinstance(one, Exception) and one.started]
    others = [one for one in found if one not in begun_]
    assert len(begun_) == 1
    assert len(await made.executions()) == 1
    if on_open == "fail":
        assert {type(one) for one in others} == {STARTED}
        assert {one.run for one in others} == {begun_[0].activation}
    else:
        assert {(one.activation, one.used) for one in others} == {(begun_[0].activation, True)}


async def test_of_starts_at_once_that_replace_one_another_one_is_left(made):
    asked = [made.engine.invoke(call("long", on_open="terminate")) for _ in range(10)]
    found = await asyncio.gather(*asked)
    await made.settle()

    rows = await made.executions()
    assert len({one.activation for one in found}) == len(rows) == 10
    assert [row.id for row in rows if row.status == "running"] == [
        await made.engine.identities.run_of("guest", ID)
    ]


@pytest.mark.parametrize("token", ["", "t-1"])
async def test_of_starts_at_once_on_two_servers_one_begins(token):
    """The store decides: each server has read that there is none."""
    store = Halting(MemoryStore())
    one, two = await put(await begun(store)), await begun(store, {"hold": HELD})
    await two.engine.registry.load()
    async with asyncio.TaskGroup() as tasks:
        store.commits_wait()
        starts = [
            tasks.create_task(made.engine.invoke(call("long", on_open="use", token=token)))
            for made in (one, two)
        ]
        await one.until(lambda: store.waiting == 2)
        store.go_on()
    found = [task.result() for task in starts]
    for made in (one, two):
        await made.settle()

    assert len({each.activation for each in found}) == 1
    assert sorted(each.started for each in found) == [False, True]
    assert [row.status for row in await one.executions()] == ["running"]
    assert len([*one.hands.invoked, *two.hands.invoked]) == 1
    assert len(one.engine._parts.runs) + len(two.engine._parts.runs) == 1
    assert sum(made.engine._bounds.live for made in (one, two)) == 1
    for made in (one, two):
        await made.kill()


class Halting:
    """A store that can hold commits back."""

    def __init__(self, store):
        self._store, self._open, self.waiting = store, asyncio.Event(), 0
        self._open.set()

    def __getattr__(self, name):
        return getattr(self._store, name)

    def commits_wait(self):
        self._open.clear()

    def go_on(self):
        self._open.set()

    async def commit(self, writes):
        if not self._open.is_set():
            self.waiting += 1
            await self._open.wait()
        return await self._store.commit(writes)


async def test_one_that_another_server_has_started_wide_is_withdrawn_with_all_below_it(made):
    """More begins than one event may start at once: what is put off gathers in a later unit of the commit."""
    await made.put(wide=composer.parallel(*["main"] * 100))
    halting = made.engine._tick._store = Halting(made.store)
    async with asyncio.TaskGroup() as tasks:
        halting.commits_wait()
        task = tasks.create_task(made.engine.invoke(call("wide", on_open="use")))
        await made.until(lambda: halting.waiting)
        theirs = made.engine.identities.documents("guest", ID, "f" * 32, 0)
        await made.store.commit([Write(documents=theirs)])
        halting.go_on()
    await made.settle()

    again = task.result()
    rows = await made.executions()
    assert {row.status for row in rows} == {"succeeded"}
    assert len(rows) == 101
    assert again.started, "of the other one there is no row"
    assert made.engine._bounds.live == 0


async def test_the_end_of_one_that_another_server_has_replaced_is_undone(made):
    first = await start(made, "long")
    await made.settle()
    halting = made.engine._tick._store = Halting(made.store)
    async with asyncio.TaskGroup() as tasks:
        halting.commits_wait()
        task = tasks.create_task(refused(made, call("long", on_open="terminate", n=2)))
        await made.until(lambda: halting.waiting)
        theirs = made.engine.identities.documents("guest", ID, first)
        await made.store.commit([Write(documents=theirs)])
        halting.go_on()
    await made.settle()

    assert task.result() is None
    assert await made.engine.identities.run_of("guest", ID) != first
    assert sorted(row.status for row in await made.executions()) == ["cancelled", "running"]


async def refused(made, asked):
    try:
        await made.engine.invoke(asked)
    except ConflictError as error:
        return error
    return None


# --- tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("past", ["succeeded", "failed", "terminated", "expired", "open"])
async def test_a_token_is_looked_at_before_the_policies(made, past):
    name = {"succeeded": "main", "failed": "fails", "expired": "main"}.get(past, "long")
    asked = call(name, token="t-1", on_closed="reject")
    first = await made.engine.invoke(asked)
    await made.settle()
    if past == "terminated":
        await made.engine.cancel("guest", first.activation, terminate=True)
        await made.settle()
    if past == "expired":
        later_ms = made.engine.now_ms + 1
        await made.engine.commit(Write(expired=Expiry(later_ms, 100, now_ms=later_ms)))

    again = await made.engine.invoke(asked)

    assert (again.activation, again.replayed) == (first.activation, True)
    with pytest.raises(ReusedKeyError):
        await made.engine.invoke(call(name, id="order-8", token="t-1"))


async def test_a_token_holds_for_a_run_that_was_used(made):
    first = await start(made, "long")
    asked = call("long", token="t-1", on_open="use")
    used = await made.engine.invoke(asked)
    await made.engine.cancel("guest", first, terminate=True)
    await made.settle()

    again = await made.engine.invoke(asked)

    assert (used.activation, again.activation) == (first, first)
    assert again.replayed


async def test_a_refused_start_does_not_use_up_its_token(made):
    first = await start(made, "long")
    asked = call("long", token="t-1")
    with pytest.raises(STARTED):
        await made.engine.invoke(asked)
    await made.engine.cancel("guest", first, terminate=True)
    await made.settle()

    assert (await made.engine.invoke(asked)).started


# --- beside a start ------------------------------------------------------------------------------


async def test_documents_beside_a_start_are_committed_with_it_or_not_at_all(made):
    mine = Document(kind="mine", key="k", body=b"1", expected=0)
    seen = []

    first = await made.engine.calls.invoke(call("long"), beside=Beside((mine,), seen.append))
    with pytest.raises(STARTED):
        await made.engine.calls.invoke(call("long"), beside=Beside((mine,)))
    used = await made.engine.calls.invoke(call("long", on_open="use"), beside=Beside((mine,)))
    with pytest.raises(ConflictError, match="document that was to be committed"):
        await made.engine.calls.invoke(call("long", id="other"), beside=Beside((mine,)))
    with pytest.raises(ConflictError, match="document that was to be committed"):
        await made.engine.calls.invoke(call("long", id=""), beside=Beside((mine,)))
    await made.settle()

    assert [run.id for run in seen] == [first.activation]
    assert used.used
    assert [(d.body, d.version) async for d in made.store.documents("mine")] == [(b"1", 1)]
    assert [row.id for row in await made.executions()] == [first.activation]


# --- which run an id means -----------------------------------------------------------------------


async def test_an_id_means_the_open_run_else_the_newest_and_its_runs_are_listed(made):
    runs = [await succeeded(made) for _ in range(3)]
    runs.append(await start(made, "long"))
    identities = made.engine.identities

    assert await identities.run_of("guest", ID) == runs[3]
    assert await identities.run_of("guest", ID, runs[1]) == runs[1]
    assert await identities.run_of("guest", runs[0]) == runs[0]
    assert await identities.run_of("guest", runs[0], runs[0]) == runs[0]
    assert await identities.runs_of("guest", ID) == sorted(runs, reverse=True)
    for given, run in ((ID, "f" * 32), (runs[0], runs[1]), ("other", runs[0])):
        with pytest.raises(NotFoundError, match=f"The run {run} is none of"):
            await identities.run_of("guest", given, run)
    with pytest.raises(InvalidIdError):
        await identities.run_of("guest", f"{ID}\n{runs[0]}")
    shown = await made.engine.records.execution("guest", runs[0])
    assert (shown["id"], shown["executionId"]) == (ID, runs[0])


async def test_an_id_that_begins_as_another_one_is_not_that_one(made):
    run = await start(made, "long", id="order-71")

    with pytest.raises(NotFoundError):
        await made.engine.identities.run_of("guest", ID)
    assert await made.engine.identities.run_of("guest", "order-71") == run
    assert (await made.engine.invoke(call("main"))).started


async def test_a_redriven_run_has_its_id_again_unless_another_is_open(made):
    first, second = await failed(made), await failed(made)
    assert await made.engine.identities.run_of("guest", ID) == second

    await made.engine.redrive("guest", first)
    assert await made.engine.identities.run_of("guest", ID) == first
    await made.settle()
    open_ = await start(made, "long")
    with pytest.raises(STARTED, match=f"another run of it is open, {open_}"):
        await made.engine.redrive("guest", first)
    assert await made.engine.identities.run_of("guest", ID) == open_


# --- what is kept --------------------------------------------------------------------------------


async def test_an_id_goes_with_its_runs(made):
    await expired(made)
    later_ms = made.engine.now_ms + 1
    running = await start(made, "long", id="running")

    last = await made.engine.identities.forget("", 1, later_ms)
    assert last != ""
    assert await made.engine.identities.forget("", 10, later_ms) == ""
    await made.settle()

    kept = [document.key async for document in made.store.documents(IDS)]
    assert kept == ["/guest/running", f"/guest/running\n{running}"]


async def test_an_id_is_free_if_the_store_did_not_take_the_start(made):
    made.engine._tick.healthy = False
    with pytest.raises(UnavailableError):
        await made.engine.invoke(call())
    made.engine._tick.healthy = True

    assert (await made.engine.invoke(call())).started


async def test_a_withdrawn_start_leaves_its_id_free():
    pacing = Pacing(commit_deadline_s=0.05, commit_retry_s=0.01)
    store = FaultyStore(MemoryStore(), 0, times=None)
    async with world(store, settings=EngineSettings(pacing=pacing)) as made:
        await put(made)
        store.armed = True
        with pytest.raises(UnavailableError):
            await made.engine.invoke(call())
        store.room = True
        await made.until(lambda: made.engine.healthy)

        assert (await made.engine.invoke(call())).started


# --- crashes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["main", "a"])
@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_any_commit_leaves_one_run_or_none(name, at, when):
    store = MemoryStore()
    dying = DyingStore(store, at=at, when=when)
    made = await put(await begun(dying))
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(made.engine.invoke(call(name)))
        ended = tasks.create_task(made.settle())
        await made.until(lambda: dying.dead.is_set() or ended.done())
        await made.kill()
        task.cancel()
        ended.cancel()

    async with world(store) as made:
        await put(made)
        found = (
            await made.engine.invoke(call(name, on_open="use", on_closed="reject"), wait_s=20)
            if at == 0 and when == "before"
            else None
        )
        await made.settle()
        run = await made.engine.identities.run_of("guest", ID)
        outcome = await made.engine.calls.outcome("guest", run, 20)
        again = await refused(made, call(name, on_closed="reject"))

    assert outcome == Success({"n": 1})
    assert (found is None) or found.started
    assert again.run == run


@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_end_of_one_and_the_start_of_the_other_are_one_commit(when):
    store = MemoryStore()
    dying = DyingStore(store, at=0, when=when)
    made = await put(await begun(dying))
    first = await start(made, "long")
    await made.settle()
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(made.engine.invoke(call("long", on_open="terminate")))
        await dying.dead.wait()
        await made.kill()
        task.cancel()

    async with world(store) as made:
        await put(made)
        await made.settle()
        statuses = sorted(row.status for row in await made.executions())
        run = await made.engine.identities.run_of("guest", ID)

        assert statuses == (["running"] if when == "before" else ["cancelled", "running"])
        assert (run == first) == (when == "before")
        assert await status(made, run) == "running"
