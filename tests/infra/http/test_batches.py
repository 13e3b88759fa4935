"""Batches over HTTP: bodies, answers, errors, and the rights that they need."""

from __future__ import annotations

import pytest

from xingqiao import composer

RUNNING = "action = 'waits' and status = 'running'"
CANCEL = {"where": RUNNING, "do": "cancel", "reason": "over"}


@pytest.fixture
async def three(world):
    await world.put("waits", composer.wait(3600))
    ids = [await world.start("waits") for _ in range(3)]
    for id in ids:
        await world.standing(id, status="running")
    return ids


async def test_a_batch_is_created_described_and_listed(three, client, world):
    counted = await client.post("/batches?dry-run=true", json=CANCEL)
    answer = await client.post("/batches", json={**CANCEL, "id": "over/night"})

    assert (counted.status_code, counted.json()) == (200, {"matched": 3})
    assert answer.status_code == 202
    run = answer.json()["executionId"]
    assert answer.json()["id"] == "over/night"
    await world.standing(run, status="succeeded")
    for path in (run, "over%2Fnight"):
        found = (await client.get(f"/batches/{path}")).json()
        assert (found["matched"], found["done"], found["errors"]) == (3, 3, [])
    (line,) = (await client.get("/batches?limit=1&name=x")).json()
    assert (line["executionId"], line["do"], line["done"]) == (run, "cancel", 3)
    assert (await client.get("/batches?status=running")).json() == []
    for id in three:
        await world.standing(id, status="cancelled")


async def test_a_batch_is_cancelled(three, client, world):
    run = (await client.post("/batches", json={**CANCEL, "per_second": 0.01})).json()["executionId"]

    answer = await client.delete(f"/batches/{run}")

    assert (answer.status_code, answer.json()["executionId"]) == (202, run)
    await world.standing(run, status="cancelled")
    again = await client.delete(f"/batches/{run}")
    assert (again.status_code, "has ended" in again.json()["error"]) == (409, True)


async def test_what_is_no_batch_is_not_found(three, client):
    for ask in (client.get, client.delete):
        for id in (three[0], "0" * 32, "mine"):
            assert (await ask(f"/batches/{id}")).status_code == 404


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"where": RUNNING, "do": "stop"}, "the field 'do' must be one of annotate, reset, tell"),
        ({"where": RUNNING, "do": "tell"}, "the field 'with.name' is missing"),
        ({"where": RUNNING, "do": "reset"}, "the field 'with.to' must be"),
        ({"where": "status = ", "do": "cancel"}, "InvalidFilter: at 9:"),
        ({"do": "cancel"}, "the field 'where' must be a filter"),
        ({**CANCEL, "per_second": 0}, "the field 'per_second' must be a number from 0.01 to 1000"),
    ],
)
async def test_a_malformed_batch_is_refused(client, body, told):
    for query in ("", "?dry-run=true"):
        answer = await client.post(f"/batches{query}", json=body)
        assert answer.status_code == 400
        assert told in answer.json()["error"]


async def test_a_dry_run_that_is_misspelt_starts_nothing(three, client):
    for query in ("dry_run=true", "dryRun=true", "dry-run=true&dry_run=true"):
        answer = await client.post(f"/batches?{query}", json=CANCEL)
        assert answer.status_code == 400
        assert "is not known here, only 'dry-run' and 'token'" in answer.json()["error"]

    assert (await client.get("/batches")).json() == []


async def test_a_token_makes_one_batch_of_two_requests(three, client):
    headers = {"Idempotency-Key": "t"}
    first, second = [
        (await client.post("/batches", json=CANCEL, headers=headers)).json()["executionId"]
        for _ in range(2)
    ]
    assert first == second


@pytest.mark.parametrize(
    ("role", "do", "status"),
    [
        ("read", "tell", 403),
        ("invoke", "tell", 202),
        ("invoke", "cancel", 403),
        ("invoke", "delete", 403),
        ("invoke", ["tell"], 403),
        ("deploy", "cancel", 202),
        ("deploy", "tell", 202),
    ],
)
async def test_a_batch_needs_the_right_to_its_operation(three, client, world, role, do, status):
    answer = await client.put(f"/keys/{role}", json={"role": role})
    caller = world.caller(auth=tuple(answer.json()["auth"].split(":")))
    details = {"with": {"name": "go"}} if do == "tell" else {}
    home = "http://test/api/v1/namespaces/_"

    made = await caller.post(f"{home}/batches", json={"where": RUNNING, "do": do, **details})

    assert made.status_code == status
    assert (await caller.get(f"{home}/batches")).status_code == 200
    batch = (await client.post("/batches", json={**CANCEL, "per_second": 0.01})).json()
    cancelled = await caller.delete(f"{home}/batches/{batch['executionId']}")
    assert cancelled.status_code == (202 if role == "deploy" else 403)
