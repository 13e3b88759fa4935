"""Every answer has an id, headers and, if need be, an error; and a server that stops says so."""

from __future__ import annotations

import httpx
import pytest

from tests.kit.http.worlds import OPERATOR
from xingqiao.infra.http import create_app
from xingqiao.infra.service.api import WINGS


async def test_a_service_that_stops_takes_nothing_new_and_still_shows_what_there_is(world, client):
    await world.put("echo", "echo")
    id = await world.ended("echo")
    world.api.stopping = True

    for method, path in (
        ("POST", "/actions/echo"),
        ("PUT", "/actions/more"),
        ("DELETE", "/actions/echo"),
        ("POST", f"/executions/{id}/cancel"),
    ):
        answer = await client.request(method, path)
        assert (answer.status_code, answer.json()["error"]) == (503, "The server is stopping.")
    assert (await client.get(f"/activations/{id}")).status_code == 200
    health = await world.caller().get("/health")
    assert (health.status_code, health.json()) == (503, {"status": "stopping"})


async def test_every_answer_has_an_id_its_callers_or_a_new_one(client):
    made = {(await client.get("/actions")).headers["x-request-id"] for _ in range(3)}
    given = await client.get("/actions", headers={"X-Request-ID": "from-the-caller"})
    refused = await client.get("/actions/none", headers={"X-Request-ID": "from-the-caller"})

    assert len(made) == 3
    assert {len(id) for id in made} == {32}
    assert given.headers["x-request-id"] == "from-the-caller"
    assert refused.json()["code"] == "from-the-caller"


async def test_an_id_that_is_too_long_or_empty_is_not_taken(client):
    for id in ("x" * 129, ""):
        answer = await client.get("/actions", headers={"X-Request-ID": id})
        assert len(answer.headers["x-request-id"]) == 32
    assert (await client.get("/actions", headers={"X-Request-ID": "x" * 128})).headers[
        "x-request-id"
    ] == "x" * 128


async def test_every_answer_has_headers_for_browsers(world, client):
    await world.put("echo", "echo")
    answers = [
        await client.get("/actions"),
        await client.post("/actions/echo"),
        await client.get("/actions/none"),
        await world.caller().get("/nowhere"),
        await world.caller().get("/health"),
    ]

    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["access-control-allow-headers"] == (
            "Authorization, Origin, X-Requested-With, Content-Type, Accept, User-Agent"
        )
        assert answer.headers["access-control-allow-methods"] == "GET,DELETE,POST,PUT,HEAD"


async def test_what_is_no_resource_is_not_found_in_json(world, client):
    caller = world.caller(auth=client.auth)

    for path in ("/nowhere", "/api/v2/namespaces", "/api/v1/namespaces/_/nothing"):
        answer = await caller.get(path)
        assert answer.status_code == 404
        assert answer.json() == {
            "error": "The requested resource does not exist.",
            "code": answer.headers["x-request-id"],
        }


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/actions/a"),
        ("POST", "/actions"),
        ("PUT", "/activations/" + "0" * 32),
        ("POST", "/activations"),
        ("PUT", "/executions/a"),
        ("GET", "/executions/a/cancel"),
        ("PUT", "/executions/a/redrive"),
    ],
)
async def test_a_method_that_is_not_served_is_refused_in_json(client, method, path):
    answer = await client.request(method, path)

    assert answer.status_code == 405
    assert answer.json() == {
        "error": "HTTP method not allowed for this resource.",
        "code": answer.headers["x-request-id"],
    }


async def test_what_can_be_got_has_a_head(world, client):
    await world.put("echo", "echo")

    answer = await client.head("/actions/echo")

    assert answer.status_code == 200
    assert answer.content == b""


async def test_a_caller_who_leaves_before_the_end_is_no_error_of_ours(world):
    received = iter(
        [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    )
    sent = []

    async def receive():
        return next(received)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/v1/completions/x", "query_string": b"",
        "headers": [(b"content-length", b"100")], "root_path": "",
    }  # fmt: skip
    await create_app(world.api, WINGS)(scope, receive, send)

    assert sent[0]["status"] == 400


async def test_a_mistake_of_ours_is_told_without_its_details(world, client):
    def mistaken():
        raise RuntimeError("a detail")

    world.api.metrics = mistaken
    transport = httpx.ASGITransport(create_app(world.api, WINGS), raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", auth=tuple(OPERATOR.split(":"))
    ) as caller:
        answer = await caller.get("/metrics")

    assert answer.status_code == 500
    assert answer.json() == {
        "error": "There was an internal server error.",
        "code": answer.headers["x-request-id"],
    }
    assert answer.headers["access-control-allow-origin"] == "*"
