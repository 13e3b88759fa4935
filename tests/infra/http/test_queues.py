"""Queues over HTTP: workers take tasks and answer them by token, operators look and limit."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import world as opened
from xingqiao import composer

COMPLETIONS = "/api/v1/completions"


@pytest.fixture
async def made():
    async with opened() as made:
        answer = await made.client.put(
            "/actions/work", json={"exec": {"kind": "queue", "queue": "gpu", "heartbeat": 30}}
        )
        assert answer.status_code == 200, answer.text
        yield made


async def take(made, **asked):
    return await made.client.post("/queues/gpu/take", json={"worker": "one", **asked})


async def waiting(made, count):
    """Lets the service go on until so many tasks wait."""
    while made.engine.queues.gauges()["queued_tasks"] < count:
        await anyio.lowlevel.checkpoint()


async def test_a_worker_takes_a_task_and_answers_it_by_its_token(made):
    id = await made.start("work", {"n": 1})
    answer = await take(made, wait=5, version="v1")
    task = answer.json()

    assert answer.status_code == 200
    assert (task["params"], task["action"], task["attempt"], task["heartbeat"]) == (
        {"n": 1}, "/guest/work", 1, 30.0,
    )  # fmt: skip
    async with made.caller() as worker:  # the token is enough
        beat = await worker.post(f"{COMPLETIONS}/{task['token']}/heartbeat", json={"at": 5})
        assert beat.json() == {"cancel": False}
        done = await worker.post(f"{COMPLETIONS}/{task['token']}", json={"ok": 1})
        assert done.status_code == 202
        beat = await worker.post(f"{COMPLETIONS}/{task['token']}/heartbeat")
        assert beat.json() == {"cancel": True}
    assert (await made.record(id))["response"]["result"] == {"ok": 1}


async def test_an_empty_queue_answers_204_and_several_tasks_come_as_a_list(made):
    assert (await take(made)).status_code == 204
    assert (await take(made, count=5)).json() == {"tasks": []}

    for n in range(3):
        await made.start("work", {"n": n})
    await waiting(made, 3)
    found = (await take(made, count=5, wait=5)).json()["tasks"]
    assert [task["params"]["n"] for task in found] == [0, 1, 2]


async def test_a_worker_that_leaves_ends_its_wait(made):
    polling = asyncio.ensure_future(take(made, wait=20))
    while not made.engine.queues.gauges()["polling_workers"]:
        await anyio.lowlevel.checkpoint()
    assert (await made.client.delete("/queues/gpu/workers/one")).status_code == 204

    assert (await polling).status_code == 204


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"wait": 61}, "'wait' must be a number of seconds from 0 to 60, not 61."),
        ({"wait": "5"}, "'wait' must be a number of seconds from 0 to 60, not '5'."),
        ({"count": 0}, "'count' must be a whole number from 1 to 100, not 0."),
        ({"slots": -1}, "'slots' must be a whole number from 0 to 1000000, not -1."),
        ({"version": 5}, "'version' must be a string, not 5."),
        ({"version": "x" * 256}, "'version' must be a string of at most 255 characters."),
    ],
)
async def test_a_malformed_request_is_refused_and_the_member_is_named(made, asked, why):
    answer = await take(made, **asked)

    assert (answer.status_code, answer.json()["error"]) == (400, why)


async def test_an_operator_looks_at_queues_and_limits_them(made):
    await made.start("work")
    await waiting(made, 1)
    shown = (await made.client.get("/queues/gpu")).json()
    assert (shown["backlog"], shown["actions"], shown["settings"]) == (1, ["work"], {})
    assert (await made.client.get("/queues")).json() == [shown]

    answer = await made.client.put("/queues/gpu", json={"concurrent": 2, "weights": {"acme": 2}})
    assert answer.json()["settings"] == {"concurrent": 2, "weights": {"acme": 2}}
    assert (await made.client.delete("/queues/gpu")).status_code == 204
    assert (await made.client.delete("/queues/gpu")).status_code == 404
    assert (await made.client.get("/queues/other")).status_code == 404
    answer = await made.client.put("/queues/gpu", json={"concurent": 2})
    assert "'concurent' is not a setting of a queue" in answer.json()["error"]


async def test_a_workers_key_takes_tasks_and_does_nothing_else(made):
    key = await made.api.keys.create("guest", "farm", "work", "test")
    await made.start("work")
    async with made.caller(auth=tuple(key.split(":"))) as worker:
        home = "/api/v1/namespaces/_"
        taken = await worker.post(f"{home}/queues/gpu/take", json={"worker": "one", "wait": 5})
        assert taken.status_code == 200
        assert (await worker.get(f"{home}/queues/gpu")).status_code == 403
        assert (await worker.post(f"{home}/actions/work")).status_code == 403


async def test_the_progress_of_a_waiting_task_is_shown_with_its_execution(made):
    await made.put("main", composer.action("work"))
    id = await made.start("main")
    found = await made.standing(id, waits=["worker"])
    assert (found["fibers"][0]["queue"], found["fibers"][0]["attempt"]) == ("gpu", 0)
    task = (await take(made, wait=5)).json()
    (fiber,) = (await made.standing(id, waits=["worker"]))["fibers"]
    assert (fiber["attempt"], fiber["worker"]) == (1, "one")
    await made.client.post(f"http://test{COMPLETIONS}/{task['token']}", json={})
