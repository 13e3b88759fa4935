"""Namespaces, their keys and limits; actions' keys; parameters at rest."""

from __future__ import annotations

import pytest

from tests.kit.http.worlds import OPERATOR
from tests.kit.http.worlds import world as opened
from xingqiao.actions import REMOTES, Action, Quotas
from xingqiao.composer import Name
from xingqiao.infra.access.namespaces import Namespaces
from xingqiao.infra.stores import MemoryStore

OPERATED = "/api/v1/operator/namespaces"
HOME = "/api/v1/namespaces/_"
CODE = {"exec": {"kind": "python:3", "code": "echo"}}


def credentials(text):
    return tuple(text.split(":", 1))


@pytest.fixture
def operator(world):
    return world.caller(auth=credentials(OPERATOR))


async def test_the_operator_makes_limits_rotates_and_ends_namespaces(world, operator):
    made = (await operator.put(f"{OPERATED}/team", json={})).json()
    client = world.caller(auth=credentials(made["auth"]))
    assert (await client.put(f"{HOME}/actions/a", json=CODE)).status_code == 200
    assert [n["name"] for n in (await operator.get(OPERATED)).json()] == [
        "guest", "team", "whisk.system",
    ]  # fmt: skip

    limits = {"limits": {"firesPerMinute": 7}}
    await operator.put(f"{OPERATED}/team", params={"overwrite": "true"}, json=limits)
    assert (await client.get(f"{HOME}/limits")).json() == {
        "firesPerMinute": 7, "allowedKinds": sorted([*REMOTES, "python:3"]),
    }  # fmt: skip

    again = (await operator.post(f"{OPERATED}/team/rotate")).json()
    assert (await client.get(f"{HOME}/actions")).status_code == 401
    client = world.caller(auth=credentials(again["auth"]))
    assert len((await client.get(f"{HOME}/actions")).json()) == 1

    assert (await operator.delete(f"{OPERATED}/team")).json()["name"] == "team"
    assert (await client.get(f"{HOME}/actions")).status_code == 401
    assert world.engine.catalog.find(Action, Name("team", None, "a")) is None
    assert (await operator.get(f"{OPERATED}/team")).status_code == 404
    assert (await operator.put(f"{OPERATED}/team", json={})).status_code == 409


async def test_a_namespace_that_is_deleted_leaves_no_cloudevents(world, operator):
    for namespace in ("team", "team2"):
        made = (await operator.put(f"{OPERATED}/{namespace}", json={})).json()
        client = world.caller(auth=credentials(made["auth"]))
        query = {"type": "placed", "source": "/shop", "wait": "effects"}
        assert (await client.post(f"{HOME}/events", params=query, json=1)).status_code == 202

    await operator.delete(f"{OPERATED}/team")

    left = [document.key async for document in world.engine._parts.store.documents("heard")]
    assert [key.partition("/")[0] for key in left] == ["team2"]


async def test_a_cloudevent_that_is_matched_meanwhile_leaves_no_dead_letter(
    world, operator, monkeypatch
):
    made = (await operator.put(f"{OPERATED}/team", json={})).json()
    client = world.caller(auth=credentials(made["auth"]))
    assert (await client.put(f"{HOME}/triggers/placed", json={})).status_code == 200
    hearing, letters = world.engine.events, []
    hearing._begun = False  # nothing is matched yet
    event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "a"}
    clear = hearing.clear

    async def clear_late(namespace):
        """Its trigger is gone, and the CloudEvent is matched before it is forgotten."""
        [pending] = hearing._pending.of(namespace)
        hearing.begin()
        await hearing.settled(namespace, [pending.key])
        letters.extend(world.engine.letters.list(namespace))
        await clear(namespace)

    monkeypatch.setattr(hearing, "clear", clear_late)
    headers = {f"ce-{name}": value for name, value in event.items()}
    taken = await client.post(f"{HOME}/triggers/placed", headers=headers)
    assert taken.status_code == 202

    await operator.delete(f"{OPERATED}/team")

    assert len(letters) == 1
    assert world.engine.letters.list("team") == []


async def test_a_namespace_that_is_deleted_leaves_no_limits_and_no_attributes(world, operator):
    made = (await operator.put(f"{OPERATED}/team", json={})).json()
    client = world.caller(auth=credentials(made["auth"]))
    for queue in ("gpu", "cpu"):
        limited = await client.put(f"{HOME}/queues/{queue}", json={"concurrent": 2})
        assert limited.status_code == 200
        assert (await client.put(f"{HOME}/limits/{queue}", json={"concurrent": 2})).is_success
    for name in ("customer", "region"):
        declared = await client.put(f"{HOME}/attributes/{name}", json={"type": "text"})
        assert declared.status_code == 200

    await operator.delete(f"{OPERATED}/team")

    kinds = ("queue", "limit", "attribute")
    left = [
        document.key
        for kind in kinds
        async for document in world.engine._parts.store.documents(kind)
    ]
    assert [key for key in left if "team" in key] == []
    assert world.engine.queues.settings.named("team") == set()
    assert world.engine.limits.settings.named("team") == set()
    assert world.engine.annotations.declared("team") == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_nobody_else_does(world, client, method):
    caller = world.caller(auth=client.auth)

    assert (await caller.request(method, f"{OPERATED}/guest")).status_code == 403
    assert (await world.caller().request(method, f"{OPERATED}/guest")).status_code == 401


@pytest.mark.parametrize(
    ("name", "limits", "status"),
    [
        ("guest", {}, 409),
        ("a b ", {}, 400),
        ("n\u00e4me", {}, 400),
        ("new", {"unknown": 1}, 400),
        ("new", {"firesPerMinute": -1}, 400),
        ("new", {"firesPerMinute": True}, 400),
    ],
)
async def test_a_namespace_that_cannot_be_is_refused(operator, name, limits, status):
    answer = await operator.put(f"{OPERATED}/{name}", json={"limits": limits})

    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"limits": [1]}, "'limits' must be an object, not [1]."),
        ({"limits": 5}, "'limits' must be an object, not 5."),
        ({"limits": "a"}, "'limits' must be an object, not 'a'."),
        ({"limits": {"firesPerMinute": [1]}}, "The limit 'firesPerMinute' must be a whole number"),
        ({"auth": 5}, "'auth' must be a string, not 5."),
        ({"auth": ["a:b"]}, "'auth' must be a string, not ['a:b']."),
        ({"auth": ""}, "'auth' cannot be used: the credentials must be UUID:KEY"),
        ({"auth": "a:short"}, "'auth' cannot be used: the credentials must be UUID:KEY"),
        ({"auth": "operator:another-key"}, "belongs to the namespace 'whisk.system'"),
    ],
)
async def test_a_member_of_another_type_is_named(operator, document, why):
    answer = await operator.put(f"{OPERATED}/new", json=document)

    assert (answer.status_code, why in answer.json()["error"]) == (400, True), answer.text
    if "limits" in document:
        query = {"overwrite": "true"}
        answer = await operator.put(f"{OPERATED}/guest", params=query, json=document)
        assert (answer.status_code, why in answer.json()["error"]) == (400, True), answer.text
    assert (await operator.get(f"{OPERATED}/new")).status_code == 404


async def test_each_has_limits_of_its_own(world, operator):
    body = {"limits": {"invocationsPerMinute": 1}}
    made = (await operator.put(f"{OPERATED}/few", json=body)).json()
    client = world.caller(auth=credentials(made["auth"]))
    await client.put(f"{HOME}/actions/a", json=CODE)

    assert (await client.post(f"{HOME}/actions/a")).status_code == 202
    refused = await client.post(f"{HOME}/actions/a")

    assert (refused.status_code, refused.json()["error"]) == (
        429, "Too many requests in the last minute (count: 2, allowed: 1).",
    )  # fmt: skip
    for _ in range(3):
        await world.client.put("/actions/a", params={"overwrite": "true"}, json=CODE)
        assert (await world.client.post("/actions/a")).status_code == 202


# --- keys of actions ---------------------------------------------------------------------------


async def test_the_key_of_an_action_is_its_namespaces_for_as_long_as_it_may_run(world):
    namespaces, clock = world.api.namespaces, world.clock
    key = namespaces.action_key("guest", clock.now_ms() + 1000)
    client = world.caller(auth=credentials(key))

    assert (await client.get("/api/v1/namespaces")).json() == ["guest"]
    clock.ms += 61_000
    assert (await client.get("/api/v1/namespaces")).status_code == 200
    clock.ms += 1
    assert (await client.get("/api/v1/namespaces")).status_code == 401
    assert namespaces.action_key("nobody", 0) == ""


async def test_the_key_of_an_action_cannot_be_made_or_lengthened(world):
    namespaces, clock = world.api.namespaces, world.clock
    user, _, key = namespaces.action_key("guest", clock.now_ms()).partition(":")
    _, until, signature = key.split("-")
    forged = (
        f"action-{int(until, 16) + 1:x}-{signature}",
        f"action-{until}-{'0' * 64}",
        f"action-{until}-{signature}0",
        f"action-{until}",
    )
    for key in forged:
        assert namespaces.authenticated(user, key) is None

    await namespaces.rotate("guest")
    assert namespaces.authenticated(user, f"action-{until}-{signature}") is None


# --- parameters at rest ------------------------------------------------------------------------


async def test_namespaces_are_read_again_at_a_start():
    store = MemoryStore()
    async with opened(store) as world:
        made = await world.api.namespaces.create("team", {"concurrentInvocations": 3})
        await world.api.namespaces.delete("team")
        kept = await world.api.namespaces.create("more", {"concurrentInvocations": 3})
    again = Namespaces(store, world.clock, Quotas(), b"secret")
    await again.load()

    assert again.quotas("more").concurrent == 3
    assert again.authenticated(*credentials(kept)) == "more"
    assert again.authenticated(*credentials(made)) is None
