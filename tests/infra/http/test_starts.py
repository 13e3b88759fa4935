"""Starts over HTTP with an id of the caller's, policies and a token; and the paths that take such an id."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from xingqiao import composer
from xingqiao.composer import Success

ODD = ["a/b", "a%2Fb", "%", "a b?c#d", "订单/7", "x/history", "...", "../..", "e;v=1", "Ä\\+&="]


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("good", composer.sequence("echo"))
    await world.put("long", composer.sequence("hold"))
    return world


async def start(client, name="long", body=None, headers=None, **query):
    query = {"id": "order-7", **query}
    return await client.post(f"/actions/{name}", json=body or {}, params=query, headers=headers)


def path_of(id, rest=""):
    return f"/executions/{quote(id, safe='').replace('.', '%2E')}{rest}"


async def test_a_start_answers_with_its_id_and_the_id_of_its_run(deployed, client):
    answer = await start(client)

    run = answer.json()["activationId"]
    assert (answer.status_code, answer.json()) == (202, {"activationId": run, "id": "order-7"})
    shown = (await client.get("/executions/order-7")).json()
    assert (shown["executionId"], shown["id"]) == (run, "order-7")
    listed = (await client.get("/executions")).json()
    assert [(doc["executionId"], doc["id"]) for doc in listed] == [(run, "order-7")]


@pytest.mark.parametrize("name", ["long", "hold"])
async def test_each_policy_for_an_open_run(deployed, client, name):
    run = (await start(client, name)).json()["activationId"]

    refused = await start(client, name)
    used = await start(client, name, {"n": 2}, on_open="use")
    same = await start(client, name, on_open="same")
    other = await start(client, name, {"n": 2}, on_open="same")
    replaced = await start(client, name, on_open="terminate")

    for answer in (refused, other):
        doc = answer.json()
        assert answer.status_code == 409
        assert (doc["code"], doc["executionId"]) == ("AlreadyStarted", run)
        assert run in doc["error"]
        assert "x-openwhisk-activation-id" not in answer.headers
    assert used.json() == same.json() == {"activationId": run, "id": "order-7"}
    assert replaced.status_code == 202
    assert replaced.json()["activationId"] != run


async def test_each_policy_for_an_ended_run(deployed, client):
    first = await start(client, "good", {"n": 1}, blocking=True)
    assert first.json()["id"] == "order-7"

    refused = await start(client, "good", on_closed="reject")
    succeeded = await start(client, "good", on_closed="allow_failed")
    again = await start(client, "fail", blocking=True, result=True)
    after = await start(
        client, "good", {"n": 2}, blocking=True, result=True, on_closed="allow_failed"
    )

    for answer in (refused, succeeded):
        assert answer.status_code == 409
        assert answer.json()["code"] == "AlreadyCompleted"
    assert again.status_code == 502
    assert (after.status_code, after.json()) == (200, {"n": 2})


async def test_a_call_that_waits_for_a_run_that_is_used_gets_its_result(deployed, client):
    first = await start(client)
    held = await deployed.hands.held.get()
    deployed.hands.answer(held.activation, Success({"done": True}))

    answer = await start(client, on_open="use", blocking=True, result=True)

    assert answer.json() in ({"done": True}, {})
    assert first.status_code == 202


async def test_the_header_and_the_parameter_are_the_same_token(deployed, client):
    first = await start(client, token="t-1")
    second = await start(client, headers={"Idempotency-Key": "t-1"})
    both = await start(client, token="t-1", headers={"Idempotency-Key": "t-1"})
    differ = await start(client, token="t-1", headers={"Idempotency-Key": "t-2"})

    assert first.json() == second.json() == both.json()
    assert second.headers["idempotency-replayed"] == "true"
    assert differ.status_code == 400
    assert "differ" in differ.json()["error"]


@pytest.mark.parametrize(
    ("query", "code", "says"),
    [
        ({"id": "0" * 32}, "InvalidId", "32 hexadecimal digits"),
        ({"id": "a\nb"}, "InvalidId", "control characters"),
        ({"id": ""}, "InvalidId", "is empty"),
        ({"id": "x" * 256}, "InvalidId", "1 to 255 characters"),
        ({"on_open": "kill"}, None, "'on_open' must be one of fail, use, same, terminate"),
        ({"on_closed": "never"}, None, "'on_closed' must be one of allow, allow_failed, reject"),
        ({"token": ""}, None, "1 to 255 printable ASCII characters"),
    ],
)
async def test_what_is_wrong_with_a_start_is_said(deployed, client, query, code, says):
    answer = await start(client, **query)

    assert answer.status_code == 400
    assert says in answer.json()["error"]
    if code is not None:
        assert answer.json()["code"] == code


async def test_a_policy_without_an_id_is_refused(deployed, client):
    answer = await client.post("/actions/long", json={}, params={"on_open": "use"})

    assert (answer.status_code, "without 'id'" in answer.json()["error"]) == (400, True)


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ODD)
async def test_an_id_may_hold_any_character_of_a_path(deployed, client, id):
    run = (await start(client, id=id)).json()["activationId"]

    shown = await client.get(path_of(id))
    history = await client.get(path_of(id, "/history"))
    saga = await client.get(path_of(id).replace("executions", "sagas"))
    listed = await client.get("/executions", params={"id": id})
    ended = await client.post(path_of(id, "/cancel"), params={"terminate": True})
    record = await client.get(path_of(id).replace("executions", "activations"))

    assert [shown.status_code, history.status_code, saga.status_code] == [200, 200, 200], shown.text
    assert shown.json()["executionId"] == saga.json()["executionId"] == run
    assert shown.json()["id"] == id
    assert history.json()["entries"][0]["type"] == "ExecutionStarted"
    assert [doc["executionId"] for doc in listed.json()] == [run]
    assert ended.json()["status"] in {"running", "cancelled"}
    assert record.json()["activationId"] == run


async def test_an_earlier_run_is_picked_by_the_parameter_run(deployed, client):
    runs = [
        (await start(client, "good", {"n": n}, blocking=True)).json()["activationId"]
        for n in range(3)
    ]

    newest = (await client.get("/executions/order-7")).json()["executionId"]
    first = (await client.get("/executions/order-7", params={"run": runs[0]})).json()
    result = (await client.get("/activations/order-7/result", params={"run": runs[1]})).json()
    none = await client.get("/executions/order-7", params={"run": "f" * 32})
    listed = (await client.get("/executions", params={"id": "order-7", "limit": 2})).json()
    rest = (await client.get("/executions", params={"id": "order-7", "skip": 2})).json()
    failed = (await client.get("/executions", params={"id": "order-7", "status": "failed"})).json()

    assert (newest, first["executionId"]) == (runs[2], runs[0])
    assert result["result"] == {"n": 1}
    assert none.status_code == 404
    assert "is none of the execution 'order-7'" in none.json()["error"]
    assert [doc["executionId"] for doc in listed + rest] == sorted(runs, reverse=True)
    assert failed == []


async def test_a_single_action_is_found_by_its_id_among_activations(deployed, client):
    run = (await start(client, "echo", {"n": 1}, blocking=True)).json()["activationId"]

    assert (await client.get("/activations/order-7")).json()["activationId"] == run
    assert (await client.get("/activations/order-7/logs")).json() == {"logs": ["a line"]}
    missing = await client.get("/executions/order-7")
    assert missing.status_code == 404
    unknown = await client.get("/activations/order-8")
    assert unknown.json()["error"] == "Activation id length is 7 but must be 32."
