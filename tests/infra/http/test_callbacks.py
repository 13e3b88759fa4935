"""A step that waits for its callback: its record, the list of those that wait, and its answer."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import LOOKS
from xingqiao import composer

CALLBACK = [{"key": "completion", "value": "callback"}]
UNKNOWN = "0" * 32


@pytest.fixture
async def asking(world):
    """`ask` answers later; `p` and `q` wait for it, `both` twice."""
    await world.put("ask", "echo", annotations=CALLBACK)
    await world.put("echo", "echo")
    await world.put("p", composer.sequence("ask", "echo"))
    await world.put("both", composer.parallel("ask", "ask"))
    await world.put("late", composer.timeout(10, "ask"))
    return world


async def waits(world, name="p"):
    """The id of an execution whose step waits, and the record of that step."""
    id = await world.start(name)
    [record] = await waiting(world.client, 1, cause=id, docs=True)
    return id, record


async def waiting(client, count, **query):
    """The records of steps that wait, as soon as there are so many."""
    for _ in range(LOOKS):
        asked = {"status": "waiting", **query}
        found = (await client.get("/activations", params=asked)).json()
        if len(found) == count:
            return found
        await anyio.lowlevel.checkpoint()
    raise AssertionError(found)


def noted(record):
    return {note["key"]: note["value"] for note in record["annotations"]}["waiting"]


async def test_its_record_is_there_while_it_waits(asking, client):
    id, listed = await waits(asking)

    got = (await client.get(f"/activations/{listed['activationId']}")).json()

    assert got == listed
    assert (got["state"], got["logs"], got["cause"]) == ("waiting", ["a line"], id)
    assert got.keys().isdisjoint({"response", "end", "duration"})
    since = asking.clock.ms + 5
    assert noted(got) == {"executionId": id, "fiber": "0", "since": since, "until": None}
    logs = await client.get(f"/activations/{listed['activationId']}/logs")
    assert logs.json() == {"logs": ["a line"]}


async def test_it_has_no_result_yet(asking, client):
    _, record = await waits(asking)

    answer = await client.get(f"/activations/{record['activationId']}/result")

    assert (answer.status_code, "waits for its callback" in answer.text) == (404, True)


async def test_its_record_says_until_when(asking):
    _, record = await waits(asking, "late")

    assert noted(record)["until"] == asking.clock.ms + 10_000


async def test_those_that_wait_are_listed_and_no_others(asking, client):
    await asking.ended("echo")
    _, record = await waits(asking)

    found = (await client.get("/activations", params={"status": "waiting"})).json()

    assert [doc["activationId"] for doc in found] == [record["activationId"]]
    assert found[0]["state"] == "waiting"
    assert "statusCode" not in found[0]


async def test_its_execution_says_since_when_it_waits_and_for_which_activation(asking, client):
    id, record = await waits(asking)

    [fiber] = (await client.get(f"/executions/{id}")).json()["fibers"]

    assert (fiber["waits"], fiber["action"]) == ("answer", "/guest/ask")
    assert (fiber["activation"], fiber["since"]) == (record["activationId"], record["start"])


async def test_it_is_answered_by_its_execution(asking, client):
    id, record = await waits(asking)

    answer = await client.post(f"/executions/{id}/answer", json={"result": {"n": 1}})

    assert (answer.status_code, answer.json()) == (202, {"accepted": True})
    assert (await asking.record(id))["response"]["result"] == {"n": 1}
    ended = (await client.get(f"/activations/{record['activationId']}")).json()
    assert ended["response"]["result"] == {"n": 1}
    assert "state" not in ended
    assert (await client.get("/activations", params={"status": "waiting"})).json() == []


async def test_a_result_that_is_not_an_object_is_boxed_and_one_with_an_error_fails(asking, client):
    id, _ = await waits(asking)
    await client.post(f"/executions/{id}/answer", json={"result": 7})
    assert (await asking.record(id))["response"]["result"] == {"value": 7}

    id, _ = await waits(asking)
    await client.post(f"/executions/{id}/answer", json={"error": {"why": "no"}})
    assert (await asking.record(id))["response"]["result"] == {"error": {"why": "no"}}


async def test_one_of_several_is_named(asking, client):
    id = await asking.start("both")
    await asking.standing(id)
    await waiting(client, 2)

    unclear = await client.post(f"/executions/{id}/answer", json={"result": {}})
    first = await client.post(f"/executions/{id}/answer", json={"result": {}, "step": "0/1.0"})
    second = await client.post(f"/executions/{id}/answer", json={"result": {}, "step": "ask"})

    assert unclear.status_code == 409
    assert "Several steps wait" in unclear.text
    assert (first.status_code, second.status_code) == (202, 202), first.text + second.text


async def test_an_action_by_itself_is_answered_by_its_activation(asking, client):
    id = await asking.start("ask", {"n": 1})
    await waiting(client, 1)

    answer = await client.post(f"/executions/{id}/answer", json={"result": {"n": 2}})

    assert answer.status_code == 202
    assert (await asking.record(id))["response"]["result"] == {"n": 2}


@pytest.mark.parametrize("how", ["cancel", "terminate"])
async def test_one_that_is_given_up_does_not_seem_to_wait(asking, client, how):
    id, record = await waits(asking)

    await client.post(f"/executions/{id}/cancel", params={"terminate": how == "terminate"})

    await asking.record(id)
    ended = (await client.get(f"/activations/{record['activationId']}")).json()
    assert "state" not in ended
    assert (await client.get("/activations", params={"status": "waiting"})).json() == []


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({}, 400, "Give either 'result' or 'error'"),
        ({"result": {}, "error": "no"}, 400, "Give either 'result' or 'error'"),
        ({"result": {}, "fibre": "0"}, 400, "'fibre' is not known"),
        ({"result": {}, "step": 7}, 400, "'step' must be"),
        ({"result": {}, "step": "echo"}, 409, "No step of this execution waits for an answer as 'echo'"),
    ],
)  # fmt: skip
async def test_a_wrong_answer_is_refused(asking, client, body, status, text):
    id, _ = await waits(asking)

    answer = await client.post(f"/executions/{id}/answer", json=body)

    assert (answer.status_code, text in answer.json()["error"]) == (status, True), answer.text


async def test_an_answer_to_what_is_not_there_or_has_ended_is_refused(asking, client):
    id = await asking.ended("echo")
    ended, _ = await waits(asking)
    await client.post(f"/executions/{ended}/answer", json={"result": {}})
    await asking.record(ended)

    for other, status in ((UNKNOWN, 404), (id, 404), (ended, 409)):
        answer = await client.post(f"/executions/{other}/answer", json={"result": {}})
        assert answer.status_code == status, answer.text
