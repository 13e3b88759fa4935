"""Requests that wait: the end of a step, the next entries of a history, the next logs of a namespace."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import LOOKS
from tests.kit.http.worlds import world as opened
from xingqiao import composer
from xingqiao.composer import Success
from xingqiao.infra.engine import EngineSettings

UNKNOWN = "0" * 32
LONG_MS = 60_000


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("long", composer.sequence("echo", "hold", "echo"))
    await world.put("outer", composer.sequence("long", "echo"))
    return world


@asynccontextmanager
async def asked(world, path, **query):
    """A request that waits: yields its task as soon as the server waits."""
    before = world.engine.gauges()["waiters"]
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(world.client.get(path, params={"wait": LONG_MS, **query}))
        for _ in range(LOOKS):
            if task.done() or world.engine.gauges()["waiters"] > before:
                break
            await anyio.lowlevel.checkpoint()
        yield task


async def logs(world, **query):
    answer = await world.client.get("/logs", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def position(world):
    return (await logs(world))["next"]


def names(page):
    return [record["name"] for record in page["activations"]]


# --- an activation -----------------------------------------------------------------------------


async def test_the_end_of_a_step_is_waited_for(deployed, client):
    await deployed.start("long")
    held = await deployed.hands.held.get()

    async with asked(deployed, f"/activations/{held.activation}") as answer:
        assert not answer.done()
        deployed.hands.answer(held.activation, Success({"n": 1}))

    assert answer.result().json()["response"]["result"] == {"n": 1}


async def test_an_activation_that_nothing_will_write_is_not_waited_for(deployed, client):
    await deployed.start("long")
    held = await deployed.hands.held.get()
    like_it = held.activation[:12] + "0" * 20

    for unknown in (UNKNOWN, like_it):
        answer = await client.get(f"/activations/{unknown}", params={"wait": LONG_MS})
        assert answer.status_code == 404


async def test_the_bounds_of_a_wait(deployed, client):
    id = await deployed.ended("echo")

    for path in (f"/activations/{id}", "/logs"):
        for wait, status in ((0, 200), (60_000, 200), (60_001, 400), (-1, 400)):
            assert (await client.get(path, params={"wait": wait})).status_code == status


# --- a history ---------------------------------------------------------------------------------


async def test_the_next_entries_are_waited_for(deployed, client):
    id = await deployed.start("long")
    held = await deployed.hands.held.get()
    first = (await client.get(f"/executions/{id}/history")).json()
    last = first["entries"][-1]["seq"]

    async with asked(deployed, f"/executions/{id}/history", after=last) as answer:
        assert not answer.done()
        deployed.hands.answer(held.activation, Success({}))

    page = answer.result().json()
    assert first["status"] == "running"
    assert page["entries"][0]["seq"] == last + 1
    assert page["entries"][0]["type"] == "StepSucceeded"


async def test_the_history_of_an_execution_that_has_ended_is_not_waited_for(deployed, client):
    await deployed.put("short", composer.sequence("echo"))
    id = await deployed.ended("short")

    answer = await client.get(f"/executions/{id}/history", params={"after": 1000, "wait": LONG_MS})

    assert answer.json() == {"entries": [], "status": "succeeded"}


async def test_a_page_of_a_history_loads_the_execution_once(deployed, client, monkeypatch):
    await deployed.put("short", composer.sequence("echo"))
    id = await deployed.ended("short")
    loads = []
    load = deployed.store.load

    async def counted(execution):
        loads.append(execution)
        return await load(execution)

    monkeypatch.setattr(deployed.store, "load", counted)

    assert (await client.get(f"/executions/{id}/history")).status_code == 200

    assert loads == [id]


async def test_history_and_logs_come_together_and_from_below(deployed, client):
    id = await deployed.start("outer")
    held = await deployed.hands.held.get()
    path = f"/executions/{id}/history"
    first = (await client.get(path, params={"logs": ""})).json()
    assert first["logs"]["activations"] == []

    async with asked(
        deployed, path, after=first["entries"][-1]["seq"], logs=first["logs"]["next"]
    ) as answer:
        await deployed.ended("echo")  # of another call: it does not concern this execution
        deployed.hands.answer(held.activation, Success({}))

    first, *_ = answer.result().json()["logs"]["activations"]
    assert first["activationId"] == held.activation


async def test_the_end_does_not_come_before_the_logs_of_its_commit(deployed, client, monkeypatch):
    """A store shows a commit while the engine has not heard yet that it is done."""
    id = await deployed.start("long")
    held = await deployed.hands.held.get()
    path, shown, heard = f"/executions/{id}/history", asyncio.Event(), asyncio.Event()
    first = (await client.get(path, params={"logs": ""})).json()
    commit = deployed.store.commit

    async def hold_back(writes):
        refused = await commit(writes)
        if any(row.ended_ms is not None for write in writes for row in write.executions):
            shown.set()
            await heard.wait()
        return refused

    monkeypatch.setattr(deployed.store, "commit", hold_back)
    deployed.hands.answer(held.activation, Success({}))
    await shown.wait()
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(client.get(path, params={"logs": first["logs"]["next"]}))
        for _ in range(LOOKS):
            await anyio.lowlevel.checkpoint()
        heard.set()

    page = asking.result().json()
    assert page["status"] == "succeeded"
    assert names(page["logs"])[-1] == "long"


# --- logs --------------------------------------------------------------------------------------


async def test_logs_come_in_the_order_of_their_commits_and_each_once(deployed):
    at = await position(deployed)
    for name in ("echo", "fail", "echo"):
        await deployed.ended(name)

    first = await logs(deployed, after=at, limit=2)
    second = await logs(deployed, after=first["next"])
    third = await logs(deployed, after=second["next"])

    assert [names(page) for page in (first, second, third)] == [["echo", "fail"], ["echo"], []]
    assert first["activations"][0]["logs"] == ["a line"]
    assert "gap" not in second


async def test_logs_are_waited_for(deployed):
    at = await position(deployed)

    async with asked(deployed, "/logs", after=at, name="fail") as answer:
        await deployed.ended("echo")
        assert not answer.done()
        await deployed.ended("fail")

    assert names(answer.result().json()) == ["fail"]


async def test_only_the_logs_of_the_namespace_are_told(deployed):
    at = await position(deployed)
    await deployed.ended("echo")

    async with deployed.caller(("operator", "an-operators-key")) as operator:
        page = (await operator.get("/api/v1/namespaces/_/logs", params={"after": at})).json()
        refused = await operator.get("/api/v1/namespaces/guest/logs", params={"after": at})

    assert page["activations"] == []
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "unknown", ["1", "an-earlier-life.1", "{life}.999", "{life}.-1", "{life}.x"]
)
async def test_a_position_that_is_not_known_is_a_gap(deployed, unknown):
    life = (await position(deployed)).rpartition(".")[0]

    page = await logs(deployed, after=unknown.format(life=life), wait=LONG_MS)

    assert (page["gap"], page["activations"]) == (True, [])
    assert page["next"] == await position(deployed)


async def test_a_reader_that_is_too_far_behind_is_told():
    async with opened(settings=EngineSettings(followed=2)) as world:
        await world.put("echo", "echo")
        at = await position(world)
        await world.ended("echo")
        behind = await position(world)
        for _ in range(2):
            await world.ended("echo")

        assert (await logs(world, after=at))["gap"]
        assert len((await logs(world, after=behind))["activations"]) == 2


async def test_a_page_is_bounded_in_bytes():
    async with opened(settings=EngineSettings(page_bytes=1)) as world:
        await world.put("echo", "echo")
        at = await position(world)
        for _ in range(2):
            await world.ended("echo")

        assert len((await logs(world, after=at))["activations"]) == 1


@pytest.mark.parametrize(("limit", "status"), [(0, 400), (1, 200), (200, 200), (201, 400)])
async def test_the_bounds_of_a_page(client, limit, status):
    assert (await client.get("/logs", params={"limit": limit})).status_code == status


async def test_a_server_that_stops_lets_nobody_wait(deployed, client):
    at = await position(deployed)

    async with asked(deployed, "/logs", after=at) as answer:
        await deployed.engine.drain(0)

    assert answer.result().status_code == 503
    assert "stopping" in answer.result().json()["error"]
    assert (await client.get("/logs", params={"after": at})).status_code == 200
