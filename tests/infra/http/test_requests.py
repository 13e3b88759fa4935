"""What every request needs: a key, and a body that means good."""

from __future__ import annotations

import asyncio

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import PAYLOAD_BYTES
from tests.kit.http.worlds import world as opened
from xingqiao.composer import MAX_DEPTH
from xingqiao.infra.engine import Pacing
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
