"""Deployments over HTTP: all actions of a project in one commit, or none."""

from __future__ import annotations

import asyncio

ECHO = {"kind": "python:3", "code": "echo"}
FAIL = {"kind": "python:3", "code": "fail"}


def body(*actions, **fields):
    listed = [
        {"name": name, "origin": "shop/a.py", "definition": {"exec": exec}}
        for name, exec in actions
    ]
    return {"actions": listed, "origins": ["shop/"], **fields}


def changes(response):
    assert response.status_code == 200, response.text
    return {step["name"]: step["change"] for step in response.json()["actions"]}


async def names(client):
    return {doc["name"] for doc in (await client.get("/actions")).json()}


async def test_a_deployment_is_carried_out_and_then_changes_nothing(client):
    sequence = {"kind": "sequence", "components": ["/_/a", "/_/b"]}
    wanted = body(("all", sequence), ("a", ECHO), ("b", ECHO))

    assert changes(await client.put("/deployments", json=wanted)) == {
        "all": "new", "a": "new", "b": "new",
    }  # fmt: skip
    again = await client.put("/deployments", json=wanted)

    assert set(changes(again).values()) == {"unchanged"}
    assert (await client.get("/actions/a")).json()["version"] == "0.0.1"
    ran = await client.post("/actions/all?blocking=true&result=true", json={"n": 1})
    assert ran.json() == {"n": 1}


async def test_a_dry_run_that_is_misspelt_deploys_nothing(client):
    response = await client.put("/deployments?dry_run=true", json=body(("a", ECHO)))

    assert (response.status_code, "'dry_run' is not known" in response.text) == (400, True)
    assert (await client.get("/actions/a")).status_code == 404


async def test_a_dry_run_changes_nothing(client):
    response = await client.put("/deployments?dry-run=true", json=body(("a", ECHO)))

    assert changes(response) == {"a": "new"}
    assert await names(client) == set()


async def test_one_wrong_action_names_itself_and_nothing_is_deployed(client):
    wrong = await client.put("/deployments", json=body(("a", ECHO), ("b", {"kind": "perl:5"})))

    assert wrong.status_code == 400
    assert wrong.json()["error"].startswith("b: ")
    assert await names(client) == set()


async def test_what_is_pruned_is_gone_together_with_what_is_put(client):
    await client.put("/deployments", json=body(("a", ECHO), ("b", ECHO)))

    pruned = await client.put("/deployments", json=body(("a", FAIL), prune=True))

    assert changes(pruned) == {"a": "changed", "b": "removed"}
    assert await names(client) == {"a"}
    assert (await client.get("/actions/b")).status_code == 404


async def test_a_trigger_gives_its_name_away_only_on_demand(client):
    await client.put("/triggers/a", json={})

    refused = await client.put("/deployments", json=body(("a", ECHO)))
    replaced = await client.put("/deployments", json=body(("a", ECHO), replace=True))

    assert refused.status_code == 409
    assert "the name 'a' belongs to a trigger" in refused.json()["error"]
    assert changes(replaced) == {"a": "new"}
    assert (await client.get("/triggers/a")).status_code == 409
    assert (await client.get("/actions/a")).status_code == 200


async def test_deployments_at_the_same_time_are_each_whole(client):
    """One of them may be refused because the other was faster; none is half there."""
    left = client.put("/deployments", json=body(("a", ECHO), ("b", ECHO)))
    right = client.put("/deployments", json=body(("b", FAIL), ("a", FAIL)))

    statuses = [response.status_code for response in await asyncio.gather(left, right)]

    codes = {(await client.get(f"/actions/{name}")).json()["exec"]["code"] for name in ("a", "b")}
    assert len(codes) == 1
    assert set(statuses) <= {200, 409}
    assert 200 in statuses


async def test_a_malformed_deployment_names_the_field(client):
    response = await client.put("/deployments", json={"actions": [{"name": "a"}]})

    assert response.status_code == 400
    assert "'actions[0]': 'origin' must be a string" in response.json()["error"]
