"""Resets and forks over HTTP: bodies, answers, errors."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Success

UNKNOWN = "0" * 32


@pytest.fixture
async def deployed(world):
    for word in ("echo", "hold"):
        await world.put(word, word)
    await world.put("main", composer.sequence("echo", "hold"))
    return world


async def test_a_run_is_reset_to_a_step(deployed, client):
    id = await deployed.start("main", {"n": 1})
    await deployed.hands.held.get()

    answer = await client.post(
        f"/executions/{id}/reset", json={"to": {"step": "echo"}, "reason": "again"}
    )

    found = answer.json()
    assert (answer.status_code, found["status"]) == (202, "running")
    assert found["reset"] == {"executionId": id, "entry": 2}
    again = await deployed.hands.held.get()
    deployed.hands.answer(again.activation, Success({"done": True}))
    await deployed.standing(found["executionId"], status="succeeded")
    assert (await client.get(f"/executions/{id}")).json()["status"] == "cancelled"


async def test_a_fork_has_its_own_id_and_input(deployed, client):
    id = await deployed.start("main", {"n": 1})
    await deployed.hands.held.get()

    answer = await client.post(f"/executions/{id}/fork?id=other/1", json={"input": {"n": 2}})

    assert (answer.status_code, answer.json()["id"]) == (202, "other/1")
    assert answer.json()["fork"] == {"executionId": id, "entry": 4}
    assert (await deployed.hands.held.get()).params == {"n": 2}
    taken = await client.post(f"/executions/{id}/fork?id=other/1", json={})
    assert (taken.status_code, taken.json()["code"]) == (409, "AlreadyStarted")


@pytest.mark.parametrize(
    ("verb", "body", "status", "told"),
    [
        ("reset", {"to": True}, 400, "'to' must be the number of an entry"),
        ("reset", {"to": "middle"}, 400, "'to' must be the number of an entry"),
        ("reset", {"to": {"step": 1}}, 400, "'to' must be the number of an entry"),
        (
            "reset",
            {"input": {}},
            400,
            "'input' is not known: give composition, messages, reason, to.",
        ),
        ("reset", {"reason": 1}, 400, "'reason' must be"),
        ("reset", {"messages": "some"}, 400, "'messages' must be 'keep' or 'drop'"),
        ("reset", {"composition": {"type": "no"}}, 400, "malformed"),
        ("fork", {"too": 1}, 400, "'too' is not known"),
        ("fork", {"to": 1, "input": {}}, 409, "StepScheduled"),
        ("reset", {"to": 99}, 409, "there is no entry 99"),
    ],
)
async def test_a_mistake_is_named_and_changes_nothing(deployed, client, verb, body, status, told):
    id = await deployed.start("main")
    await deployed.hands.held.get()

    answer = await client.post(f"/executions/{id}/{verb}", json=body)

    assert answer.status_code == status, answer.text
    assert told in answer.json()["error"]
    if status == 409:
        assert answer.json()["code"] == "ResetRefused"
    assert [doc["executionId"] for doc in (await client.get("/executions")).json()] == [id]


@pytest.mark.parametrize("verb", ["reset", "fork"])
async def test_one_that_never_was_is_not_found(client, verb):
    assert (await client.post(f"/executions/{UNKNOWN}/{verb}", json={})).status_code == 404
