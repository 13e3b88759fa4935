"""Chains of runs: a run continues as the next one in one commit, and whoever knows one run finds the chain."""

from __future__ import annotations

import asyncio

import pytest

from tests.kit.engine.engines import GUEST, HELD, DyingStore, begun, world
from tests.kit.engine.mail import kinds, stored, tell, undelivered
from tests.kit.engine.restarts import restarted
from xingqiao import composer
from xingqiao.actions import (
    AlreadyCompletedError,
    AlreadyStartedError,
    Call,
    ConflictError,
    NotFoundError,
    StartOptions,
)
from xingqiao.composer import Failure, Name, continue_as_new, path, receive
from xingqiao.infra.engine import Place
from xingqiao.infra.engine.resets import ResetRefusedError
from xingqiao.infra.stores import MemoryStore

COUNTING = composer.sequence("a", composer.when(path("$.n") < 3, continue_as_new()))
HEARING = composer.sequence(
    composer.retain(receive("go")),
    composer.select({"n": path("$.result.n")}),
    "a",
    composer.when(path("$.n") < 9, continue_as_new({"n": path("$.n")})),
)
ADDED = {"a": lambda params: {"n": params["n"] + 1}}


@pytest.fixture
async def made():
    async with world(answers=dict(ADDED)) as made:
        await made.put(a=None, b=None, loop=COUNTING, hears=HEARING)
        yield made


async def started(made, action="loop", params=None, **options):
    call = Call(
        name=Name.parse(f"/guest/{action}"),
        params={"n": 0} if params is None else params,
        namespace=GUEST,
        options=StartOptions(**options),
    )
    return (await made.engine.invoke(call)).activation


async def ended(made, id):
    """The result of the last run of a chain."""
    assert await made.engine.wait(GUEST, id, 20)
    return (await made.engine.records.outcome(GUEST, id)).value


async def state(made, id):
    return await made.engine.records.execution(GUEST, id)


async def chain(made, id):
    """The states of the runs of a chain, from the first one."""
    found = [await state(made, id)]
    while "next" in found[-1]:
        found.append(await state(made, found[-1]["next"]["executionId"]))
    return found


async def test_each_run_names_the_next_one_and_the_last_has_the_result(made):
    id = await started(made, id="order-7", memo={"why": 1})

    assert await ended(made, id) == {"n": 3}
    runs = await chain(made, id)
    assert [run["status"] for run in runs] == ["continued", "continued", "succeeded"]
    assert [run["id"] for run in runs] == ["order-7"] * 3
    assert [run["memo"] for run in runs] == [{"why": 1}] * 3
    first, second, last = (run["executionId"] for run in runs)
    assert runs[1]["continues"] == {"executionId": first, "first": first}
    assert runs[2]["continues"] == {"executionId": second, "first": first}
    assert {run["startedBy"]["how"] for run in runs} == {"invoke"}
    assert await made.engine.identities.run_of(GUEST, "order-7") == last
    assert {*await made.engine.identities.runs_of(GUEST, "order-7")} == {first, second, last}


async def test_histories_name_the_runs_before_and_after(made):
    id = await started(made)
    await ended(made, id)

    (_, second, _) = await chain(made, id)
    history = await made.engine.records.history(GUEST, id, after=0, limit=100)
    assert [entry["type"] for entry in history] == [
        "ExecutionStarted", "StepScheduled", "StepSucceeded", "StepScheduled", "ExecutionContinued",
    ]  # fmt: skip
    assert history[-1]["next"] == second["executionId"]
    (begin, *_) = await made.engine.records.history(
        GUEST, second["executionId"], after=0, limit=100
    )
    assert (begin["type"], begin["continues"], begin["value"]) == ("ExecutionStarted", id, {"n": 1})


async def test_a_call_that_waits_hears_of_the_last_run(made):
    call = Call(name=Name.parse("/guest/loop"), params={"n": 0}, namespace=GUEST)

    invoked = await made.engine.invoke(call, wait_s=20)

    assert invoked.ended.outcome.value == {"n": 3}
    record = await made.engine.records.activation(GUEST, invoked.activation)
    assert record["response"]["result"] == {"n": 3}
    assert record["activationId"] == (await chain(made, invoked.activation))[-1]["executionId"]
    assert len(made.engine._waiters) == 0


async def test_those_who_wait_by_an_earlier_run_hear_of_the_last_one(made):
    id = await started(made, "hears")
    waiting = [asyncio.ensure_future(ended(made, id))]
    watching = asyncio.ensure_future(made.engine.watching.activation(GUEST, id, 20))
    await made.settle()
    for n in (1, 2, 8):
        await tell(made, id, "go", {"n": n})
        await made.settle()
        waiting.append(asyncio.ensure_future(ended(made, id)))

    assert await asyncio.gather(*waiting) == [{"n": 9}] * 4
    assert (await watching)["response"]["result"] == {"n": 9}
    assert len(made.engine._waiters) == 0


async def test_a_wait_that_is_given_up_leaves_nothing(made):
    id = await started(made, "hears")
    waiting = asyncio.ensure_future(made.engine.wait(GUEST, id, 20))
    await made.settle()
    await tell(made, id, "go", {"n": 1})
    await made.settle()

    waiting.cancel()
    await asyncio.wait([waiting])

    assert len(made.engine._waiters) == 0
    assert not made.engine._waiters._moved


async def test_messages_go_along_in_order_and_an_id_is_taken_once(made):
    await made.put(
        slow=composer.sequence("b", composer.when(path("$.last").exists(), HEARING, continue_as_new({"last": 1, "n": 0})))
    )  # fmt: skip
    made.hands.answers["b"] = HELD
    id = await started(made, "slow")
    for n in range(3):
        await tell(made, id, "go", {"n": n}, f"m{n}")
    await made.until(lambda: made.hands.done)
    made.hands.finish(next(iter(made.hands.done)), {"n": 0})
    await made.until(lambda: made.hands.done)
    (_, second) = await chain(made, id)

    assert await undelivered(made, second["executionId"]) == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert await undelivered(made, id) == [{"n": 0}, {"n": 1}, {"n": 2}]
    for run in (id, second["executionId"]):
        assert not await tell(made, run, "go", {"n": 0}, "m1"), "it was told the first run"
    assert len(await stored(made, "told")) == 3
    assert not made.engine._parts.runs[second["executionId"]].execution.inbox.ids
    history = await made.engine.records.history(GUEST, id, after=0, limit=100)
    assert history[-1]["messages"] == [3, 4, 5]


async def test_a_message_to_an_earlier_run_is_told_to_the_newest(made):
    id = await started(made, "hears")
    await tell(made, id, "go", {"n": 1})
    await made.until(lambda: made.hands.names == ["a"])
    await made.settle()

    assert await tell(made, id, "go", {"n": 8}, "m")

    assert await ended(made, id) == {"n": 9}
    assert not await tell(made, id, "go", {"n": 8}, "m")
    with pytest.raises(ConflictError, match="has ended"):
        await tell(made, id, "go", {"n": 8}, "another")


async def test_an_execution_continues_as_another_composition(made):
    await made.put(
        first=continue_as_new({"n": path("$.n")}, action="second"),
        second=composer.sequence("a", "a"),
    )
    id = await started(made, "first", {"n": 5})

    assert await ended(made, id) == {"n": 7}
    assert [run["name"] for run in await chain(made, id)] == ["first", "second"]


@pytest.mark.parametrize(
    ("action", "code"),
    [("nowhere", "NotFound"), ("a", "InvalidRequest"), ("/x/y", "InvalidRequest")],
)
async def test_what_cannot_be_the_next_run_fails_the_step(made, action, code):
    await made.put(
        first=composer.do(continue_as_new(action=action), composer.literal({"saved": 1}))
    )
    await made.put(alone=continue_as_new(action=action))

    assert await ended(made, await started(made, "first")) == {"saved": 1}
    id = await started(made, "alone")
    assert await made.engine.wait(GUEST, id, 20)
    history = await made.engine.records.history(GUEST, id, after=0, limit=100)
    failed = next(entry for entry in history if entry["type"] == "StepFailed")
    assert failed["code"] == code


async def test_the_next_run_is_of_the_composition_as_it_is_deployed_then(made):
    id = await started(made, "hears")
    await made.settle()
    await made.put(hears=composer.literal({"new": True}))
    await tell(made, id, "go", {"n": 1})

    assert await ended(made, id) == {"new": True}


async def test_a_composition_that_is_not_deployed_goes_on_as_it_is(made):
    composition = composer.sequence("a", composer.when(path("$.n") < 3, continue_as_new()))

    id = await made.engine.start(Name.parse("/guest/adhoc"), composition, {"n": 0}, GUEST)

    assert await ended(made, id) == {"n": 3}
    assert len(await chain(made, id)) == 3


async def test_a_step_that_continues_is_one_step_of_its_parent(made):
    await made.put(parent=composer.sequence("loop", "a"))

    id = await made.start("parent", {"n": 0})

    assert await made.result(id) == {"n": 4}
    assert await kinds(made, id) == [
        "ExecutionStarted", "StepScheduled", "StepSucceeded", "StepScheduled", "StepSucceeded",
        "ExecutionSucceeded",
    ]  # fmt: skip
    runs = [row for row in await made.executions() if row.id != id]
    assert sorted(row.status for row in runs) == ["continued", "continued", "succeeded"]
    assert made.engine.gauges()["live"] == 0


async def test_the_parent_of_a_chain_that_fails_is_redriven_with_its_last_run(made):
    made.hands.answers["a"] = lambda p: {"n": p["n"] + 1} if p["n"] < 2 else Failure("Broken", "b")
    await made.put(parent=composer.sequence("loop"))
    id = await made.start("parent", {"n": 0})
    await made.result(id)
    made.hands.answers |= ADDED

    await made.engine.redrive(GUEST, id)

    assert await made.engine.wait(GUEST, id, 20)
    assert await made.result(id) == {"n": 3}
    assert [i.params["n"] for i in made.hands.invoked] == [0, 1, 2, 2]


@pytest.mark.parametrize("wait", [True, False])
async def test_a_child_s_chain_is_one_call(made, wait):
    await made.put(parent=composer.child("loop", wait=wait, id="kid", close="abandon"))
    id = await made.start("parent", {"n": 0})

    result = await made.result(id)
    assert await ended(made, await made.engine.identities.run_of(GUEST, "kid")) == {"n": 3}
    assert wait == (result == {"n": 3})


@pytest.mark.parametrize(
    ("close", "status"),
    [("terminate", "cancelled"), ("cancel", "cancelled"), ("abandon", "running")],
)
@pytest.mark.parametrize("restart", [False, True])
async def test_children_of_earlier_runs_are_closed_at_the_end_of_the_chain(close, status, restart):
    made = await begun(answers={"b": HELD})
    await made.put(
        b=None,
        kid=composer.sequence("b"),
        parent=composer.sequence(
            composer.when(
                path("$.again").exists(),
                receive("end"),
                composer.sequence(
                    composer.child("kid", id="kid", wait=False, close=close),
                    continue_as_new({"again": True}),
                ),
            )
        ),
    )
    id = await started(made, "parent", {})
    await made.until(lambda: made.hands.done)
    await made.settle()
    kid = await made.engine.identities.run_of(GUEST, "kid")
    assert (await state(made, kid))["status"] == "running"
    if restart:
        made = await restarted(made)
        await made.settle()
    assert (await state(made, kid))["status"] == "running", "the chain goes on"

    await tell(made, id, "end")
    await ended(made, id)
    await made.settle()
    await made.settle()

    assert (await state(made, kid))["status"] == status
    await made.kill()


async def test_a_child_that_continues_is_closed_with_its_parent(made):
    await made.put(
        parent=composer.sequence(composer.child("hears", id="kid", wait=False), receive("end"))
    )
    id = await started(made, "parent")
    await made.settle()
    kid = await made.engine.identities.run_of(GUEST, "kid")
    await tell(made, kid, "go", {"n": 1})
    await made.settle()
    newest = await made.engine.identities.run_of(GUEST, "kid")

    await tell(made, id, "end")
    await ended(made, id)
    await made.settle()

    assert newest != kid
    assert (await state(made, newest))["status"] == "cancelled"
    assert made.engine.gauges()["live"] == 0


@pytest.mark.parametrize("terminate", [True, False])
async def test_a_chain_is_stopped_by_the_id_of_any_run(made, terminate):
    id = await started(made, "hears")
    await tell(made, id, "go", {"n": 1})
    await made.until(lambda: made.hands.names == ["a"])
    await made.settle()

    await made.engine.cancel(GUEST, id, terminate=terminate)

    assert await made.engine.wait(GUEST, id, 20)
    assert [run["status"] for run in await chain(made, id)] == ["continued", "cancelled"]


async def test_what_an_earlier_run_has_started_ends_with_the_chain(made):
    made.hands.answers["b"] = HELD
    await made.put(
        main=composer.when(
            path("$.again").exists(),
            receive("end"),
            composer.sequence(composer.asynchronous("b"), continue_as_new({"again": True})),
        )
    )
    id = await started(made, "main", {})
    await made.until(lambda: made.hands.done)
    await made.settle()
    assert made.engine.gauges()["live"] == 2

    await made.engine.endings.terminate_all(id)

    assert made.engine.gauges()["live"] == 0


async def test_the_policies_of_ids_look_at_the_newest_run(made):
    id = await started(made, "hears", id="x")
    await tell(made, id, "go", {"n": 1})
    await made.until(lambda: made.hands.names == ["a"])
    with pytest.raises(AlreadyStartedError):
        await started(made, "hears", id="x")
    await made.settle()
    (_, second) = await chain(made, id)

    assert await started(made, "hears", id="x", on_open="use") == second["executionId"]
    assert await started(made, "hears", id="x", on_open="same") == second["executionId"]
    third = await started(made, "hears", id="x", on_open="terminate")
    assert (await state(made, second["executionId"]))["status"] == "cancelled"
    await tell(made, third, "go", {"n": 8})
    assert await ended(made, third) == {"n": 9}
    with pytest.raises(AlreadyCompletedError, match="has succeeded"):
        await started(made, "hears", id="x", on_closed="allow_failed")
    assert len({key.partition("\n")[0] for key in await stored(made, "id")}) == 1


async def test_the_deadline_of_the_chain_stays_and_that_of_a_run_begins_anew():
    made = await begun(answers=dict(ADDED))
    await made.put(a=None, hears=HEARING)
    id = await started(made, "hears", execution_timeout_ms=90_000, run_timeout_ms=50_000)
    await made.settle()
    made.clock.ms += 40_000
    await tell(made, id, "go", {"n": 1})
    await made.settle()
    (first, second) = await chain(made, id)
    (begin, *_) = await made.engine.records.history(GUEST, second["executionId"], after=0, limit=9)

    until = {told["bound"]: told["until"] for told in begin["timeouts"]}
    assert until == {
        "execution_timeout": first["start"] + 90_000, "run_timeout": second["start"] + 50_000,
    }  # fmt: skip
    await made.kill()


async def test_a_run_that_has_continued_is_not_redriven(made):
    id = await started(made)
    await ended(made, id)

    with pytest.raises(ConflictError, match="redrive the last run of the chain"):
        await made.engine.redrive(GUEST, id)


async def test_a_run_that_has_continued_is_reset_when_the_chain_is_over_and_forked_at_any_time(
    made,
):
    id = await started(made, "hears")
    await tell(made, id, "go", {"n": 1}, "m")
    await made.until(lambda: made.hands.names == ["a"])
    await made.settle()
    with pytest.raises(ResetRefusedError, match="which is open: reset that one"):
        await made.engine.resets.reset(GUEST, id, Place(to=1))
    with pytest.raises(ResetRefusedError, match="the execution ends with this entry"):
        await made.engine.resets.fork(GUEST, id, Place(to=7))
    fork = await made.engine.resets.fork(GUEST, id, Place(step="a"))
    await made.until(lambda: made.hands.names == ["a", "a"])
    await tell(made, id, "go", {"n": 8})
    await ended(made, id)

    run = await made.engine.resets.reset(GUEST, id, Place(to=1, messages="drop"))

    for each in (fork, run):
        await tell(made, each, "go", {"n": 8})
        assert await ended(made, each) == {"n": 9}
    assert "continues" not in await state(made, run)


async def test_a_paused_execution_continues_when_it_is_resumed(made):
    made.hands.answers["a"] = HELD
    id = await started(made)
    await made.until(lambda: made.hands.done)
    await made.engine.pauses.pause(GUEST, id)
    made.hands.finish(next(iter(made.hands.done)), {"n": 1})
    await made.settle()
    assert [run["status"] for run in await chain(made, id)] == ["paused"]
    made.hands.answers |= ADDED

    await made.engine.resume(GUEST, id)

    assert await ended(made, id) == {"n": 3}


async def test_annotations_by_an_earlier_run_are_the_newest_run_s(made):
    id = await started(made, "hears")
    await tell(made, id, "go", {"n": 1})
    await made.until(lambda: made.hands.names == ["a"])
    await made.settle()

    await made.engine.annotations.annotate(GUEST, id, {}, memo="new")

    (first, second) = await chain(made, id)
    assert "memo" not in first
    assert second["memo"] == "new"


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(8))
async def test_a_crash_at_any_commit_loses_no_run_and_doubles_none(at, when):
    store = DyingStore(MemoryStore(), at, when)
    made = await begun(store, dict(ADDED))
    await made.put(a=None, loop=COUNTING, main=composer.sequence("loop", "a"))
    store.armed = True
    starting = asyncio.ensure_future(started(made, "main", id="x"))
    dead = asyncio.ensure_future(store.dead.wait())
    with_result = asyncio.ensure_future(made.until(lambda: made.hands.names == ["a"] * 4))
    await asyncio.wait({dead, with_result}, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    for task in (starting, dead, with_result):
        task.cancel()
    await made.kill()

    again = await begun(store._store, dict(ADDED), clock=made.clock)
    await again.settle()
    id = (
        await started(again, "main", id="x", on_open="use", on_closed="reject")
        if not await again.executions()
        else await again.engine.identities.run_of(GUEST, "x")
    )

    assert await ended(again, id) == {"n": 4}
    rows = await again.executions()
    assert sorted(row.status for row in rows) == [
        "continued",
        "continued",
        "succeeded",
        "succeeded",
    ]
    inputs = [i.params["n"] for i in (*made.hands.invoked, *again.hands.invoked)]
    assert sorted(set(inputs)) == [0, 1, 2, 3]
    assert again.engine.gauges()["live"] == 0
    await again.kill()


async def test_a_chain_of_ten_thousand_runs_takes_no_more_memory_than_one():
    async with world(answers={"a": lambda params: {"n": params["n"] + 1}}) as made:
        await made.put(a=None, loop=composer.sequence("a", composer.when(path("$.n") < 10_000, continue_as_new())))  # fmt: skip
        id = await started(made, id="long")
        parts = made.engine._parts
        await made.until(lambda: len(made.hands.invoked) >= 100)
        for _ in range(2):
            sizes, ahead = _sizes(made), min(len(made.hands.invoked) + 4000, 10_000)
            await made.until(lambda ahead=ahead: len(made.hands.invoked) >= ahead)
            assert all(size <= sizes[name] + 8 for name, size in _sizes(made).items())

        assert await ended(made, id) == {"n": 10_000}
        assert not any((parts.runs, parts.ended, parts.handed, parts.offspring))
        assert len(await stored(made, "chain")) == 1


def _sizes(made):
    """The number of things that each part of the engine remembers."""
    engine, parts = made.engine, made.engine._parts
    return {
        "runs": len(parts.runs), "ended": len(parts.ended), "handed": len(parts.handed),
        "families": len(engine._bounds._families),
        "members": sum(len(family.members) for family in engine._bounds._families.values()),
        "timers": len(engine._timers), "waiters": len(engine._waiters),
        "values": sum(len(run._large) + len(run._memo) for run in parts.runs.values()),
    }  # fmt: skip


async def test_an_unknown_run_is_of_no_chain(made):
    assert await made.engine.chains.newest("0" * 32) == "0" * 32
    assert not await made.engine.chains.is_open("0" * 32)
    with pytest.raises(NotFoundError):
        await made.engine.wait(GUEST, "0" * 32, 1)
