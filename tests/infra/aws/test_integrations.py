"""Integrations: asked once, waited for across crashes, stopped when nobody waits any more."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.engine.engines import begun, world
from xingqiao.composer import CANCELLED, Failure, Name, Success
from xingqiao.infra.aws import integrations
from xingqiao.infra.aws.integrations import Integration, IntegrationError, Integrations, discovered
from xingqiao.infra.engine import Beginning
from xingqiao.infra.stores import MemoryStore

JOB = "arn:aws:states:::jobs:run"


def machine(resource, **more):
    task = {"Type": "Task", "Resource": resource, "Parameters": {"a": 1}, "End": True, **more}
    definition = {"StartAt": "T", "States": {"T": task}}
    return {"exec": {"kind": "states", "definition": json.dumps(definition)}}


class Jobs:
    """A service that runs jobs: they end when they are told to."""

    def __init__(self):
        self.asked, self.finishing, self.stopped = [], [], []
        self.held = None
        self.ended = asyncio.Event()

    async def ask(self, asked):
        self.asked.append(asked)
        if self.held is not None:
            await self.held.wait()
        return {"job": 7}

    async def finish(self, asked, answer):
        self.finishing.append(answer)
        await self.ended.wait()
        return {"result": answer["job"]}

    async def stop(self, asked, answer):
        self.stopped.append(answer)

    @property
    def registry(self):
        return {("jobs", "run"): Integration(self.ask, self.finish, self.stop)}


@asynccontextmanager
async def asking(registry, store=None):
    clock = StandingClock()
    async with (
        Integrations(registry, clock) as invoker,
        world(store, clock=clock, others=[lambda _: invoker]) as made,
    ):
        yield made


async def start(made, resource, **more):
    await made.put(main=machine(resource, **more))
    action = made.engine.catalog.resolve(Name("guest", None, "main"), "guest")
    return (await made.engine.executions.begin(Beginning(action, {}, "guest"))).execution


async def outcome(made, execution):
    await made.engine.wait("guest", execution.id, 20)
    found = await made.engine.executions.found("guest", "main", execution.name)
    return (await made.engine.executions.data(found))[1]


async def test_an_operation_is_asked_for_and_its_answer_is_the_result():
    jobs = Jobs()
    async with asking(jobs.registry) as made:
        execution = await start(made, JOB)

        assert await outcome(made, execution) == Success({"job": 7})
        (asked,) = jobs.asked
        assert (asked.service, asked.operation, asked.pattern) == ("jobs", "run", "")
        assert (asked.parameters, asked.namespace) == ({"a": 1}, "guest")
        assert asked.execution == execution.address


@pytest.mark.parametrize("pattern", [".sync", ".sync:2"])
async def test_the_end_of_what_was_asked_for_is_waited_for(pattern):
    jobs = Jobs()
    async with asking(jobs.registry) as made:
        execution = await start(made, JOB + pattern)
        await made.until(lambda: jobs.finishing)
        (fiber,) = (await made.engine.records.execution("guest", execution.id))["fibers"]
        assert fiber["waits"] == "cloud"

        jobs.ended.set()

        assert await outcome(made, execution) == Success({"result": 7})
        told = await made.engine.executions.history(execution)
        assert any(entry.get("value") == {"job": 7} for entry in told)


async def test_after_a_crash_it_is_asked_after_and_not_asked_again():
    store, clock, jobs = MemoryStore(), StandingClock(), Jobs()
    async with Integrations(jobs.registry, clock) as invoker:
        made = await begun(store, clock=clock, others=[lambda _: invoker])
        execution = await start(made, f"{JOB}.sync")
        await made.until(lambda: jobs.finishing)
        await made.settle()
        await made.kill()

    async with asking(jobs.registry, store) as again:
        await again.until(lambda: len(jobs.finishing) == 2)
        jobs.ended.set()

        assert await outcome(again, execution) == Success({"result": 7})
        assert len(jobs.asked) == 1
        assert jobs.stopped == []


async def test_what_nobody_waits_for_is_stopped():
    jobs = Jobs()
    async with asking(jobs.registry) as made:
        execution = await start(made, f"{JOB}.sync")
        await made.until(lambda: jobs.finishing)

        await made.engine.executions.stop(execution)
        await made.until(lambda: jobs.stopped)

        assert jobs.stopped == [{"job": 7}]


async def test_what_is_given_up_while_it_is_being_asked_for_is_stopped_when_it_has_answered():
    jobs = Jobs()
    jobs.held = asyncio.Event()
    async with asking(jobs.registry) as made:
        execution = await start(made, f"{JOB}.sync")
        await made.until(lambda: jobs.asked)
        await made.engine.executions.stop(execution)
        await made.settle()
        assert jobs.stopped == []

        jobs.held.set()
        await made.until(lambda: jobs.stopped)

        assert jobs.stopped == [{"job": 7}]


async def test_a_call_that_nobody_waits_for_is_cut_off():
    jobs = Jobs()
    jobs.held = asyncio.Event()
    async with asking(jobs.registry) as made:
        execution = await start(made, JOB)
        await made.until(lambda: jobs.asked)

        await made.engine.executions.stop(execution)

        assert (await outcome(made, execution)).code == CANCELLED
        await made.until(lambda: not made.engine.gauges()["steps_under_way"])


async def test_what_cannot_be_stopped_is_left(caplog):
    jobs = Jobs()

    async def stop(asked, answer):
        jobs.stopped.append(answer)
        raise IntegrationError("Jobs.Gone", "it is gone")

    registry = {("jobs", "run"): Integration(jobs.ask, jobs.finish, stop)}
    async with asking(registry) as made:
        execution = await start(made, f"{JOB}.sync")
        await made.until(lambda: jobs.finishing)
        await made.engine.executions.stop(execution)
        await made.until(lambda: jobs.stopped)
        await made.settle()

    assert "could not be stopped: Jobs.Gone" in caplog.text


async def test_a_callback_is_answered_by_its_token():
    jobs = Jobs()
    async with asking(jobs.registry) as made:
        parameters = {"token.$": "$$.Task.Token"}
        execution = await start(made, f"{JOB}.waitForTaskToken", Parameters=parameters)
        await made.until(lambda: jobs.asked)
        await made.settle()
        token = jobs.asked[0].parameters["token"]

        await made.engine.executions.answer("guest", token, Success("done"))

        assert await outcome(made, execution) == Success("done")


async def raising(asked):
    raise IntegrationError("Jobs.FullException", "no room")


async def broken(asked):
    raise RuntimeError("a mistake")


@pytest.mark.parametrize(
    ("resource", "error", "cause"),
    [
        ("arn:aws:states:::jobs:full", "Jobs.FullException", "no room"),
        ("arn:aws:states:::jobs:broken", "States.Runtime", "the log says why"),
        ("arn:aws:states:::jobs:other", "States.Runtime", "no integration jobs:other"),
        ("arn:aws:states:::jobs:full.sync", "States.Runtime", "no integration jobs:full.sync"),
    ],
)
async def test_a_failure_has_its_name_and_its_cause(resource, error, cause):
    registry = {("jobs", "full"): Integration(raising), ("jobs", "broken"): Integration(broken)}
    async with asking(registry) as made:
        failure = await outcome(made, await start(made, resource))

        assert failure.error["Error"] == error
        assert cause in failure.error["Cause"]


async def test_one_whose_integration_is_gone_after_a_crash_fails():
    store, clock, jobs = MemoryStore(), StandingClock(), Jobs()
    async with Integrations(jobs.registry, clock) as invoker:
        made = await begun(store, clock=clock, others=[lambda _: invoker])
        execution = await start(made, f"{JOB}.sync")
        await made.until(lambda: jobs.finishing)
        await made.settle()
        await made.kill()

    async with asking({}, store) as again:
        failure = await outcome(again, execution)

        assert isinstance(failure, Failure)
        assert "no integration jobs:run.sync" in failure.error["Cause"]


@pytest.mark.parametrize(
    ("resource", "known"),
    [
        (JOB, True),
        (f"{JOB}.sync", True),
        (f"{JOB}.sync:2", True),
        (f"{JOB}.waitForTaskToken", True),
        ("arn:aws:states:::jobs:full", True),
        ("arn:aws:states:::jobs:full.sync", False),
        ("arn:aws:states:::jobs:other", False),
        ("jobs:run", False),
    ],
)
async def test_what_is_here_is_known(resource, known):
    registry = {**Jobs().registry, ("jobs", "full"): Integration(raising)}

    assert Integrations(registry, StandingClock()).knows(resource) is known


class Point:
    def __init__(self, name, loaded):
        self.name, self._loaded = name, loaded

    def load(self):
        return self._loaded


def test_a_deployment_adds_its_own_by_entry_points(monkeypatch):
    whole = Integration(raising)
    points = [Point("jobs:run", broken), Point("aws-sdk:jobs:full", whole)]
    monkeypatch.setattr(integrations, "entry_points", lambda group: points)

    found = discovered()

    assert found == {("jobs", "run"): Integration(broken), ("aws-sdk:jobs", "full"): whole}
