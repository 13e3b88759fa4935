"""Messages over HTTP."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import receive

UNKNOWN = "0" * 32


@pytest.fixture
async def deployed(world):
    await world.put("hold", "hold")
    await world.put("p", receive("go"))
    await world.put("later", composer.sequence("hold", receive("go")))
    return world


async def test_a_message_is_accepted_and_heard(deployed, client):
    id = await deployed.start("p")

    answer = await client.post(f"/executions/{id}/messages/go", json={"by": "anna"})

    assert answer.status_code == 202
    assert answer.json() == {"executionId": id, "name": "go"}
    result = await client.get(f"/activations/{id}/result", params={"wait": 5000})
    assert result.json()["result"] == {"by": "anna"}


async def test_a_payload_may_be_any_json_or_none(deployed, client):
    id = await deployed.start("later")

    for body in (b"7", b'"x"', b"", b"[1]"):
        answer = await client.post(f"/executions/{id}/messages/go", content=body)
        assert answer.status_code == 202

    found = (await client.get(f"/executions/{id}/messages")).json()
    assert [message["payload"] for message in found] == [7, "x", None, [1]]


async def test_an_id_is_taken_once(deployed, client):
    id = await deployed.start("later")
    url = f"/executions/{id}/messages/go"
    first = await client.post(url, json=1, params={"message": "m-1"})
    again = await client.post(url, json=2, params={"message": "m-1"})

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == {"executionId": id, "name": "go", "message": "m-1"}
    assert again.json() == {**first.json(), "replayed": True}
    [message] = (await client.get(f"/executions/{id}/messages")).json()
    assert (message["id"], message["payload"]) == ("m-1", 1)


@pytest.mark.parametrize("start", [{}, {"start": "later"}])
async def test_a_key_without_an_id_of_the_message_is_refused(deployed, client, start):
    id = await deployed.start("later")
    url, key = f"/executions/{id}/messages/go", {"Idempotency-Key": "k"}
    refused = await client.post(url, json={}, headers=key, params=start)

    assert refused.status_code == 400
    assert "add the query parameter 'message'" in refused.json()["error"]
    assert (await client.get(f"/executions/{id}/messages")).json() == []


async def test_undelivered_messages_are_listed_in_pages(deployed, client):
    id = await deployed.start("later")
    for n in range(3):
        await client.post(f"/executions/{id}/messages/go", json=n)

    [first] = (await client.get(f"/executions/{id}/messages", params={"limit": 1})).json()
    query = {"limit": 5, "after": first["seq"]}
    rest = (await client.get(f"/executions/{id}/messages", params=query)).json()

    assert [first["payload"], *(message["payload"] for message in rest)] == [0, 1, 2]


async def test_an_execution_that_has_ended_refuses_with_a_code(deployed, client):
    id = await deployed.start("p")
    await client.post(f"/executions/{id}/messages/go")
    await client.get(f"/activations/{id}", params={"wait": 5000})

    answer = await client.post(f"/executions/{id}/messages/go")

    assert answer.status_code == 409
    assert answer.json() == {"error": f"Execution {id} has ended.", "code": "Closed"}
    assert (await client.get(f"/executions/{id}/messages")).json() == []


@pytest.mark.parametrize("method", ["get", "post"])
async def test_there_is_no_such_execution(deployed, client, method):
    path = {"get": "messages", "post": "messages/go"}[method]

    answer = await client.request(method, f"/executions/{UNKNOWN}/{path}")

    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("name", "body", "query", "status"),
    [
        ("$go", b"1", {}, 400),
        ("go", b"{", {}, 400),
        ("go", b"1", {"message": ""}, 400),
        ("go", b"1", {"message": "x" * 256}, 400),
        ("go", b'"' + b"x" * 20_000 + b'"', {}, 413),
    ],
)
async def test_malformed_and_large_ones_are_refused(deployed, client, name, body, query, status):
    id = await deployed.start("p")

    answer = await client.post(f"/executions/{id}/messages/{name}", content=body, params=query)

    assert answer.status_code == status


# --- with a start ---------------------------------------------------------------------------------


async def test_a_message_starts_an_execution_and_the_next_is_told_to_it(deployed, client):
    url, query = "/executions/order-7/messages/go", {"start": "later"}

    first = await client.post(url, params=query, json={"input": {"n": 1}, "payload": "a"})
    second = await client.post(url, params={**query, "message": "m"}, json={"payload": "b"})

    id = first.json()["executionId"]
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == {"executionId": id, "name": "go", "id": "order-7", "started": True}
    assert second.json() == {**first.json(), "message": "m", "started": False}
    found = (await client.get("/executions/order-7/messages")).json()
    assert [message["payload"] for message in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "query", "body", "status"),
    [
        ("order-7", {"start": "hold"}, {}, 400),
        ("order-7", {"start": "unknown"}, {}, 404),
        ("order-7", {"start": "later"}, {"params": {}}, 400),
        ("order-7", {"start": "later"}, {"input": 7}, 400),
        ("order-7", {"start": "later", "on_closed": "x"}, {}, 400),
        (UNKNOWN, {"start": "later"}, {}, 400),
    ],
)
async def test_a_start_that_cannot_be_is_refused(deployed, client, path, query, body, status):
    answer = await client.post(f"/executions/{path}/messages/go", params=query, json=body)

    assert answer.status_code == status, answer.text
