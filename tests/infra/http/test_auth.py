"""Who calls: namespaces, their keys, and what is kept of them."""

from __future__ import annotations

import base64
import re
from hashlib import sha256

import orjson
import pytest

from tests.kit.http.worlds import KEY, USER
from tests.kit.http.worlds import world as opened
from xingqiao.actions import Document, Quotas, Write
from xingqiao.infra.access.namespaces import AuthError, Namespaces, first_namespaces
from xingqiao.infra.clock import SystemClock
from xingqiao.infra.stores import MemoryStore

CREDENTIALS = f"{USER}:{KEY}"
OPERATOR_USER = "operator"
NAMESPACES = "/api/v1/namespaces"
INVALID = "The supplied authentication is invalid"


def basic(text):
    encoded = text if isinstance(text, bytes) else text.encode()
    return "Basic " + base64.b64encode(encoded).decode()


async def open_namespaces(store, guest, operator="operator:an-operators-key"):
    """The namespaces of a store, and the credentials of `guest` that are to be shown."""
    namespaces = Namespaces(store, SystemClock(), Quotas(), b"secret")
    await namespaces.load()
    return namespaces, (await first_namespaces(namespaces, guest, operator))[0]


async def kept(store):
    documents = [document async for document in store.documents("namespace")]
    return [document for document in documents if document.key != OPERATOR_USER]


async def knows(store, credentials, auth=None):
    """Whether a service on this store lets these in."""
    async with opened(store, auth=auth) as world:
        answer = await world.caller(headers={"Authorization": basic(credentials)}).get(NAMESPACES)
    return answer.status_code == 200


async def test_the_first_start_makes_credentials_and_shows_them_once():
    store = MemoryStore()

    _, shown = await open_namespaces(store, None)
    _, again = await open_namespaces(store, None)

    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}:[A-Za-z0-9]{64}", shown)
    assert again is None
    assert await knows(store, shown)


async def test_two_services_make_different_credentials():
    shown = {(await open_namespaces(MemoryStore(), None))[1] for _ in range(3)}

    assert len(shown) == 3


async def test_keys_are_kept_as_they_are_when_there_is_nothing_to_seal_them_with():
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)

    (document,) = await kept(store)
    assert document.key == USER
    assert orjson.loads(document.body) == {
        "name": "guest",
        "key_hash": sha256(KEY.encode()).hexdigest(),
        "limits": {},
        "credentials": KEY,
    }


async def test_credentials_that_are_given_are_not_shown_and_last():
    store = MemoryStore()

    _, shown = await open_namespaces(store, CREDENTIALS)

    assert shown is None
    assert await knows(store, CREDENTIALS)


@pytest.mark.parametrize("second", [f"{USER}:another-key", f"another:{KEY}", "other:another-key"])
async def test_credentials_that_are_given_replace_those_before(second):
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)

    await open_namespaces(store, second)

    assert await knows(store, second)
    assert not await knows(store, CREDENTIALS)
    assert len(await kept(store)) == 1


async def test_the_same_credentials_again_change_nothing():
    store = MemoryStore()
    await open_namespaces(store, CREDENTIALS)
    before = await kept(store)

    await open_namespaces(store, CREDENTIALS)

    assert await kept(store) == before


@pytest.mark.parametrize(
    "credentials",
    ["", ":", "user", "user:", ":long-enough", "user:short", "user:has blanks", "us er:long-enough",
     "user:\n12345678", "üser:long-enough", "user:lång-enough", "u" * 129 + ":long-enough",
     "user:" + "k" * 257],
)  # fmt: skip
async def test_credentials_that_cannot_be_used_are_refused_and_nothing_is_kept(credentials):
    store = MemoryStore()

    with pytest.raises(
        AuthError, match="the credentials must be UUID:KEY, with a key of at least 8 printable"
    ):
        await open_namespaces(store, credentials)

    assert await kept(store) == []


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


async def test_other_namespaces_keep_their_keys_when_the_first_gets_a_new_one():
    store = MemoryStore()
    body = orjson.dumps({"name": "other", "key_hash": sha256(b"other-key").hexdigest()})
    await store.commit([Write(documents=[Document(kind="namespace", key="other-user", body=body)])])

    await open_namespaces(store, CREDENTIALS)

    assert await knows(store, "other-user:other-key")
    assert await knows(store, CREDENTIALS)
