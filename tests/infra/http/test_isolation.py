"""A namespace never reads, lists, invokes, changes or fires what is another's and private.

Random worlds: what each namespace has, packages that are public or not, and requests by anybody for
anything, in plain and by way of sequences, compositions, rules, bindings and conductor actions. Whatever
is private has a secret in it; no answer to another may hold it, and nothing of it may run.
"""

from __future__ import annotations

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.http.worlds import world as opened
from xingqiao import composer

OWNERS = ("ann", "bob")
SECRET = "the-secret-of-"
COLLECTIONS = ("actions", "packages", "triggers", "rules")
PLACES = ("plain", "open/act", "shut/act")

requests = st.lists(
    st.tuples(
        st.sampled_from(OWNERS),
        st.sampled_from(["GET", "PUT", "POST", "DELETE"]),
        st.sampled_from(COLLECTIONS),
        st.sampled_from([*PLACES, "open", "shut", "t", "r", "nobody", "shut/none", ""]),
    ),
    min_size=1,
    max_size=12,
)


async def furnish(world, owner, auth):
    """Gives a namespace an action, two packages with one each, a trigger and a rule."""
    client = world.caller(auth=auth)
    home = "/api/v1/namespaces/_"
    secret = [{"key": "secret", "value": SECRET + owner}]
    code = {"exec": {"kind": "python:3", "code": "echo"}, "parameters": secret}
    for name in ("open", "shut"):
        document = {"publish": name == "open", "annotations": secret if name == "shut" else []}
        assert (await client.put(f"{home}/packages/{name}", json=document)).status_code == 200
    for place in PLACES:
        document = {**code, "parameters": []} if place == "open/act" else code
        assert (await client.put(f"{home}/actions/{place}", json=document)).status_code == 200
    assert (await client.put(f"{home}/triggers/t", json={"parameters": secret})).status_code == 200
    rule = {"trigger": "/_/t", "action": "/_/plain", "annotations": secret}
    assert (await client.put(f"{home}/rules/r", json=rule)).status_code == 200
    return client


def roundabout(other, place):
    """Documents of actions that would run another's action, were it allowed."""
    target = f"/{other}/{place}"
    tree = composer.do(target, composer.literal({})).to_json()
    return {
        "sequence": {"exec": {"kind": "sequence", "components": [target]}},
        "composition": {"exec": {"kind": "composition", "composition": tree}},
        "dynamic": {"exec": {"kind": "composition", "composition": composer.dynamic().to_json()}},
    }


async def look(world, clients, asked):
    """Makes a request for what is another's. Returns the answer's text."""
    caller, method, collection, name = asked
    other = OWNERS[1 - OWNERS.index(caller)]
    path = f"/api/v1/namespaces/{other}/{collection}" + (f"/{name}" if name else "")
    body = {"exec": {"kind": "python:3", "code": "echo"}, "trigger": "/_/t", "action": "/_/plain"}
    answer = await clients[caller].request(
        method, path, params={"blocking": "true", "overwrite": "true", "force": "true"},
        json=body if method in ("PUT", "POST") else None,
    )  # fmt: skip
    public = name in ("open", "open/act")
    if method != "GET":
        assert answer.status_code >= 400 or (method == "POST" and public), (asked, answer.text)
    elif name and not public:
        assert answer.status_code >= 400, (asked, answer.text)
    return answer.text


async def go_round(world, clients, caller, place):
    """Tries by way of what is one's own. Returns all that is answered, and recorded."""
    other, client, texts = OWNERS[1 - OWNERS.index(caller)], clients[caller], []
    home = "/api/v1/namespaces/_"
    query = {"blocking": "true", "overwrite": "true"}
    for name, document in roundabout(other, place).items():
        await client.put(f"{home}/actions/{name}", params=query, json=document)
        params = {"type": "action", "name": f"/{other}/{place}", "params": {}}
        texts.append((await client.post(f"{home}/actions/{name}", params=query, json=params)).text)
    package = place.partition("/")[0]
    bound = {"binding": {"namespace": other, "name": package}}
    await client.put(f"{home}/packages/bound", params=query, json=bound)
    texts.append((await client.get(f"{home}/packages/bound")).text)
    texts.append((await client.post(f"{home}/actions/bound/act", params=query, json={})).text)
    linked = {"trigger": "/_/t", "action": f"/{other}/{place}"}
    await client.put(f"{home}/rules/round", params=query, json=linked)
    await client.post(f"{home}/triggers/t", json={})
    activations = await client.get(f"{home}/activations", params={"docs": "true", "limit": 200})
    return [*texts, activations.text]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(requests, st.sampled_from(OWNERS), st.sampled_from(["plain", "shut/act"]))
def test_what_is_private_stays_so(asked, caller, place):
    asyncio.run(attempt(asked, caller, place))


async def attempt(asked, caller, place):
    async with opened() as world:
        clients, before = {}, {}
        for owner in OWNERS:
            made = await world.api.namespaces.create(owner, {})
            clients[owner] = await furnish(world, owner, tuple(made.split(":", 1)))
        for owner in OWNERS:
            before[owner] = (await clients[owner].get("/api/v1/namespaces/_")).json()
        for request in asked:
            other = OWNERS[1 - OWNERS.index(request[0])]
            assert SECRET + other not in await look(world, clients, request)
        for owner in OWNERS:
            assert (await clients[owner].get("/api/v1/namespaces/_")).json() == before[owner]
        other = OWNERS[1 - OWNERS.index(caller)]
        for text in await go_round(world, clients, caller, place):
            assert SECRET + other not in text
        seen = (await clients[other].get("/api/v1/namespaces/_/activations")).json()
        paths = [
            note["value"] for doc in seen for note in doc["annotations"] if note["key"] == "path"
        ]
        assert not [path for path in paths if path.startswith(other)], "something of theirs has run"


async def test_what_is_public_is_for_all():
    async with opened() as world:
        clients = {}
        for owner in OWNERS:
            made = await world.api.namespaces.create(owner, {})
            clients[owner] = await furnish(world, owner, tuple(made.split(":", 1)))
        query = {"blocking": "true", "result": "true"}
        called = await clients["ann"].post(
            "/api/v1/namespaces/bob/actions/open/act", params=query, json={"n": 1}
        )
        listed = await clients["ann"].get("/api/v1/namespaces/bob/packages")
        shut = await clients["ann"].get("/api/v1/namespaces/bob/actions")

        assert (called.status_code, called.json()) == (200, {"n": 1})
        assert [package["name"] for package in listed.json()] == ["open"]
        assert shut.status_code == 403
        own = (await clients["ann"].get("/api/v1/namespaces/_/activations")).json()
        assert [doc["name"] for doc in own] == ["act"]
