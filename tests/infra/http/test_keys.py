"""Keys and their roles over HTTP, with OpenWhisk's API and with AWS' APIs."""

from __future__ import annotations

import json

import pytest

from tests.kit.http.worlds import KEY, OPERATOR, USER
from tests.kit.stepfunctions.clients import Aws
from xingqiao.infra.access.roles import Role

HOME = "/api/v1/namespaces/_"
KEYS = f"{HOME}/keys"
CODE = {"exec": {"kind": "python:3", "code": "echo"}}


@pytest.fixture
async def make(world):
    """Makes a key of `guest`. Returns a client that uses it."""

    async def made(name, role):
        answer = await world.client.put(f"/keys/{name}", json={"role": role})
        assert answer.status_code == 200, answer.text
        return world.caller(auth=tuple(answer.json()["auth"].split(":")))

    return made


async def test_a_key_is_created_listed_rotated_and_revoked(world, make):
    ci = await make("ci", "deploy")
    assert (await ci.put(f"{HOME}/actions/a", json=CODE)).status_code == 200

    listed = (await world.client.get("/keys")).json()
    assert [(key["name"], key["role"], key["createdBy"]) for key in listed] == [
        ("admin", "admin", None), ("ci", "deploy", "guest/admin"),
    ]  # fmt: skip
    assert all("auth" not in key for key in listed)

    rotated = (await world.client.post("/keys/ci/rotate", json={"graceSeconds": 60})).json()
    new = world.caller(auth=tuple(rotated["auth"].split(":")))
    assert rotated["previous"]["until"] == world.clock.ms + 60_000
    for client in (ci, new):
        assert (await client.get(f"{HOME}/actions")).status_code == 200
    world.clock.ms += 60_000
    assert (await ci.get(f"{HOME}/actions")).status_code == 401

    assert (await world.client.delete("/keys/ci")).json()["name"] == "ci"
    assert (await new.get(f"{HOME}/actions")).status_code == 401
    assert (await world.client.delete("/keys/ci")).status_code == 404


async def test_a_rotation_leaves_a_day_by_default(world, make):
    await make("ci", "read")

    rotated = (await world.client.post("/keys/ci/rotate")).json()

    assert rotated["previous"]["until"] == world.clock.ms + 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "why"),
    [
        (
            "PUT",
            "new",
            {},
            400,
            "'role' is missing: give one of read, invoke, work, deploy, admin.",
        ),
        ("PUT", "new", {"role": 5}, 400, "'role' must be a string, not 5."),
        (
            "PUT",
            "new",
            {"role": "boss"},
            400,
            "The role must be one of read, invoke, work, deploy, admin",
        ),
        ("PUT", "new", {"role": "read", "x": 1}, 400, "'x' is not known: give role."),
        ("PUT", "a b", {"role": "read"}, 400, "The name 'a b' cannot be used for a key"),
        ("POST", "ci/rotate", {"graceSeconds": 1.5}, 400, "'graceSeconds' must be a whole number"),
        ("POST", "ci/rotate", {"graceSeconds": -1}, 400, "The grace period must be 0 to 2592000"),
        ("POST", "ci/rotate", {"grace": 1}, 400, "'grace' is not known: give graceSeconds."),
        ("POST", "none/rotate", {}, 404, "The namespace has no key 'none'."),
        ("DELETE", "admin", None, 409, "The key 'admin' is the namespace's own"),
    ],
)
async def test_a_malformed_request_is_refused_and_the_field_is_named(
    world, make, method, path, body, status, why
):
    ci = await make("ci", "read")

    answer = await world.client.request(method, f"/keys/{path}", json=body)

    assert (answer.status_code, why in answer.json()["error"]) == (status, True), answer.text
    assert len((await world.client.get("/keys")).json()) == 2
    assert (await ci.get(f"{HOME}/actions")).status_code == 200


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
async def test_only_an_admin_manages_keys(world, make, role):
    client = await make("someone", role)

    for method, path in (
        ("GET", ""),
        ("PUT", "/more"),
        ("POST", "/admin/rotate"),
        ("DELETE", "/x"),
    ):
        answer = await client.request(method, f"{KEYS}{path}", json={"role": "admin"})
        assert (answer.status_code, answer.json()["error"]) == (
            403, f"The key 'someone' has the role '{role}'; this needs 'admin'.",
        )  # fmt: skip
    assert len((await world.client.get("/keys")).json()) == 2


@pytest.mark.parametrize("role", Role)
async def test_no_role_in_a_namespace_reads_the_figures_of_others(world, make, role):
    client = await make("someone", role)

    assert (await client.get("/metrics")).status_code == 403


async def test_the_operators_rotation_ends_a_grace_period_too(world):
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    second = (await world.client.post("/keys/admin/rotate")).json()["auth"]
    third = (await operator.post("/api/v1/operator/namespaces/guest/rotate")).json()["auth"]

    for auth, status in ((f"{USER}:{KEY}", 401), (second, 401), (third, 200)):
        answer = await world.caller(auth=tuple(auth.split(":"))).get(f"{HOME}/keys")
        assert answer.status_code == status


async def test_a_second_admin_manages_keys_and_even_the_first_ones(world, make):
    boss = await make("boss", "admin")

    made = (await boss.put(f"{KEYS}/ci", json={"role": "read"})).json()
    assert made["createdBy"] == "guest/boss"
    assert (await boss.post(f"{KEYS}/admin/rotate", json={"graceSeconds": 0})).status_code == 200
    assert (await world.client.get("/keys")).status_code == 401


async def test_the_operator_manages_the_keys_of_every_namespace_and_others_do_not(world, make):
    await make("ci", "read")
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    path = "/api/v1/namespaces/guest/keys"
    team = (await world.api.namespaces.create("team", {})).split(":")

    made = (await operator.put(f"{path}/more", json={"role": "invoke"})).json()
    assert (made["name"], made["createdBy"]) == ("more", "whisk.system/admin")
    assert len((await operator.get(path)).json()) == 3
    assert (await operator.get("/api/v1/namespaces/nobody/keys")).status_code == 404
    for method in ("GET", "PUT", "DELETE"):
        target = path if method == "GET" else f"{path}/more"
        answer = await world.caller(auth=tuple(team)).request(method, target)
        assert answer.status_code == 403, method


async def test_a_key_works_in_its_own_namespace_only(world, make):
    ci = await make("ci", "admin")
    await world.api.namespaces.create("team", {})

    assert (await ci.get("/api/v1/namespaces")).json() == ["guest"]
    assert (await ci.get("/api/v1/namespaces/team/actions")).status_code == 403
    assert (await ci.put("/api/v1/namespaces/team/actions/a", json=CODE)).status_code == 403


async def test_an_invoker_invokes_and_reads_activations_and_no_code(world, make):
    await world.put("secret", "echo")
    web = await make("web", "invoke")

    answer = await web.post(f"{HOME}/actions/secret?blocking=true&result=true", json={"n": 1})
    assert (answer.status_code, answer.json()) == (200, {"n": 1})
    assert len((await web.get(f"{HOME}/activations")).json()) == 1
    for path in ("actions/secret", "actions", ""):
        refused = await web.get(f"{HOME}/{path}".rstrip("/"))
        assert refused.json()["error"] == "The key 'web' has the role 'invoke'; this needs 'read'."
    assert (await web.put(f"{HOME}/actions/a", json=CODE)).status_code == 403


async def test_an_action_may_not_manage_keys_though_it_has_a_key(world):
    auth = world.api.namespaces.action_key("guest", world.clock.ms + 1000)
    action = world.caller(auth=tuple(auth.split(":")))

    assert (await action.get(f"{HOME}/actions")).status_code == 200
    refused = await action.put(f"{KEYS}/more", json={"role": "admin"})
    assert refused.json()["error"] == "The key 'action' has the role 'deploy'; this needs 'admin'."


async def test_an_action_of_the_operators_namespace_is_not_the_operator(world):
    auth = world.api.namespaces.action_key("whisk.system", world.clock.ms + 1000)
    action = world.caller(auth=tuple(auth.split(":")))

    assert (await action.put("/api/v1/operator/namespaces/x", json={})).status_code == 403
    assert (await action.get(f"{KEYS}")).status_code == 403


# --- AWS' APIs ---------------------------------------------------------------------------------

MACHINE = {
    "name": "one",
    "roleArn": "arn:aws:iam::123456789012:role/any",
    "definition": json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}),
}


async def aws(world, name, role):
    auth = await world.api.keys.create("guest", name, role, "test")
    return Aws(world, *auth.split(":"))


async def test_signed_requests_have_the_role_of_their_key(world):
    deploy, invoke = await aws(world, "ci", "deploy"), await aws(world, "web", "invoke")
    arn = (await deploy("CreateStateMachine", **MACHINE))["stateMachineArn"]

    assert (await invoke("StartExecution", stateMachineArn=arn))["executionArn"]
    refused = await invoke.refused("DeleteStateMachine", stateMachineArn=arn)
    assert refused == (
        "AccessDeniedException", "The key 'web' has the role 'invoke'; this needs 'deploy'.",
    )  # fmt: skip
    await world.api.keys.revoke("guest", "web")
    code, _ = await invoke.refused("ListExecutions", stateMachineArn=arn)
    assert code == "UnrecognizedClientException"


async def test_the_namespaces_own_key_signs_everything(world):
    owner = Aws(world, USER, KEY)

    assert (await owner("CreateStateMachine", **MACHINE))["stateMachineArn"]


async def test_a_key_that_may_not_cancel_cannot_end_runs_by_starting_others(world, make):
    await world.put("hold", "hold")
    await world.client.put(
        "/schedules/s", json={"spec": {"cron": "0 0 1 1 *"}, "do": {"action": "hold"}}
    )
    shop = await make("shop", "invoke")
    start = {"id": "order-7", "on_open": "terminate"}
    period = {"from": "2026-01-01", "to": "2026-01-01"}

    def asked(client, home=HOME):
        return [
            client.post(f"{home}/actions/hold", json={}, params=start),
            *(
                client.post(f"{home}/schedules/s/{verb}", json={"overlap": overlap, **body})
                for overlap in ("cancel_other", "terminate_other")
                for verb, body in (("trigger", {}), ("backfill", period))
            ),
        ]

    for answer in [await request for request in asked(shop)]:
        assert answer.status_code == 403, answer.text
        assert (
            answer.json()["error"] == "The key 'shop' has the role 'invoke'; this needs 'deploy'."
        )
    for request in (
        shop.post(f"{HOME}/actions/hold", json={}, params={"id": "order-7", "on_open": "use"}),
        shop.post(f"{HOME}/schedules/s/trigger", json={"overlap": "allow_all"}),
        shop.post(f"{HOME}/schedules/s/trigger"),
        *asked(await make("ci", "deploy")),
    ):
        answer = await request
        assert answer.status_code == 202, answer.text
