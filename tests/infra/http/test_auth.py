"""Callers: keys that are right, keys that are wrong, and namespaces that do not see each other."""

from __future__ import annotations

import base64
from hashlib import sha256

import orjson
import pytest

from tests.kit.http.worlds import KEY, USER
from tests.kit.http.worlds import world as opened
from xingqiao.actions import Document, Write
from xingqiao.infra.stores import MemoryStore

CREDENTIALS = f"{USER}:{KEY}"
NAMESPACES = "/api/v1/namespaces"
INVALID = "The supplied authentication is invalid"


def basic(text):
    encoded = text if isinstance(text, bytes) else text.encode()
    return "Basic " + base64.b64encode(encoded).decode()


async def test_a_key_may_have_colons():
    async with opened(auth="user:a:b:c:d:e") as world:
        for key, status in (("user:a:b:c:d:e", 200), ("user:a", 401)):
            caller = world.caller(headers={"Authorization": basic(key)})
            assert (await caller.get(NAMESPACES)).status_code == status


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic " + base64.b64encode(CREDENTIALS.encode()).decode()[:-1],
        basic(""),
        basic(":"),
        basic(USER),
        basic(f"{USER}:"),
        basic(f":{KEY}"),
        basic(f"{USER}:{KEY} "),
        basic(f"{USER}:{KEY.upper()}"),
        basic(f"{USER.upper()}:{KEY}"),
        basic(b"\xff\xfe:\xff"),
        basic("user:\ud800".encode("utf-8", "surrogatepass")),
        "Bearer " + base64.b64encode(CREDENTIALS.encode()).decode(),
        basic(sha256(KEY.encode()).hexdigest()),
        basic(f"{USER}:{sha256(KEY.encode()).hexdigest()}"),
        "Basic " + "A" * 100_000,
        "Basic \xff\xfe".encode("latin-1"),
        b"\xff\xfe",
    ],
    ids=range(21),
)
async def test_whoever_does_not_show_the_key_is_not_let_in(world, header):
    answer = await world.caller(headers={"Authorization": header}).get(NAMESPACES)

    assert answer.status_code == 401
    assert answer.json()["error"] == INVALID


async def test_the_scheme_is_written_as_one_likes(world):
    encoded = basic(CREDENTIALS).removeprefix("Basic ")

    for scheme in ("basic", "BASIC", "Basic"):
        caller = world.caller(headers={"Authorization": f"{scheme} {encoded}"})
        assert (await caller.get(NAMESPACES)).json() == ["guest"]


async def test_namespaces_do_not_see_each_other():
    store = MemoryStore()
    body = orjson.dumps({"name": "other", "key_hash": sha256(b"other-key").hexdigest()})
    await store.commit([Write(documents=[Document(kind="namespace", key="other-user", body=body)])])

    async with opened(store) as world:
        await world.put("hello", "echo")
        id = await world.ended("hello")
        other = world.caller(auth=("other-user", "other-key"))
        base = "/api/v1/namespaces/_"

        assert (await other.get(NAMESPACES)).json() == ["other"]
        assert (await other.get(f"{base}/actions")).json() == []
        assert (await other.get(f"{base}/activations")).json() == []
        for method, path in (
            ("GET", "actions/hello"),
            ("POST", "actions/hello"),
            ("DELETE", "actions/hello"),
            ("GET", f"activations/{id}"),
            ("GET", f"activations/{id}?wait=60000"),
            ("GET", f"executions/{id}"),
            ("POST", f"executions/{id}/cancel"),
        ):
            assert (await other.request(method, f"{base}/{path}")).status_code == 404, path
        assert (await other.get("/api/v1/namespaces/guest/actions")).status_code == 403
        assert (await world.client.get("/actions/hello")).status_code == 200


async def test_another_namespace_may_not_touch_an_execution_under_way():
    from xingqiao import composer

    store = MemoryStore()
    body = orjson.dumps({"name": "other", "key_hash": sha256(b"other-key").hexdigest()})
    await store.commit([Write(documents=[Document(kind="namespace", key="other-user", body=body)])])

    async with opened(store) as world:
        await world.put("hold", "hold")
        await world.put("long", composer.sequence("hold"))
        id = await world.start("long")
        await world.hands.held.get()
        other = world.caller(auth=("other-user", "other-key"))

        for method, path in (
            ("GET", f"executions/{id}"),
            ("GET", f"executions/{id}/history"),
            ("POST", f"executions/{id}/cancel"),
            ("POST", f"executions/{id}/resume"),
            ("POST", f"executions/{id}/redrive"),
            ("GET", f"activations/{id}?wait=1"),
        ):
            answer = await other.request(method, f"/api/v1/namespaces/_/{path}")
            assert answer.status_code == 404, path
        assert (await world.standing(id, waits=["action"]))["status"] == "running"
