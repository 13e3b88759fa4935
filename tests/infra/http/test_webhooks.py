"""Webhooks: their URLs fire triggers."""

from __future__ import annotations

import hmac

import pytest

FEED = "/api/v1/namespaces/whisk.system/actions/webhooks/webhook"


@pytest.fixture
async def ask(world, client):
    """Asks the feed something about the trigger `t`, which has a rule."""
    await world.put("echo", "echo")
    await client.put("/triggers/t", json={})
    await client.put("/rules/r", json={"trigger": "/_/t", "action": "/_/echo"})
    caller = world.caller(auth=client.auth)

    async def asked(event, **params):
        body = {"lifecycleEvent": event, "triggerName": "/_/t", **params}
        answer = await caller.post(FEED, params={"blocking": "true", "result": "true"}, json=body)
        return answer.json()

    return asked


async def test_whoever_posts_to_its_url_fires_the_trigger(world, client, ask):
    path = (await ask("CREATE"))["path"]

    answer = await world.caller().post(path, json={"n": 1})

    assert answer.status_code == 202
    record = await world.record(answer.json()["activationId"])
    assert record["response"]["result"] == {"n": 1}
    await client.post("/rules/r", json={"status": "inactive"})
    assert (await world.caller().post(path, json=[1])).status_code == 204
    assert (await world.caller().post(path, content=b"{")).status_code == 400
    assert (await world.caller().post(path, content=b"x" * 10_001)).status_code == 413
    assert (await world.caller().post(path[:-1], json={})).status_code == 404


async def test_with_a_secret_it_must_be_signed(world, ask):
    path = (await ask("CREATE", secret="s"))["path"]
    body = b'{"n": 1}'
    good = "sha256=" + hmac.new(b"s", body, "sha256").hexdigest()

    for signature, status in ((good, 202), ("sha256=00", 401), (good.upper(), 401)):
        headers = {"x-hub-signature-256": signature}
        answer = await world.caller().post(path, content=body, headers=headers)
        assert answer.status_code == status
    assert (await world.caller().post(path, content=body)).status_code == 401
    assert (await ask("READ"))["config"] == {"signed": True}
    await ask("UPDATE")
    assert (await world.caller().post(path, content=body)).status_code == 202


async def test_it_is_paused_and_ended_and_goes_with_its_trigger(world, client, ask):
    path = (await ask("CREATE"))["path"]
    assert "has a webhook" in (await ask("CREATE"))["error"]
    await ask("PAUSE")
    assert (await world.caller().post(path)).status_code == 404
    await ask("UNPAUSE")
    assert (await world.caller().post(path)).status_code == 202
    await ask("DELETE")
    assert (await world.caller().post(path)).status_code == 404
    assert "has no webhook" in (await ask("READ"))["error"]

    path = (await ask("CREATE"))["path"]
    await client.delete("/triggers/t")
    assert (await world.caller().post(path)).status_code == 404


@pytest.mark.parametrize(
    ("event", "params", "why"),
    [
        ("START", {}, "'lifecycleEvent' must be one of CREATE"),
        ("CREATE", {"triggerName": 5}, "'triggerName' must be the full name"),
        ("CREATE", {"triggerName": "/other/t"}, "not authorized to access 'other/t'"),
        ("CREATE", {"triggerName": "/_/nobody"}, "does not exist"),
        ("CREATE", {"secret": ""}, "'secret' must be a non-empty string"),
    ],
)
async def test_what_cannot_be_is_refused(ask, event, params, why):
    assert why in (await ask(event, **params))["error"]
