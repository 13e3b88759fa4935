"""The audit log over HTTP: who changed which thing, with which outcome, and never a secret."""

from __future__ import annotations

import json

import pytest

from tests.infra.http.test_auth import basic
from tests.kit.http.worlds import KEY, OPERATOR, USER
from tests.kit.stepfunctions.clients import Aws
from xingqiao import composer

HOME = "/api/v1/namespaces/_"
CODE = {"exec": {"kind": "python:3", "code": "echo"}}


async def entries(world, **query):
    answer = await world.client.get("/audit", params={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()["entries"]


async def told(world, *fields):
    """The fields of all entries, the oldest first."""
    return [tuple(entry[field] for field in fields) for entry in reversed(await entries(world))]


async def test_each_change_of_a_definition_has_an_entry(world):
    client = world.client
    await client.put("/actions/a", json=CODE)
    await client.put("/actions/a", json=CODE)
    await client.put("/packages/box", json={})
    await client.put("/actions/box/b", json=CODE)
    await client.put("/triggers/t", json={})
    await client.put("/rules/r", json={"trigger": "/_/t", "action": "/_/a"})
    await client.post("/rules/r", json={"status": "inactive"})
    await client.put("/secrets/mail", json="me:password")
    await client.delete("/secrets/mail")
    await client.delete("/actions/nothing")
    await client.delete("/rules/r")

    assert await told(world, "verb", "resource", "outcome", "status") == [
        ("put", "actions/a", "done", 200),
        ("put", "actions/a", "refused", 409),
        ("put", "packages/box", "done", 200),
        ("put", "actions/box/b", "done", 200),
        ("put", "triggers/t", "done", 200),
        ("put", "rules/r", "done", 200),
        ("set status", "rules/r", "done", 200),
        ("put", "secrets/mail", "done", 200),
        ("delete", "secrets/mail", "done", 200),
        ("delete", "actions/nothing", "refused", 404),
        ("delete", "rules/r", "done", 200),
    ]
    assert "password" not in json.dumps(await entries(world))


async def test_an_entry_says_who_when_and_from_where(world):
    headers = {"x-request-id": "my-request"}
    await world.client.put("/actions/a", json=CODE, headers=headers)

    (entry,) = await entries(world)

    assert entry == {
        "number": 1, "at": world.clock.ms, "namespace": "guest", "key": "guest/admin",
        "keyId": USER, "verb": "put", "resource": "actions/a", "outcome": "done", "status": 200,
        "request": "my-request", "address": "127.0.0.1",
    }  # fmt: skip
    assert KEY not in json.dumps(entry)


async def test_reading_and_invoking_leave_no_entry(world):
    await world.put("a", "echo")
    await world.client.put("/triggers/t", json={})
    before = len(await entries(world))

    await world.ended("a")
    await world.client.post("/triggers/t")
    for path in ("/actions", "/actions/a", "/activations", "/executions", "/keys", "/audit"):
        await world.client.get(path)

    assert len(await entries(world)) == before


async def test_interventions_in_executions_have_entries(world):
    await world.put("hold", "hold")
    await world.put("long", composer.sequence("hold"))
    id = await world.start("long")
    await world.hands.held.get()
    for verb in ("pause", "resume", "cancel"):
        assert (await world.client.post(f"/executions/{id}/{verb}")).status_code < 500
    await world.client.post(f"/executions/{id}/redrive")
    await world.client.post(f"/executions/{id}/answer", json={"result": {"secret": 1}})
    await world.client.post(f"/sagas/{id}", json={"do": "skip", "reason": "because"})
    await world.client.post("/transactions/x/1", json={"decision": "commit", "reason": "because"})

    assert (await told(world, "verb", "resource"))[2:] == [
        ("pause", f"executions/{id}"),
        ("resume", f"executions/{id}"),
        ("cancel", f"executions/{id}"),
        ("redrive", f"executions/{id}"),
        ("answer", f"executions/{id}"),
        ("resolve", f"sagas/{id}"),
        ("decide", "transactions/x/1"),
    ]


async def test_keys_are_audited_and_shown_by_name(world):
    made = (await world.client.put("/keys/ci", json={"role": "read"})).json()
    ci = world.caller(auth=tuple(made["auth"].split(":")))
    await world.client.post("/keys/ci/rotate")
    await ci.put(f"{HOME}/actions/a", json=CODE)
    await world.client.delete("/keys/ci")

    assert await told(world, "key", "verb", "resource", "status") == [
        ("guest/admin", "create", "keys/ci", 200),
        ("guest/admin", "rotate", "keys/ci", 200),
        ("guest/ci", "put", "actions/a", 403),
        ("guest/admin", "revoke", "keys/ci", 200),
    ]
    assert made["auth"].split(":")[1] not in json.dumps(await entries(world))


async def test_the_operators_changes_stand_where_the_namespace_looks(world):
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    await operator.put("/api/v1/operator/namespaces/team", json={})
    await operator.post("/api/v1/operator/namespaces/guest/rotate")
    await operator.put("/api/v1/namespaces/guest/keys/ci", json={"role": "read"})
    await operator.post("/api/v1/operator/resume")

    of_guest = (await operator.get("/api/v1/namespaces/guest/audit")).json()["entries"]
    everything = (await operator.get("/api/v1/operator/audit")).json()["entries"]

    assert [(e["key"], e["resource"]) for e in of_guest] == [
        ("whisk.system/admin", "keys/ci"), ("whisk.system/admin", "namespaces/guest"),
    ]  # fmt: skip
    assert [(e["namespace"], e["resource"]) for e in everything] == [
        ("whisk.system", "resume"), ("guest", "keys/ci"), ("guest", "namespaces/guest"),
        ("team", "namespaces/team"),
    ]  # fmt: skip


async def test_only_admins_of_the_namespace_and_the_operator_read_it(world):
    team = tuple((await world.api.namespaces.create("team", {})).split(":"))
    deploy = (await world.client.put("/keys/ci", json={"role": "deploy"})).json()["auth"]

    refused = await world.caller(auth=tuple(deploy.split(":"))).get(f"{HOME}/audit")
    assert refused.json()["error"] == "The key 'ci' has the role 'deploy'; this needs 'admin'."
    other = world.caller(auth=team)
    assert (await other.get("/api/v1/namespaces/guest/audit")).status_code == 403
    assert (await other.get("/api/v1/operator/audit")).status_code == 403
    assert (await other.get(f"{HOME}/audit")).json() == {"entries": []}


async def test_pages_and_since(world):
    for name in "abc":
        world.clock.ms += 1000
        await world.client.put(f"/triggers/{name}", json={})

    first = (await world.client.get("/audit", params={"limit": 2})).json()
    rest = (await world.client.get("/audit", params={"before": first["next"]})).json()

    assert [entry["resource"] for entry in first["entries"]] == ["triggers/c", "triggers/b"]
    assert [entry["resource"] for entry in rest["entries"]] == ["triggers/a"]
    assert "next" not in rest
    assert len(await entries(world, since=world.clock.ms - 1000)) == 2


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"limit": 0}, 400), ({"limit": 1}, 200), ({"limit": 200}, 200), ({"limit": 201}, 400),
        ({"before": 0}, 400), ({"before": 1}, 200), ({"before": "x"}, 400), ({"since": "x"}, 400),
    ],
)  # fmt: skip
async def test_the_parameters_of_a_page_have_bounds(world, query, status):
    assert (await world.client.get("/audit", params=query)).status_code == status


async def test_a_resource_is_shown_up_to_a_length(world):
    await world.client.put(f"/actions/{'a' * 600}", json=CODE)

    (entry,) = await entries(world)
    assert len(entry["resource"]) == 512


async def test_a_resource_cannot_change_the_readers_terminal(world):
    await world.client.put("/actions/a%1b%5B2Ja%C2%9Bb", json=CODE)

    (entry,) = await entries(world)
    assert entry["resource"] == "actions/a?[2Ja?b"


async def test_entries_last(world):
    await world.client.put("/triggers/t", json={})
    (entry,) = await entries(world)

    await world.api.audit.load()
    await world.client.put("/triggers/u", json={})

    assert (await entries(world))[1] == entry


# --- AWS' APIs ---------------------------------------------------------------------------------


async def test_changes_by_signed_requests_have_entries(world):
    aws = Aws(world)
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    role = "arn:aws:iam::123456789012:role/any"
    made = await aws("CreateStateMachine", name="one", roleArn=role, definition=definition)
    await aws("StartExecution", stateMachineArn=made["stateMachineArn"])
    await aws.refused("CreateStateMachine", name="two", roleArn=role, definition="{}")
    await aws("DeleteStateMachine", stateMachineArn=made["stateMachineArn"])
    await aws.refused("DeleteActivity", activityArn=5)
    reader = (await world.client.put("/keys/reader", json={"role": "read"})).json()["auth"]
    await Aws(world, *reader.split(":")).refused("CreateActivity", name="three")

    assert await told(world, "verb", "resource", "outcome") == [
        ("CreateStateMachine", "one", "done"),
        ("CreateStateMachine", "two", "refused"),
        ("DeleteStateMachine", made["stateMachineArn"], "done"),
        ("DeleteActivity", "", "refused"),
        ("create", "keys/reader", "done"),
        ("CreateActivity", "three", "refused"),
    ]


# --- failed authentication ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "missing"),
        ({"Authorization": "Bearer a-secret-token"}, "invalid"),
        ({"Authorization": basic(f"{USER}:a-secret-token")}, "invalid"),
        ({"Authorization": basic("a-secret-token")}, "invalid"),
    ],
)
async def test_a_failed_attempt_is_counted_and_logged_without_what_was_sent(
    world, caplog, headers, reason
):
    answer = await world.caller(headers=headers).put(f"{HOME}/actions/a", json=CODE)

    assert answer.status_code == 401
    assert world.api.auth.failures.counts[reason] == 1
    (line,) = (text for text in caplog.messages if "authentication failed" in text)
    path = "/api/v1/namespaces/_/actions/a"
    assert line.startswith(
        f"authentication failed: {reason} credentials from 127.0.0.1 for PUT {path}"
    )
    known = headers.get("Authorization") == basic(f"{USER}:a-secret-token")
    assert ("with the id of the key guest/admin" in line) is known
    assert "a-secret-token" not in caplog.text
    assert await entries(world) == []


async def test_a_wrong_signature_is_counted(world, caplog):
    await Aws(world, USER, "another-key").refused("ListStateMachines")
    await Aws(world, "nobody", "another-key").refused("ListStateMachines")
    await world.caller().post("/", json={})

    assert world.api.auth.failures.counts == {"invalid": 2, "missing": 1}
    assert "with the id of the key guest/admin" in caplog.text


async def test_a_web_actions_own_header_is_not_a_failed_attempt(world):
    await world.put("page", "echo", annotations=[{"key": "web-export", "value": True}])
    client = world.caller(headers={"Authorization": "Bearer of-the-application"})

    assert (await client.get("/api/v1/web/guest/default/page.json")).status_code == 200
    assert sum(world.api.auth.failures.counts.values()) == 0


async def test_a_deployment_is_audited_and_what_it_would_change_is_not(world):
    definition = {"exec": {"kind": "python:3", "code": "echo"}}
    action = {"name": "a", "origin": "shop/a.py", "definition": definition}
    body = {"actions": [action], "origins": ["shop/"]}

    for dry_run in ("true", "false"):
        answer = await world.client.put("/deployments", params={"dry-run": dry_run}, json=body)
        assert answer.status_code == 200, answer.text

    verbs = [entry["verb"] for entry in (await world.client.get("/audit")).json()["entries"]]
    assert verbs == ["deploy"]


async def test_a_batch_is_audited_and_one_that_is_only_counted_is_not(world):
    body = {"where": "status = 'failed'", "do": "cancel"}

    for dry_run, status in (("true", 200), ("false", 202)):
        answer = await world.client.post("/batches", params={"dry-run": dry_run}, json=body)
        assert answer.status_code == status, answer.text

    entries = (await world.client.get("/audit")).json()["entries"]
    assert [(entry["verb"], entry["resource"]) for entry in entries] == [("create", "batches")]
