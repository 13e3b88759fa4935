"""Activations over HTTP: list, get, result, logs."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Success

UNKNOWN = "0" * 32
START = 1_700_000_000_000  # of the world's clock


@pytest.fixture
async def ids(world):
    """Five activations, a second apart, the newest first: echo, fail, echo, fail, echo."""
    await world.put("echo", "echo")
    await world.put("fail", "fail")
    names = ("echo", "fail", "echo", "fail", "echo")
    return [await world.ended(name, {"n": n}) for n, name in enumerate(names)][::-1]


async def listed(client, **query):
    answer = await client.get("/activations", params=query)
    assert answer.status_code == 200, answer.text
    return [record["activationId"] for record in answer.json()]


async def test_they_are_listed_the_newest_first(client, ids):
    assert await listed(client) == ids


async def test_they_are_listed_by_name_status_and_time(client, ids):
    assert await listed(client, name="fail") == [ids[1], ids[3]]
    assert await listed(client, status="1") == [ids[1], ids[3]]
    assert await listed(client, status="0", name="echo") == [ids[0], ids[2], ids[4]]
    assert await listed(client, name="nothing") == []
    assert await listed(client, since=START + 4000) == ids[:2]
    assert await listed(client, upto=START + 2000) == ids[3:]
    assert await listed(client, since=START + 2000, upto=START + 3000) == ids[2:4]


async def test_they_are_listed_in_pages(client, ids):
    assert await listed(client, limit=2) == ids[:2]
    assert await listed(client, limit=2, skip=2) == ids[2:4]
    assert await listed(client, limit=0, skip=4) == ids[4:]
    assert await listed(client, skip=5) == []


async def test_thirty_are_a_page_unless_said(world, client):
    await world.put("echo", "echo")
    for _ in range(31):
        await world.ended("echo")

    assert len(await listed(client)) == 30
    assert len(await listed(client, limit=0)) == 31


async def test_they_are_counted(client, ids):
    async def counted(**query):
        return (await client.get("/activations", params={"count": "true", **query})).json()

    assert await counted() == {"activations": 5}
    assert await counted(name="fail") == {"activations": 2}
    assert await counted(limit=1, skip=3) == {"activations": 5}
    assert await counted(since=START + 4000) == {"activations": 2}


async def test_a_list_has_no_results_and_no_logs_unless_asked_for(client, ids):
    short = (await client.get("/activations", params={"limit": 1})).json()[0]
    whole = (await client.get("/activations", params={"limit": 1, "docs": "true"})).json()[0]

    assert sorted(short) == [
        "activationId", "annotations", "duration", "end", "name", "namespace", "publish", "start",
        "statusCode", "version",
    ]  # fmt: skip
    assert whole == (await client.get(f"/activations/{ids[0]}")).json()
    assert (whole["response"]["result"], whole["logs"]) == ({"n": 4}, ["a line"])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"count": "true", "docs": "true"}, "The parameter 'docs' is not permitted with 'count'."),
        ({"since": "soon"}, "Parameter is not a valid value for epoch seconds: soon"),
        ({"upto": "-1"}, "Parameter is not a valid value for epoch seconds: -1"),
        ({"since": "²"}, "Parameter is not a valid value for epoch seconds: ²"),
        ({"since": "9" * 30}, "Parameter is not a valid value for epoch seconds: " + "9" * 30),
        ({"since": "9" * 5000}, "Parameter is not a valid value for epoch seconds: " + "9" * 5000),
        ({"limit": "201"}, "The value '201' is not in the range of 0 to 200 for activations."),
        ({"limit": "9" * 5000}, "The value '" + "9" * 5000 + "' is not an integer for activations."),
        ({"status": "4"}, "The value '4' is not in the range of 0 to 3 for activations."),
        ({"status": "failed"}, "The value 'failed' is not an integer for activations."),
    ],
    ids=range(10),
)  # fmt: skip
async def test_a_question_that_makes_no_sense_is_refused(client, query, text):
    answer = await client.get("/activations", params=query)

    assert (answer.status_code, answer.json()["error"]) == (400, text)


async def test_parts_of_a_record_are_had_by_themselves(client, ids):
    result = await client.get(f"/activations/{ids[1]}/result")
    logs = await client.get(f"/activations/{ids[1]}/logs")

    assert result.json() == {
        "status": "application error", "success": False, "result": {"error": "no luck"}, "size": 19,
    }  # fmt: skip
    assert logs.json() == {"logs": ["a line"]}


@pytest.mark.parametrize("part", ["", "/result", "/logs"])
async def test_an_id_is_looked_at_before_it_is_looked_up(client, part):
    for id, status, text in (
        (UNKNOWN, 404, "The requested resource does not exist."),
        ("abc", 400, "Activation id length is 3 but must be 32."),
        ("0" * 33, 400, "Activation id length is 33 but must be 32."),
        ("A" * 32, 400, "The activation id is not valid."),
        ("g" * 32, 400, "The activation id is not valid."),
    ):
        answer = await client.get(f"/activations/{id}{part}")
        assert (answer.status_code, answer.json()["error"]) == (status, text)


async def test_a_composition_has_the_ids_of_its_steps_as_logs(world, client):
    await world.put("echo", "echo")
    await world.put("twice", composer.sequence("echo", "echo"))

    record = await world.record(await world.start("twice", {"n": 1}))

    steps = [await world.record(id) for id in record["logs"]]
    assert [(step["name"], step["cause"]) for step in steps] == [
        ("echo", record["activationId"])
    ] * 2
    logs = await client.get(f"/activations/{record['activationId']}/logs")
    assert logs.json() == {"logs": record["logs"]}


async def test_one_under_way_is_not_found_until_it_is_waited_for(world, client):
    await world.put("hold", "hold")
    id = await world.start("hold")

    for query in ({}, {"wait": "1"}):
        answer = await client.get(f"/activations/{id}", params=query)
        assert answer.status_code == 404
    world.hands.answer(id, Success({"done": True}))

    result = await client.get(f"/activations/{id}/result", params={"wait": "30000"})
    assert result.json()["result"] == {"done": True}


async def test_what_never_was_is_not_waited_for(client):
    answer = await client.get(f"/activations/{UNKNOWN}", params={"wait": "60000"})

    assert answer.status_code == 404


@pytest.mark.parametrize("wait", ["-1", "60001", "long"])
async def test_a_wait_has_bounds(client, wait):
    answer = await client.get(f"/activations/{UNKNOWN}", params={"wait": wait})

    assert answer.status_code == 400
    assert answer.json()["error"].endswith("for wait.")


async def test_nobody_is_remembered_as_waiting_once_they_are_answered(world, client):
    await world.put("hold", "hold")
    id = await world.start("hold")
    await client.get(f"/activations/{id}", params={"wait": "1"})
    await client.post("/actions/hold", params={"blocking": "true", "timeout": "1"})

    assert world.engine.gauges()["waiters"] == 0


async def test_nobody_is_remembered_as_waiting_for_what_never_was(world, client):
    await client.get(f"/activations/{UNKNOWN}", params={"wait": "1"})

    assert world.engine.gauges()["waiters"] == 0


async def test_a_browser_may_ask_what_it_may_do(client):
    answer = await client.request("OPTIONS", "/activations")

    assert answer.status_code == 200
    assert "DELETE" in answer.headers["access-control-allow-methods"]


# --- for programs --------------------------------------------------------------------------------


async def test_a_failure_has_its_code(world, client):
    await world.put("lose", "lose")

    record = await world.record(await world.start("lose"))

    assert record["code"] == "Lost"


async def test_what_has_not_ended_in_time_is_told_from_what_does_not_exist(world, client):
    await world.put("hold", "hold")
    id = await world.start("hold")

    late = await client.get(f"/activations/{id}", params={"wait": 1})
    missing = await client.get(f"/activations/{UNKNOWN}", params={"wait": 1})

    assert (late.status_code, late.json()["code"]) == (404, "NotEnded")
    assert missing.json()["code"] == missing.headers["x-request-id"]


async def test_a_wait_for_a_redriven_execution_waits_for_its_new_end(world, client):
    await world.put("fail", "fail")
    await world.put("hold", "hold")
    await world.put("p", composer.sequence("fail"))
    id = await world.ended("p")
    corrected = {"composition": composer.sequence("hold").to_json()}
    await client.post(f"/executions/{id}/redrive", json=corrected)

    late = await client.get(f"/activations/{id}", params={"wait": 1})
    held = await world.hands.held.get()
    world.hands.answer(held.activation, Success({"n": 1}))
    record = await world.record(id)

    assert late.json()["code"] == "NotEnded"
    assert record["response"]["result"] == {"n": 1}
