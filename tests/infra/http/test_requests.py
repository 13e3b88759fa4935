"""What every request and every answer has in common, and bodies that mean no good."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import httpx
import pytest

from tests.kit.http.worlds import OPERATOR, PAYLOAD_BYTES
from tests.kit.http.worlds import world as opened
from xingqiao.composer import MAX_DEPTH
from xingqiao.infra.engine import Pacing
from xingqiao.infra.http import create_app
from xingqiao.infra.service.api import WINGS
from xingqiao.infra.stores import MemoryStore

ECHO = {"exec": {"kind": "python:3", "code": "echo"}}
RESULT = {"blocking": "true", "result": "true"}
MALFORMED = "The request content was malformed:\n"
PATHS = [
    ("GET", "/api/v1/namespaces"),
    ("GET", "/api/v1/namespaces/_/actions"),
    ("GET", "/api/v1/namespaces/_/actions/a"),
    ("PUT", "/api/v1/namespaces/_/actions/a"),
    ("DELETE", "/api/v1/namespaces/_/actions/a"),
    ("POST", "/api/v1/namespaces/_/actions/a"),
    ("GET", "/api/v1/namespaces/_/activations"),
    ("GET", "/api/v1/namespaces/_/activations/" + "0" * 32),
    ("GET", "/api/v1/namespaces/_/activations/" + "0" * 32 + "/result"),
    ("GET", "/api/v1/namespaces/_/activations/" + "0" * 32 + "/logs"),
    ("GET", "/api/v1/namespaces/_/executions"),
    ("GET", "/api/v1/namespaces/_/executions/a"),
    ("GET", "/api/v1/namespaces/_/executions/a/history"),
    ("POST", "/api/v1/namespaces/_/executions/a/cancel"),
    ("POST", "/api/v1/namespaces/_/executions/a/resume"),
    ("POST", "/api/v1/namespaces/_/executions/a/redrive"),
    ("GET", "/metrics"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_nothing_of_a_namespace_is_shown_or_done_without_its_key(world, method, path):
    for auth, text in (
        (None, "The resource requires authentication, which was not supplied with the request"),
        (("somebody", "else"), "The supplied authentication is invalid"),
    ):
        answer = await world.caller(auth=auth).request(method, path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Basic realm="OpenWhisk secure realm"'
        assert answer.json() == {"error": text, "code": answer.headers["x-request-id"]}


@pytest.mark.parametrize(
    ("method", "path"), [pair for pair in PATHS if "/_/" in pair[1]]
)  # fmt: skip
async def test_another_namespace_is_forbidden(world, client, method, path):
    caller = world.caller(auth=client.auth)

    answer = await caller.request(method, path.replace("/_/", "/other/"))

    assert answer.status_code == 403
    assert answer.json()["error"].startswith(
        "The supplied authentication is not authorized to access 'other/"
    )


async def test_health_and_what_this_is_are_shown_to_anybody(world):
    anybody = world.caller()

    assert (await anybody.get("/health")).json() == {"status": "ok"}
    host = (await anybody.get("/")).json()
    assert host["description"].startswith("Xingqiao")
    assert (host["api_paths"], host["version"].count(".")) == (["/api/v1"], 2)
    assert [runtime["kind"] for runtime in host["runtimes"]["python"]] == ["python:3"]
    assert host["limits"]["sequence_length"] == 50
    api = (await anybody.get("/api/v1")).json()
    assert (api["api_version"], api["api_version_path"]) == ("1.0.0", "v1")
    assert (await anybody.get("/ping")).text == "pong"


async def test_namespaces_are_shown_to_who_has_a_key(world, client):
    caller = world.caller(auth=client.auth)

    assert (await caller.get("/api/v1/namespaces")).json() == ["guest"]


async def test_figures_are_shown_to_the_operator_and_to_who_scrapes_them(world, client):
    world.api.metrics_key = "a-key-for-scrapers"
    scraper = {"Authorization": "Bearer a-key-for-scrapers"}
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    for caller in (operator, world.caller(headers=scraper)):
        figures = await caller.get("/metrics")
        assert figures.content == b"# figures\n"
        assert figures.headers["content-type"].startswith("text/plain; version=0.0.4")

    guest = await world.caller(auth=client.auth).get("/metrics")
    assert (guest.status_code, "XINGQIAO_METRICS_KEY" in guest.json()["error"]) == (403, True)
    for wrong in ("Bearer a-key-for-scraper", "Bearer ", "bearer a-key-for-scrapers"):
        other = world.caller(headers={"Authorization": wrong})
        assert (await other.get("/metrics")).status_code == 401


async def test_without_a_key_for_scrapers_an_empty_one_shows_nothing(world):
    caller = world.caller(headers={"Authorization": "Bearer "})

    assert (await caller.get("/metrics")).status_code == 401


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


# --- what stands around every answer -----------------------------------------------------------


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


# --- bodies that mean no good ------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nul",
        b'{"a": 1} {"b": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": "\xff\xfe"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\\ud800"}',
        b'{"a": 01}',
        b"\xef\xbb\xbf{}",
        b"\x00",
        b"[" * 5000,
        b'{"a":' * 1500 + b"1" + b"}" * 1500,
    ],
    ids=range(16),
)
async def test_what_is_no_json_is_refused_wherever_it_comes(world, client, body):
    await world.put("echo", "echo")

    for method, path in (
        ("POST", "/actions/echo?blocking=true"),
        ("PUT", "/actions/new"),
        ("POST", "/executions/a/redrive"),
        ("POST", "/api/v1/completions/a"),
    ):
        where = path if path.startswith("/api") else f"/api/v1/namespaces/_{path}"
        caller = world.caller(auth=client.auth)
        answer = await caller.request(method, where, content=body)
        assert answer.status_code == 400, path
        assert answer.json()["error"].startswith(MALFORMED)
    assert (await client.get("/activations")).json() == []


def nested(levels):
    return ('{"a":' * levels + "1" + "}" * levels).encode()


async def test_a_body_as_deep_as_may_be_is_taken_and_one_level_more_is_refused(world, client):
    await world.put("echo", "echo")

    kept = await client.post("/actions/echo", params=RESULT, content=nested(MAX_DEPTH))
    record = await client.post(
        "/actions/echo", params={"blocking": "true"}, content=nested(MAX_DEPTH)
    )
    refused = await client.post("/actions/echo", params=RESULT, content=nested(MAX_DEPTH + 1))

    assert (kept.status_code, kept.content) == (200, nested(MAX_DEPTH))
    assert record.status_code == 200
    assert refused.status_code == 400
    assert refused.json()["error"] == MALFORMED + f"it nests deeper than {MAX_DEPTH} levels"


async def test_numbers_come_back_as_they_were_or_are_refused(world, client):
    await world.put("echo", "echo")
    big = 1 << 64

    for number in (big - 1, -(1 << 63), 1e308, 0.1, float(big)):
        answer = await client.post("/actions/echo", params=RESULT, json={"n": number})
        assert answer.json() == {"n": number}
    for number in (big, "1" + "0" * 400, "1e999"):
        answer = await client.post("/actions/echo", params=RESULT, content=f'{{"n": {number}}}')
        assert answer.status_code == 400


async def test_names_and_texts_of_any_script_come_back(world, client):
    await world.put("echo", "echo")
    params = {"星桥": "\U0001f309", "": "\x00\x1f\u2028", "__proto__": None, "a": [{}, [], ""]}

    answer = await client.post("/actions/echo", params=RESULT, json=params)

    assert answer.json() == params


async def test_a_content_type_is_not_insisted_on(world, client):
    await world.put("echo", "echo")

    for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        answer = await client.post(
            "/actions/echo", params=RESULT, content=b'{"n": 1}', headers={"Content-Type": kind}
        )
        assert answer.json() == {"n": 1}


@pytest.mark.parametrize(
    "declared", [b"-1", b"many", "²".encode("latin-1"), b"", b"1e9", b"9" * 20, b"9" * 5000]
)
async def test_a_length_that_cannot_be_does_not_decide(world, client, declared):
    await world.put("echo", "echo")

    answer = await client.post(
        "/actions/echo", params=RESULT, content=b'{"n": 1}', headers={b"Content-Length": declared}
    )

    assert answer.json() == {"n": 1}


async def test_a_body_that_is_longer_than_it_says_is_found_out(world, client):
    await world.put("echo", "echo")

    answer = await client.post(
        "/actions/echo", content=b"x" * (PAYLOAD_BYTES + 1), headers={"Content-Length": "2"}
    )

    assert answer.status_code == 413


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


async def test_while_the_store_does_not_commit_calls_are_answered_with_503():
    class FullDisk(MemoryStore):
        full = False

        async def commit(self, writes):
            if self.full:
                raise OSError("no space left")
            return await super().commit(writes)

    pacing = Pacing(commit_retry_s=0, commit_deadline_s=0.05)
    store = FullDisk()
    async with opened(store, pacing=pacing) as world, asyncio.TaskGroup() as tasks:
        await world.put("echo", "echo")
        store.full = True
        answering = tasks.create_task(world.client.post("/actions/echo", params=RESULT))
        anybody = world.caller()
        while (health := await anybody.get("/health")).status_code == 200:
            await anyio.lowlevel.checkpoint()

        assert (health.status_code, health.json()) == (503, {"status": "the store does not commit"})
        for answer in (await answering, await world.client.post("/actions/echo")):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "Nothing of this call is kept" in answer.json()["error"]
        assert (await world.client.put("/actions/new", json=ECHO)).status_code == 503
        assert (await world.client.get("/actions/echo")).status_code == 200
        assert (await world.client.get("/activations")).json() == []

        store.full = False
        while (await anybody.get("/health")).status_code == 503:
            await anyio.lowlevel.checkpoint()
        assert (await world.client.post("/actions/echo", params=RESULT)).status_code == 200
        assert (await world.client.put("/actions/new", json=ECHO)).status_code == 200


@pytest.mark.parametrize("n", [2**64 - 1, -(2**63)])
async def test_an_integer_of_64_bits_comes_back_as_it_was(world, client, n):
    await world.put("echo", "echo")

    answer = await client.post("/actions/echo", params=RESULT, json={"n": n})

    assert answer.json()["n"] == n


@pytest.mark.parametrize("n", [2**64, -(2**63) - 1, 10**40])
async def test_a_wider_integer_is_refused_by_its_place_wherever_it_comes_in(world, client, n):
    await world.put("echo", "echo")
    await client.put("/triggers/t", json={})
    why = "takes more than 64 bits"
    for method, path, document, place in (
        ("POST", "/actions/echo", {"a": {"n": [n]}}, "$.a.n[0]"),
        ("POST", "/triggers/t", {"n": n}, "$.n"),
        ("PUT", "/actions/b", {**ECHO, "parameters": [{"key": "n", "value": n}]}, "$.parameters[0].value"),
        ("PUT", "/secrets/s", {"n": n}, "$.n"),
    ):  # fmt: skip
        answer = await client.request(method, path, json=document)
        assert answer.status_code == 400
        assert f"malformed:\nthe integer at {place} {why}: send it" in answer.json()["error"]


async def test_an_action_that_is_put_may_be_larger_than_a_payload(client):
    body = {**ECHO, "annotations": [{"key": "about", "value": "x" * 3 * PAYLOAD_BYTES}]}

    assert (await client.put("/actions/large", json=body)).status_code == 200
