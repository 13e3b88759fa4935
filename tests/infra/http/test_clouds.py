"""Secrets, checks and traces over HTTP."""

from __future__ import annotations

import pytest

from tests.kit.actions.things import StandingClock
from tests.kit.http.worlds import NAMESPACE
from tests.rigs.answers import answer
from tests.rigs.strict_host import strict_host
from xingqiao import composer
from xingqiao.actions import REMOTES, InvalidError
from xingqiao.adapters import SecretError
from xingqiao.infra.access.secrets import SecretStore
from xingqiao.infra.stores import MemoryStore

SECRET = "a-secret-that-nobody-sees"
BEARER = {"type": "bearer", "token": SECRET}
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def host():
    with strict_host() as found:
        yield found


def elsewhere(host, path="/fn", **options):
    return {"exec": {"kind": "http", "function": f"{host.url}{path}", **options}}


async def put(client, name, document):
    answered = await client.put(f"/actions/{name}", json=document)
    assert answered.status_code == 200, answered.text
    return answered


# --- secrets -----------------------------------------------------------------------------------


async def test_a_secret_can_be_set_listed_and_deleted_and_never_read(world, client):
    texts = []
    for method, path, body in [
        ("PUT", "/secrets/mine", BEARER),
        ("PUT", "/secrets/key", f"id:{SECRET}"),
        ("GET", "/secrets", None),
        ("GET", "/secrets/mine", None),
        ("POST", "/secrets/mine", {}),
    ]:
        answered = await client.request(method, path, json=body)
        texts.append(answered.text)

    listed = (await client.get("/secrets")).json()
    assert [(one["name"], one["type"]) for one in listed] == [("key", "basic"), ("mine", "bearer")]
    assert all(one.keys() == {"name", "type", "updated"} for one in listed)
    assert SECRET not in "".join(texts)
    assert (await client.delete("/secrets/mine")).json() == {"name": "mine"}
    assert (await client.delete("/secrets/mine")).status_code == 404
    assert [one["name"] for one in (await client.get("/secrets")).json()] == ["key"]


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("mine", b'{"type": "bearer"}', "needs 'token'"),
        ("mine", b'{"type": "secret", "v": "a-secret-that-nobody-sees"}', "has a 'type' of"),
        ("mine", b'{"type": "bearer", "token": "a-secret-that-nobody-sees', "malformed"),
        ("mine", b"", "a secret is a text 'id:key'"),
        ("mine", b'"a-secret-that-nobody-sees"', "must be 'id:key'"),
        ("mine", b'{"a": "' + b"a-secret-that-nobody-sees" * 4000 + b'"}', ""),
        ("ambient", b'"id:key"', "'ambient' stands for the server's own credentials"),
        ("a b!", b'"id:key"', ""),
    ],
)
async def test_a_secret_that_is_none_is_refused_and_not_shown(client, name, body, text):
    answered = await client.put(f"/secrets/{name}", content=body)

    assert 400 <= answered.status_code < 500
    assert text in answered.text
    assert SECRET not in answered.text
    assert (await client.get("/secrets")).json() == []


async def test_a_secret_is_its_namespaces_own(world, client, host):
    other = await another(world)
    await client.put("/secrets/mine", json=BEARER)
    host.on("POST", "/fn", answer({}))

    assert (await other.get(f"{NAMESPACE}/secrets")).json() == []
    assert (await other.delete(f"{NAMESPACE}/secrets/mine")).status_code == 404
    body = elsewhere(host, credentials="mine")
    found = (await other.post(f"{NAMESPACE}/adapters/check", json=body)).json()
    assert found["ok"] is False
    assert "has no secret 'mine'" in found["error"]["message"]
    assert (await other.get("/api/v1/namespaces/guest/secrets")).status_code in (403, 404)
    assert host.requests == []


async def another(world):
    """A client of another namespace."""
    made = await world.api.namespaces.create("other", {})
    return world.caller(auth=tuple(made.split(":", 1)))


async def test_what_uses_a_secret_shows_its_name_only(world, client, host):
    await client.put("/secrets/mine", json=BEARER)
    host.on("POST", "/fn", answer({"n": 1}), needs={"authorization": f"Bearer {SECRET}"})
    await put(client, "fn", elsewhere(host, credentials="mine"))
    await world.put("all", composer.sequence("fn"))

    id = await world.ended("all")

    shown = [await client.get(path) for path in (
        "/actions/fn", "/actions/all", f"/activations/{id}", f"/executions/{id}", f"/executions/{id}/history",
        f"/executions/{id}/cost",
    )]  # fmt: skip
    assert [one.status_code for one in shown] == [200] * len(shown)
    assert SECRET not in "".join(one.text for one in shown)
    assert (await world.record(id))["response"]["result"] == {"n": 1}


# --- at rest -----------------------------------------------------------------------------------


async def kept(store):
    secrets = SecretStore(store, StandingClock(), frozenset({"trusted"}))
    await secrets.load()
    return secrets


@pytest.mark.parametrize("secret", [BEARER, f"id:{SECRET}"])
async def test_a_secret_is_read_at_the_next_start(secret):
    store = MemoryStore()
    before = await kept(store)
    await before.put("guest", "mine", secret, lambda _: None)

    assert (await kept(store)).find("guest", "mine") == secret


async def test_what_the_server_runs_with_is_for_whom_the_operator_names():
    secrets = await kept(MemoryStore())
    everybody = SecretStore(MemoryStore(), StandingClock(), frozenset({"*"}))

    assert [secrets.ambient(name) for name in ("trusted", "guest")] == [True, False]
    assert everybody.ambient("anybody")


async def test_what_is_refused_leaves_what_was_there():
    secrets = await kept(MemoryStore())
    await secrets.put("guest", "mine", "id:key", lambda _: None)

    def refuse(_):
        raise SecretError("no")

    with pytest.raises(InvalidError, match="no"):
        await secrets.put("guest", "mine", BEARER, refuse)

    assert secrets.find("guest", "mine") == "id:key"


# --- adapters ----------------------------------------------------------------------------------


async def test_the_kinds_are_listed_with_what_is_missing(client):
    listed = (await client.get("/adapters")).json()

    assert [one["kind"] for one in listed] == list(REMOTES)
    assert {one["kind"]: one["status"] for one in listed}["http"] == "available"


async def test_a_check_says_whether_a_function_can_be_reached(client, host):
    await put(client, "fn", elsewhere(host))

    for body in ({"action": "fn"}, elsewhere(host)):
        found = (await client.post("/adapters/check", json=body)).json()

        assert found == {
            "kind": "http", "function": f"{host.url}/fn", "ok": True, "found": "its host was reached; the function was not asked",
        }  # fmt: skip
    assert host.requests == []


async def test_a_check_says_why_one_cannot(client):
    body = {"exec": {"kind": "http", "function": "http://169.254.169.254/latest/"}}

    found = (await client.post("/adapters/check", json=body)).json()

    assert (found["ok"], found["code"]) == (False, "Permission")
    assert "not a public address" in found["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({}, 400, ""),
        ({"action": "none"}, 404, ""),
        ({"action": "here"}, 400, "runs here: it is of kind 'python:3'"),
        ({"action": 7}, 400, ""),
        ({"exec": 7}, 400, "'exec.kind' must be one of aws:lambda"),
        ({"exec": {"kind": "python:3"}}, 400, "'exec.kind' must be one of aws:lambda"),
        ({"exec": {"kind": ["http"]}}, 400, "'exec.kind' must be one of aws:lambda"),
        ({"exec": {"kind": "http"}}, 400, "'exec.function' must be a text"),
        ([], 400, "must be a JSON object"),
    ],
)
async def test_a_check_of_what_is_none_is_refused(world, client, body, status, text):
    await world.put("here", "echo")

    answered = await client.post("/adapters/check", json=body)

    assert answered.status_code == status, answered.text
    assert text in answered.text


async def test_only_who_is_known_asks(world):
    stranger = world.caller()
    for method, path in (
        ("GET", "adapters"),
        ("POST", "adapters/check"),
        ("GET", "secrets"),
        ("PUT", "secrets/a"),
    ):
        answered = await stranger.request(method, f"{NAMESPACE}/{path}", json={})
        assert answered.status_code == 401


# --- traces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fn", "all", "outer"])
async def test_a_trace_goes_on_in_the_cloud(world, client, host, name):
    host.on("POST", "/fn", answer({}))
    await put(client, "fn", elsewhere(host))
    await world.put("all", composer.sequence("fn"))
    await world.put("outer", composer.sequence(composer.parallel("all")))
    headers = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}

    await client.post(f"/actions/{name}?blocking=true", json={}, headers=headers)

    _, trace, span, _ = host.requests[0].headers["traceparent"].split("-")
    assert trace == TRACE
    assert span != "00f067aa0ba902b7"


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "00-0-0-01",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
    ],
)
async def test_what_is_in_no_trace_begins_one(world, client, host, given):
    host.on("POST", "/fn", answer({}))
    await put(client, "fn", elsewhere(host))
    headers = {} if given is None else {"traceparent": given}

    answered = await client.post("/actions/fn?blocking=true", json={}, headers=headers)

    trace = host.requests[0].headers["traceparent"].split("-")[1]
    assert trace == answered.json()["activationId"]
