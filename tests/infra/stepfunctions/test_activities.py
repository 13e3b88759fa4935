"""Activities: who waits for work gets it, once, and answers by its token; also after a crash."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import begun, world
from xingqiao.actions import Call, Invocation, NotFoundError
from xingqiao.composer import Failure, Name, Success
from xingqiao.infra.engine import Beginning
from xingqiao.infra.stepfunctions.activities import Activities
from xingqiao.infra.stores import MemoryStore

ARN = "arn:aws:states:us-east-1:111111111111:activity:work"
ACTION = Name("whisk.system", "states", "activity")


def machine(arn=ARN, **more):
    task = {"Type": "Task", "Resource": arn, "End": True, **more}
    definition = {"StartAt": "T", "States": {"T": task}}
    return {"exec": {"kind": "states", "definition": json.dumps(definition)}}


def handing_out(handed, store, clock, poll_s):
    """Makes the activities of an engine, and keeps them in the list."""

    def made(engine):
        handed.append(Activities(store, clock, engine, poll_s))
        return handed[0]

    return made


@asynccontextmanager
async def working(store=None, poll_s=0.01):
    """An engine, and an activity `work`."""
    store, clock = store or MemoryStore(), StandingClock()
    handed = []
    handing = handing_out(handed, store, clock, poll_s)
    async with world(store, clock=clock, others=[handing]) as made:
        (made.activities,) = handed
        await made.activities.load()
        await made.activities.create("guest", "work", {})
        await made.put(main=machine())
        yield made
        made.activities.close()


async def start(made, input=None):
    action = made.engine.catalog.resolve(Name("guest", None, "main"), "guest")
    execution, _ = await made.engine.executions.begin(Beginning(action, input or {}, "guest"))
    await made.settle()
    return execution


async def outcome(made, execution):
    await made.engine.wait("guest", execution.id, 20)
    found = await made.engine.executions.found("guest", "main", execution.name)
    return (await made.engine.executions.data(found))[1]


async def test_a_worker_is_given_work_and_answers_it():
    async with working() as made:
        execution = await start(made, {"n": 1})

        token, input = await made.activities.take("guest", "work", "somebody")
        assert input == {"n": 1}
        (fiber,) = (await made.engine.records.execution("guest", execution.id))["fibers"]
        assert fiber["waits"] == "answer"
        await made.engine.executions.answer("guest", token, Success({"done": True}))

        assert await outcome(made, execution) == Success({"done": True})
        told = await made.engine.executions.history(execution)
        events = [event for entry in told for event in entry.get("events", ())]
        assert ["ActivityStarted", {"workerName": "somebody"}] in [event[2:] for event in events]


async def test_who_waits_gets_work_when_there_is_some_in_the_order_of_asking():
    async with working(poll_s=5) as made:
        asked = [asyncio.ensure_future(made.activities.take("guest", "work", None)) for _ in "ab"]
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

        await start(made, {"n": 1})
        await start(made, {"n": 2})

        assert [(await one).input for one in asked] == [{"n": 1}, {"n": 2}]


async def test_who_waits_in_vain_is_told_so():
    async with working() as made:
        assert await made.activities.take("guest", "work", "somebody") is None


async def test_who_waits_goes_when_the_server_stops():
    async with working(poll_s=60) as made:
        asked = asyncio.ensure_future(made.activities.take("guest", "work", None))
        await anyio.lowlevel.checkpoint()

        made.activities.close()

        assert await asked is None


async def test_who_is_called_and_does_not_come_leaves_the_work_to_the_next():
    async with working(poll_s=5) as made:
        asked = [asyncio.ensure_future(made.activities.take("guest", "work", None)) for _ in "ab"]
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        action = made.engine.catalog.resolve(ACTION, "guest")
        invocation = Invocation(
            activation="a" * 32,
            action=action,
            params={"arn": ARN, "input": {"n": 1}},
            namespace="guest",
            token="token",
        )

        done = []
        made.activities.invoke(invocation, done.append)
        asked[0].cancel()

        assert await asked[1] == ("token", {"n": 1})
        assert len(done) == 1
        with pytest.raises(asyncio.CancelledError):
            await asked[0]


async def test_who_has_gone_while_waiting_leaves_the_work_to_the_next():
    async def gone():
        return True

    async with working(poll_s=5) as made:
        left = asyncio.ensure_future(made.activities.take("guest", "work", "left", gone))
        stays = asyncio.ensure_future(made.activities.take("guest", "work", "stays"))
        for _ in range(5):
            await anyio.lowlevel.checkpoint()

        await start(made, {"n": 1})

        assert (await stays).input == {"n": 1}
        assert await left is None


async def test_each_piece_of_work_is_given_once():
    async with working() as made:
        for n in range(5):
            await start(made, {"n": n})

        got = [await made.activities.take("guest", "work", None) for _ in range(6)]

        assert [work.input["n"] for work in got[:5]] == list(range(5))
        assert got[5] is None


async def test_work_that_nobody_has_taken_is_there_after_a_crash_and_what_was_taken_is_not():
    store, clock = MemoryStore(), StandingClock()
    handed = []
    made = await begun(store, clock=clock, others=[handing_out(handed, store, clock, 0.01)])
    (activities,) = handed
    await activities.create("guest", "work", {})
    await made.put(main=machine())
    taken, left = await start(made, {"n": 1}), await start(made, {"n": 2})
    work = await activities.take("guest", "work", None)
    assert work.input == {"n": 1}
    await made.kill()

    async with working(store) as again:
        await again.settle()
        other = await again.activities.take("guest", "work", None)
        assert other.input == {"n": 2}
        assert await again.activities.take("guest", "work", None) is None
        for one in (work, other):
            await again.engine.executions.answer("guest", one.token, Success({}))

        assert await outcome(again, taken) == Success({})
        assert await outcome(again, left) == Success({})


async def test_work_that_is_not_waited_for_any_more_is_not_given():
    async with working() as made:
        execution = await start(made)
        await made.engine.executions.stop(execution)
        await made.settle()

        assert await made.activities.take("guest", "work", None) is None


@pytest.mark.parametrize("arn", [ARN.replace("work", "play"), ARN])
async def test_there_must_be_such_an_activity(arn):
    async with working() as made:
        await made.put(main=machine(arn))
        await made.activities.delete("guest", "work")

        execution = await start(made)

        assert await outcome(made, execution) == Failure(
            "States.Runtime",
            {"Error": "States.Runtime", "Cause": f"The activity {arn} does not exist."},
        )
        with pytest.raises(NotFoundError):
            await made.activities.take("guest", "work", None)


async def test_an_activity_is_no_action_that_one_could_invoke():
    async with working() as made:
        call = Call(name=ACTION, params={"arn": ARN, "input": 1}, namespace="guest")
        invoked = await made.engine.invoke(call, wait_s=5)

        assert "does not exist" in invoked.ended.outcome.error["Cause"]


async def test_activities_are_created_once_listed_and_deleted_and_outlive_the_server():
    store = MemoryStore()
    async with working(store) as made:
        activities = made.activities
    first = await activities.create("guest", "b", {"tags": {}})
    assert await activities.create("guest", "b", {"tags": {"a": "1"}}) == first
    await activities.create("guest", "a", {})
    await activities.create("other", "c", {})
    await activities.delete("guest", "nobody")

    async with working(store) as other:
        again = other.activities
        assert [activity.name for activity in again.list("guest")] == ["a", "b", "work"]
        assert again.get("guest", "b") == first
        await again.delete("guest", "b")
        with pytest.raises(NotFoundError):
            again.get("guest", "b")
