"""Schedules over HTTP: created, described, changed, deleted, and nobody else's."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import OPERATOR
from xingqiao.actions import ScheduleSpec

NOT_FOUND = "The requested resource does not exist."
LOOKS = 1000
HOURLY = {"spec": {"cron": "0 * * * *"}, "do": {"action": "echo", "input": {"n": 1}}}


@pytest.fixture
async def deployed(world):
    await world.put("echo", "echo")
    return world


async def until(client, condition):
    for _ in range(LOOKS):
        found = (await client.get("/schedules/s")).json()
        if condition(found):
            return found
        await anyio.lowlevel.checkpoint()
    raise AssertionError(found)


async def test_a_schedule_is_created_described_and_listed(deployed, client):
    made = await client.put("/schedules/s", json={**HOURLY, "note": "for the report"})
    again = await client.put("/schedules/s", json=HOURLY)
    over = await client.put("/schedules/s", params={"overwrite": "true"}, json=HOURLY)
    found = (await client.get("/schedules/s")).json()
    lines = (await client.get("/schedules")).json()
    count = (await client.get("/schedules", params={"count": "true"})).json()

    assert (made.status_code, made.json()["note"]) == (200, "for the report")
    assert (again.status_code, again.json()["error"]) == (409, "resource already exists")
    assert over.status_code == 200
    assert found["document"] == HOURLY
    assert len(found["next"]) == 10
    assert found["next"][1] - found["next"][0] == 3_600_000
    assert {name: found[name] for name in ("status", "overlap", "missed", "skipped", "last")} == {
        "status": "active", "overlap": "skip", "missed": 0, "skipped": 0, "last": [],
    }  # fmt: skip
    assert [(line["name"], line["action"], line["open"]) for line in lines] == [
        ("s", "/guest/echo", 0)
    ]
    assert lines[0]["next"] == found["next"][0]
    assert count == {"schedules": 1}


async def test_it_is_triggered_filled_back_paused_and_resumed(deployed, client):
    await client.put("/schedules/s", json=HOURLY)
    paused = await client.post("/schedules/s/pause")
    triggered = await client.post("/schedules/s/trigger", json={"overlap": "allow_all"})
    period = {"from": "2026-01-01T00:00Z", "to": "2026-01-01T02:00Z"}
    filled = await client.post("/schedules/s/backfill", json=period)
    found = await until(
        client, lambda doc: [run["status"] for run in doc["last"]] == ["succeeded"] * 4
    )
    resumed = await client.post("/schedules/s/resume")

    assert (paused.status_code, paused.json()["status"]) == (200, "paused")
    assert (triggered.status_code, filled.status_code) == (202, 202)
    assert resumed.json()["status"] == "active"
    assert found["last"][1]["id"] == "s-2026-01-01T00:00:00Z-2"
    record = await client.get(f"/activations/{found['last'][1]['activationId']}")
    assert record.json()["response"]["result"] == {"n": 1}


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("", {}, "the field 'do' must be an object, not None"),
        ("", {**HOURLY, "x": 1}, "the field 'x' does not exist"),
        ("", {**HOURLY, "overlap": "never"}, "the field 'overlap' must be one of skip, "),
        ("/trigger", {"x": 1}, "the field 'x' does not exist: overlap do"),
        ("/backfill", {"from": "soon"}, "the field 'from' must be an instant"),
        ("/backfill", {"from": 2, "to": 1}, "the field 'to' must not be before 'from'"),
    ],
)
async def test_what_is_malformed_is_told(deployed, client, path, body, text):
    await client.put("/schedules/s", json=HOURLY)
    method = client.post if path else client.put
    answer = await method(f"/schedules/s{path}", json=body)

    assert answer.status_code == 400
    assert text in answer.json()["error"]


async def test_it_is_deleted_and_then_there_is_none(deployed, client):
    await client.put("/schedules/s", json=HOURLY)
    gone = await client.delete("/schedules/s")

    assert (gone.status_code, gone.json()["name"]) == (200, "s")
    for ask in (client.get, client.delete):
        answer = await ask("/schedules/s")
        assert (answer.status_code, answer.json()["error"]) == (404, NOT_FOUND)
    for verb in ("pause", "resume", "trigger"):
        assert (await client.post(f"/schedules/s/{verb}")).status_code == 404


async def test_nobody_sees_those_of_others(deployed, client):
    await client.put("/schedules/s", json=HOURLY)
    operator = deployed.caller(auth=tuple(OPERATOR.split(":")))
    assert (await operator.get("/api/v1/namespaces/_/schedules")).json() == []
    assert (await operator.get("/api/v1/namespaces/guest/schedules/s")).status_code == 403


async def test_they_go_with_their_namespace(world):
    operated = "/api/v1/operator/namespaces/team"
    operator = world.caller(auth=tuple(OPERATOR.split(":")))
    made = (await operator.put(operated, json={})).json()
    caller = world.caller(auth=tuple(made["auth"].split(":")))
    path = "/api/v1/namespaces/_/schedules/s"
    assert (await caller.put(path, json=HOURLY)).status_code == 200
    assert (await operator.delete(operated)).status_code == 200

    assert world.engine.schedules.names("team") == []


async def test_a_page_of_a_list_looks_for_the_times_of_its_own_lines_only(
    deployed, client, monkeypatch
):
    for name in "abc":
        await client.put(f"/schedules/{name}", json={**HOURLY, "paused": True})
    looked = []
    upcoming = ScheduleSpec.upcoming

    def counted(*args, **options):
        looked.append(args)
        return upcoming(*args, **options)

    monkeypatch.setattr(ScheduleSpec, "upcoming", counted)
    count = (await client.get("/schedules", params={"count": "true"})).json()
    assert (count, looked) == ({"schedules": 3}, [])
    lines = (await client.get("/schedules", params={"skip": 1, "limit": 1})).json()

    assert [line["name"] for line in lines] == ["b"]
    assert len(looked) == 1


async def test_a_schedule_of_which_a_time_is_too_hard_to_find_is_refused(deployed, client):
    skip = [{"second": "0-58"}, {"second": 59, "minute": "0-58"}]
    spec = {"cron": ["* * * * * *"] * 20, "skip": skip}
    refused = await client.put("/schedules/s", json={**HOURLY, "spec": spec})

    assert refused.status_code == 400
    assert "'spec.skip'" in refused.json()["error"]


async def test_a_schedule_at_the_end_of_time_is_refused_and_leaves_nothing(deployed, client):
    spec = {"cron": "0 0 * * *", "start": "9999-12-30T00:00:01Z", "jitter": 60}
    refused = await client.put("/schedules/s", json={**HOURLY, "spec": spec})

    assert refused.status_code == 400
    assert "'spec.start' must be before the year 9000" in refused.json()["error"]
    assert (await client.get("/schedules")).json() == []
