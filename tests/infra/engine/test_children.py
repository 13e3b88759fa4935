"""Children: steps that are executions of their own, with ids; how they are waited for, cancelled and closed."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import HELD, DyingStore, begun, world
from xingqiao import composer
from xingqiao.actions import Call, StartOptions
from xingqiao.composer import Failure, Name, child, path
from xingqiao.infra.stores import MemoryStore

DOWN = Failure("Down", {"code": "Down", "message": "no luck"})
IDS = {"id": path("$.who")}


async def put(made, **parents):
    made.hands.answers |= {
        "a": lambda p: {"n": p.get("n", 0) + 1}, "bad": DOWN, "hold": HELD, "tidy": {},
    }  # fmt: skip
    await made.put(
        a=None, bad=None, hold=None, tidy=None, good=composer.sequence("a"),
        fails=composer.sequence("bad"), long=composer.sequence("hold"),
        careful=composer.ensure("hold", "tidy"), **parents,
    )  # fmt: skip
    return made


@pytest.fixture
async def made():
    async with world() as made:
        yield await put(made)


async def row_of(made, name):
    [row] = [row for row in await made.executions() if row.name == name]
    return row


async def status_of(made, name):
    return (await row_of(made, name)).status


async def run(made, parent, **params):
    await made.put(parent=parent)
    return await made.start("parent", params)


# --- starts and results --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["good", "a"])
async def test_the_result_of_a_child_is_the_result_of_the_step(made, name):
    parent = await run(
        made, composer.sequence(child(name, {"n": path("$.n")}, **IDS), "a"), n=1, who="x"
    )

    assert await made.result(parent) == {"n": 3}
    run_of_child = await made.engine.identities.run_of("guest", "x")
    entries = await made.engine.records.history("guest", parent, after=0, limit=100)
    [step] = [e for e in entries if e["type"] == "StepScheduled" and e["path"].endswith("0]")] or [
        entries[1]
    ]
    assert step["activation"] == run_of_child
    if name == "good":
        shown = await made.engine.records.execution("guest", run_of_child)
        assert shown["parent"] == {"executionId": parent, "close": "terminate"}
        assert shown["startedBy"] == {"how": "execution"}
        assert shown["id"] == "x"


async def test_a_child_needs_no_id_and_takes_the_value(made):
    parent = await run(made, child("good"), n=4)

    assert await made.result(parent) == {"n": 5}


@pytest.mark.parametrize("name", ["fails", "bad"])
async def test_a_failure_of_a_child_names_it_and_its_error(made, name):
    parent = await run(made, child(name, **IDS), who="x")

    error = (await made.result(parent))["error"]
    assert error == {
        "id": "x",
        "run": await made.engine.identities.run_of("guest", "x"),
        "code": "Down",
        "error": {"code": "Down", "message": "no luck"},
        "message": f"The child 'x' (run {error['run']}) failed: Down: no luck",
    }


async def test_a_failure_of_a_child_is_handled_by_its_name_and_by_its_code(made):
    for name in ("ChildFailed", "Down"):
        parent = await run(made, composer.retry(1, child("fails"), errors=[name]))
        await made.result(parent)
        assert len([row for row in await made.executions() if row.name == "fails"]) == 2
        for row in await made.executions():
            made.store._executions.pop(row.id)


async def test_a_step_that_does_not_wait_goes_on_with_the_ids(made):
    parent = await run(made, child("long", wait=False, close="abandon", **IDS), who="x")

    found = await made.result(parent)
    assert found == {"executionId": await made.engine.identities.run_of("guest", "x"), "id": "x"}
    assert await status_of(made, "long") == "running"
    nameless = await run(made, child("long", wait=False, close="abandon"))
    assert list(await made.result(nameless)) == ["executionId"]


@pytest.mark.parametrize(
    ("options", "code"),
    [({}, "AlreadyStarted"), ({"on_open": "same"}, "AlreadyStarted")],
)
async def test_a_start_that_is_refused_fails_the_step(made, options, code):
    call = Call(
        name=Name.parse("/guest/long"), params={}, namespace="guest", options=StartOptions(id="x")
    )
    there = (await made.engine.invoke(call)).activation

    parent = await run(made, child("good", **IDS, **options), who="x")

    error = (await made.result(parent))["error"]
    assert (error["code"], error["id"], error["run"]) == (code, "x", there)
    assert there in error["message"]


async def test_a_completed_child_is_not_started_again_if_it_says_so(made):
    parent = await run(
        made, composer.sequence(child("good", id="x"), child("good", id="x", on_closed="reject"))
    )

    assert (await made.result(parent))["error"]["code"] == "AlreadyCompleted"


async def test_an_open_execution_may_be_used_as_a_child(made):
    call = Call(
        name=Name.parse("/guest/long"), params={}, namespace="guest", options=StartOptions(id="x")
    )
    there = (await made.engine.invoke(call)).activation
    parent = await run(made, child("good", id="x", on_open="use"))
    await made.settle()
    made.hands.finish(made.hands.invoked[0].activation, {"done": True})

    assert await made.result(parent) == {"done": True}
    assert [row.id for row in await made.executions() if row.name == "long"] == [there]


# --- how a wait is cancelled ---------------------------------------------------------------------


@pytest.mark.parametrize("on_cancel", ["wait", "try", "abandon"])
async def test_each_way_of_cancelling_a_wait(made, on_cancel):
    parent = await run(made, child("careful", on_cancel=on_cancel, close="abandon"))
    await made.settle()
    made.hands.answers["tidy"] = HELD

    await made.engine.cancel("guest", parent)
    await made.settle()

    tidying = "tidy" in made.hands.names
    now = await status_of(made, "parent"), await status_of(made, "careful"), tidying
    assert (
        now
        == {
            "wait": ("running", "running", True),
            "try": ("cancelled", "running", True),
            "abandon": ("cancelled", "running", False),
        }[on_cancel]
    )
    if tidying:
        made.hands.finish(made.hands.invoked[-1].activation, {})
        await made.settle()
        assert await status_of(made, "careful") == "cancelled"
        assert await status_of(made, "parent") == "cancelled"


async def test_a_timeout_waits_for_its_child_too(made):
    await made.put(parent=composer.timeout(60, child("careful")))
    parent = await made.start("parent")
    await made.settle()
    made.hands.answers["tidy"] = HELD
    made.clock.ms += 61_000
    live = made.engine._parts.runs[parent]
    made.engine._inbox.deliver(live, "0", composer.TimerFired())
    await made.settle()

    assert await status_of(made, "parent") == await status_of(made, "careful") == "running"
    made.hands.finish(made.hands.invoked[-1].activation, {})
    await made.settle()
    assert await status_of(made, "careful") == "cancelled"
    assert (await made.result(parent))["error"]["code"] == "Timeout"


async def test_a_cancellation_of_a_child_from_outside_fails_the_step(made):
    parent = await run(made, child("long", id="x"))
    await made.settle()
    await made.engine.cancel("guest", await made.engine.identities.run_of("guest", "x"))

    assert (await made.result(parent))["error"]["code"] == "Cancelled"


async def test_a_run_that_is_only_used_is_not_cancelled(made):
    call = Call(
        name=Name.parse("/guest/long"), params={}, namespace="guest", options=StartOptions(id="x")
    )
    await made.engine.invoke(call)
    parent = await run(made, child("long", id="x", on_open="use"))
    await made.settle()

    await made.engine.cancel("guest", parent)
    await made.settle()

    assert await status_of(made, "parent") == "cancelled"
    assert await status_of(made, "long") == "running"


# --- how children are closed ---------------------------------------------------------------------

ENDS = ("succeeded", "failed", "cancelled", "terminated")


@pytest.mark.parametrize("close", ["terminate", "cancel", "abandon"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("alone", [False, True])
async def test_each_way_of_closing_a_child_after_each_end_of_its_parent(made, close, end, alone):
    last = {"succeeded": "a", "failed": "bad"}.get(end, "hold")
    name = "hold" if alone else "careful"
    await run(made, composer.sequence(child(name, wait=False, close=close, id="x"), last))
    await made.settle()
    parent = (await row_of(made, "parent")).id
    if end in ("cancelled", "terminated"):
        await made.engine.cancel("guest", parent, terminate=end == "terminated")
    await made.settle()

    ended = await status_of(made, "parent")
    assert ended == ("cancelled" if end == "terminated" else end)
    run_ = await made.engine.identities.run_of("guest", "x")
    known, _ = await made.engine.identities.look("guest", "x")
    assert known.open == (close == "abandon")
    if not alone:
        assert ("tidy" in made.hands.names) == (close == "cancel")
        assert (await made.engine.records.execution("guest", run_))["status"] == (
            "running" if close == "abandon" else "cancelled"
        )
    assert made.engine._parts.offspring == {}


@pytest.mark.parametrize("close", ["terminate", "cancel", "abandon"])
async def test_a_parent_that_is_terminated_while_it_waits_closes_its_child(made, close):
    parent = await run(made, child("careful", close=close))
    await made.settle()

    await made.engine.cancel("guest", parent, terminate=True)
    await made.settle()

    assert await status_of(made, "parent") == "cancelled"
    assert await status_of(made, "careful") == ("running" if close == "abandon" else "cancelled")
    assert ("tidy" in made.hands.names) == (close == "cancel")


async def test_a_child_that_has_ended_is_not_closed(made):
    await run(made, composer.sequence(child("good", wait=False, id="x"), "hold"))
    await made.settle()

    assert await status_of(made, "good") == "succeeded"
    assert made.engine._parts.offspring == {}


# --- crashes -------------------------------------------------------------------------------------

WAITS = composer.sequence(child("good", {"n": 1}, id="x"), "a")
GOES_ON = composer.sequence(
    child("good", {"n": 1}, id="x", wait=False), composer.select({"n": 7}), "a"
)


@pytest.mark.parametrize("parent", [WAITS, GOES_ON], ids=["waits", "goes on"])
@pytest.mark.parametrize("at", range(8))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_any_commit_starts_one_child(parent, at, when):
    store = MemoryStore()
    made = await put(await begun(store), parent=parent)
    await made.kill()
    dying = DyingStore(store, at=at, when=when)
    made = await put(await begun(dying))
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(made.start("parent"))
        settled = tasks.create_task(made.settle())
        await made.until(lambda: dying.dead.is_set() or settled.done())
        await made.kill()
        task.cancel()
        settled.cancel()

    async with world(store) as made:
        await put(made)
        await made.settle()
        rows = {row.name: row.status for row in await made.executions()}
        if not rows:
            assert (at, when) == (0, "before")
            return
        parents = [row for row in await made.executions() if row.name == "parent"]
        assert [row.status for row in parents] == ["succeeded"]
        children = [row for row in await made.executions() if row.name == "good"]
        assert len(children) == 1
        assert children[0].status in {"succeeded", "cancelled"}
        assert await made.engine.identities.runs_of("guest", "x") == [children[0].id]
        if parent is WAITS:
            assert await made.result(parents[0].id) == {"n": 3}


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("close", ["terminate", "cancel", "abandon"])
async def test_a_crash_while_a_parent_ends_closes_its_child_all_the_same(close, at, when):
    store = MemoryStore()
    dying = DyingStore(store, at=at, when=when)
    parent = composer.sequence(child("sleeps", wait=False, close=close), "hold")
    made = await put(await begun(dying), parent=parent, sleeps=composer.wait(3600))
    await made.start("parent")
    await made.settle()
    dying.armed = True
    [held] = made.hands.done
    made.hands.finish(held, {})
    async with asyncio.TaskGroup() as tasks:
        settled = tasks.create_task(made.settle())
        await made.until(lambda: dying.dead.is_set() or settled.done())
        await made.kill()
        settled.cancel()

    async with world(store, {"hold": {}}) as made:
        await made.settle()
        assert await status_of(made, "parent") == "succeeded"
        assert await status_of(made, "sleeps") == ("running" if close == "abandon" else "cancelled")


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_while_a_wait_is_cancelled_ends_both(at, when):
    store = MemoryStore()
    dying = DyingStore(store, at=at, when=when)
    made = await put(await begun(dying), parent=child("careful"))
    parent = await made.start("parent")
    await made.settle()
    dying.armed = True
    async with asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(made.engine.cancel("guest", parent))
        settled = tasks.create_task(made.settle())
        await made.until(lambda: dying.dead.is_set() or (settled.done() and asked.done()))
        await made.kill()
        asked.cancel()
        settled.cancel()

    async with world(store) as made:
        await put(made)
        await made.settle()
        standing = {row.name: row.status for row in await made.executions()}
        lost = at == 0 and when == "before"  # nobody was told that it would be cancelled
        expected = "running" if lost else "cancelled"
        assert standing == {"parent": expected, "careful": expected}
