"""Updates over HTTP: their answers, the stages that a caller waits for, and the errors with their codes."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Success, path, var

UNKNOWN = "0" * 32
HANDLERS = {
    "add": composer.on_update(
        validate=path("$.n") > 0, body="echo", sets={"n": path("$.n")}, answer=var("n")
    ),
    "slow": composer.on_update(body="hold"),
    "bad": composer.on_update(body="raise"),
}
MAIN = composer.let({"n": 0}, composer.updates("hold", **HANDLERS), composer.select(var("n")))


@pytest.fixture
async def id(world):
    for word in ("echo", "fail", "hold", "raise"):
        await world.put(word, word)
    await world.put("main", MAIN)
    id = await world.start("main")
    world.main = await world.hands.held.get()
    return id


async def ask(client, id, name="add", body=None, **query):
    return await client.post(
        f"/executions/{id}/updates/{name}", json=body or {"n": 3}, params=query
    )


async def told(client, id, name, update, **query):
    return await client.get(f"/executions/{id}/updates/{name}/{update}", params=query)


def refused(answer, status, code):
    """The text of a refusal with this status and this code."""
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    return answer.json()["error"]


async def test_an_update_is_answered_by_its_id_also_after_the_end(world, client, id):
    answer = await ask(client, id, update="u 1")

    assert answer.status_code == 200
    assert answer.json() == {
        "executionId": id, "name": "add", "update": "u 1", "status": "completed", "answer": 3,
    }  # fmt: skip
    assert (await ask(client, id, body={"n": 9}, update="u 1")).json() == answer.json()
    world.hands.answer(world.main.activation, Success({}))
    await world.record(id)
    assert (await told(client, id, "add", "u 1")).json() == answer.json()


async def test_a_caller_waits_for_a_stage(world, client, id):
    accepted = await ask(client, id, "slow", wait="accepted")
    held = await world.hands.held.get()
    other = await ask(client, id, "slow", timeout=0, update="o")

    assert (accepted.status_code, accepted.json()["status"]) == (202, "accepted")
    assert (other.status_code, len(accepted.json()["update"])) == (202, 32)
    assert (await told(client, id, "slow", "o", wait=1)).status_code == 202
    world.hands.answer(held.activation, Success({"n": 1}))
    ended = await told(client, id, "slow", accepted.json()["update"], wait=10_000)
    assert (ended.status_code, ended.json()["answer"]) == (200, {"n": 1})


async def test_a_failure_has_its_code_its_error_and_its_classes(client, id):
    answer = await ask(client, id, "bad")

    assert answer.status_code == 200
    assert answer.json() | {"update": ""} == {
        "executionId": id, "name": "bad", "update": "", "status": "failed", "error": "'oder'",
        "errorCode": "ApplicationError", "raised": ["KeyError", "LookupError"],
    }  # fmt: skip


async def test_each_refusal_has_its_code(world, client, id):
    assert "rejects update 'add'" in refused(await ask(client, id, body={"n": 0}), 400, "Rejected")
    assert "it has add, slow, bad" in refused(await ask(client, id, "x"), 404, "NoSuchUpdate")
    assert (await ask(client, id, wait="never")).status_code == 400
    assert (await ask(client, id, update="")).status_code == 400
    assert (await ask(client, id, update="a/b")).status_code == 400
    assert (await ask(client, UNKNOWN)).status_code == 404
    assert (await told(client, id, "add", "none")).status_code == 404
    for n in range(10):
        await ask(client, id, "slow", wait="accepted", update=f"{n}")
    assert "10 updates" in refused(await ask(client, id), 429, "TooManyUpdates")
    world.hands.answer(world.main.activation, Success({}))
    await world.record(id)
    assert "has ended" in refused(await ask(client, id), 409, "Closed")
    closed = (await told(client, id, "slow", "0")).json()
    assert (closed["status"], closed["errorCode"]) == ("failed", "Closed")


async def test_an_execution_is_updated_by_its_user_s_id(client, world, id):
    del id
    begun = await client.post("/actions/main?id=order-7", json={})
    assert begun.status_code == 202
    await world.hands.held.get()

    assert (await ask(client, "order-7", update="u")).json()["answer"] == 3
    assert (await told(client, "order-7", "add", "u")).json()["answer"] == 3


async def test_updates_of_an_execution_that_a_package_hides_are_not_told(client, id, monkeypatch):
    async def hidden(*_):
        return True

    monkeypatch.setattr("xingqiao.infra.http.visibility.is_run_hidden", hidden)

    assert (await ask(client, id)).status_code == 403
    assert (await told(client, id, "add", "u")).status_code == 403
