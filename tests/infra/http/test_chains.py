"""Chains of runs over HTTP: any run leads to the newest one."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import continue_as_new, path, receive


@pytest.fixture
async def chain(world, client):
    """The first run of an execution that has continued once and waits for a message."""
    part = composer.sequence(
        receive("go"), composer.when(path("$.more").exists(), continue_as_new())
    )
    await world.put("hears", part)
    answer = await client.post("/actions/hears", params={"id": "x", "memo": '{"a":1}'})
    run = answer.json()["activationId"]
    await client.post(f"/executions/{run}/messages/go", json={"more": 1}, params={"message": "m"})
    while (await client.get(f"/executions/{run}")).json()["status"] != "continued":
        pass
    return run


async def test_a_run_shows_the_next_one_and_that_one_the_run_before(chain, client):
    first = (await client.get(f"/executions/{chain}")).json()
    newest = (await client.get("/executions/x")).json()

    assert first["next"] == {"executionId": newest["executionId"]}
    assert newest["continues"] == {"executionId": chain, "first": chain}
    assert (newest["status"], newest["memo"]) == ("running", {"a": 1})


async def test_the_activation_of_a_chain_is_that_of_its_last_run(chain, client):
    assert (await client.get(f"/activations/{chain}")).status_code == 404
    early = await client.get(f"/activations/{chain}", params={"wait": 20})
    assert early.status_code == 404
    told = await client.post(f"/executions/{chain}/messages/go", json={"n": 7})
    assert told.status_code == 202

    record = (await client.get(f"/activations/{chain}", params={"wait": 5000})).json()

    assert record["response"]["result"] == {"n": 7}
    assert record["activationId"] != chain


async def test_a_message_id_is_taken_once_for_the_chain(chain, client):
    for run in (chain, "x"):
        answer = await client.post(
            f"/executions/{run}/messages/go", json={"n": 1}, params={"message": "m"}
        )
        assert answer.json().get("replayed") is True


async def test_runs_that_have_continued_are_found_and_counted(chain, client):
    found = await client.get("/executions", params={"where": "status = 'continued'"})
    count = await client.get("/executions/count", params={"group": "status"})

    assert [run["executionId"] for run in found.json()["executions"]] == [chain]
    assert count.json()["groups"] == {"running": 1, "continued": 1}


async def test_a_run_that_has_continued_is_not_redriven_and_the_chain_is_cancelled(chain, client):
    redriven = await client.post(f"/executions/{chain}/redrive")
    assert redriven.status_code == 409
    assert "redrive the last run of the chain" in redriven.text

    cancelled = await client.post(f"/executions/{chain}/cancel")

    assert cancelled.status_code == 202
    newest = (await client.get("/executions/x")).json()
    assert newest["status"] == "cancelled"


async def test_messages_that_wait_are_listed_by_any_run_but_not_those_of_a_hidden_action(
    chain, client, monkeypatch
):
    await client.post(f"/executions/{chain}/messages/later", json={"n": 7})
    shown = [(await client.get(f"/executions/{run}/messages")).json() for run in (chain, "x")]
    assert [message["payload"] for message in shown[0]] == [{"n": 7}]
    assert shown[0] == shown[1]

    async def hidden(_namespace, run, _api):
        return run != chain

    monkeypatch.setattr("xingqiao.infra.http.messages.is_run_hidden", hidden)

    (message,) = (await client.get(f"/executions/{chain}/messages")).json()
    assert "payload" not in message
