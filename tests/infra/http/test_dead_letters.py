"""Dead letters over HTTP: listed, shown, sent again, deleted, and nobody else's."""

from __future__ import annotations

from types import SimpleNamespace

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import OPERATOR
from xingqiao import composer
from xingqiao.composer import Name
from xingqiao.infra.aws.functions import machine_of
from xingqiao.infra.engine import EVENT, Beginning, Unwaited
from xingqiao.infra.service.telemetry import metrics_of

UNKNOWN = "0" * 32
NOT_FOUND = "The requested resource does not exist."
LOOKS = 1000
POOL = SimpleNamespace(size=0, waiting=0, resent=0)


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "crash"):
        await world.put(word, word)
    return world


async def letters(world, count=1):
    """The dead letters, as soon as there are so many."""
    for _ in range(LOOKS):
        found = (await world.client.get("/dead-letters")).json()
        if len(found) == count:
            return found
        await anyio.lowlevel.checkpoint()
    raise AssertionError(f"there are {len(found)}")


async def test_a_call_that_crashed_is_listed_and_shown(deployed, client):
    id = await deployed.ended("crash", {"n": 1})

    (letter,) = await letters(deployed)
    answer = await client.get(f"/dead-letters/{letter['id']}")

    assert letter["activationId"] == id
    assert answer.json() == {**letter, "params": {"n": 1}, "error": "gone"}


async def test_the_newest_come_first_by_pages(deployed, client):
    ids = [await deployed.ended("crash") for _ in range(3)]
    await letters(deployed, 3)

    page = (await client.get("/dead-letters", params={"skip": 1, "limit": 1})).json()
    count = (await client.get("/dead-letters", params={"count": True})).json()

    assert [letter["activationId"] for letter in page] == [ids[1]]
    assert count == {"dead-letters": 3}


async def test_one_is_sent_again(deployed, client):
    await deployed.ended("crash", {"n": 1})
    (letter,) = await letters(deployed)
    await client.put(
        "/actions/crash?overwrite=true", json={"exec": {"kind": "python:3", "code": "echo"}}
    )

    answer = await client.post(f"/dead-letters/{letter['id']}/retry")

    assert answer.status_code == 202
    record = await deployed.record(answer.json()["activationId"])
    assert record["response"]["result"] == {"n": 1}
    assert await letters(deployed, 0) == []


async def test_one_is_deleted_and_shown_once_more(deployed, client):
    await deployed.ended("crash")
    (letter,) = await letters(deployed)

    answer = await client.delete(f"/dead-letters/{letter['id']}")

    assert (answer.status_code, answer.json()) == (200, letter)
    assert await letters(deployed, 0) == []


async def test_what_succeeds_fails_by_itself_or_is_waited_for_is_none(deployed, client):
    await deployed.ended("echo")
    await deployed.ended("fail")
    await client.post("/actions/crash", params={"blocking": True}, json={})

    assert await letters(deployed, 0) == []


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("DELETE", ""), ("POST", "/retry")])
async def test_one_that_is_not_there_is_404(deployed, client, method, path):
    answer = await client.request(method, f"/dead-letters/{UNKNOWN}{path}")

    assert (answer.status_code, answer.json()["error"]) == (404, NOT_FOUND)


async def test_a_signal_for_later_that_fails_goes_on_when_it_is_sent_again(deployed, client):
    await deployed.put("account", "crash", annotations=[{"key": "entity", "value": True}])
    path = "/entities/account/keys/k"
    answer = await client.post(
        path, params={"signal": True, "after": 0}, json={"operation": "add", "params": {"n": 2}}
    )
    (letter,) = await letters(deployed)
    assert letter["executionId"] == answer.json()["activationId"]
    await client.delete("/actions/account")
    await deployed.put("account", "account", annotations=[{"key": "entity", "value": True}])

    await client.post(f"/dead-letters/{letter['id']}/retry")

    for _ in range(LOOKS):
        found = await client.get(path)
        if found.status_code == 200:
            break
        await anyio.lowlevel.checkpoint()
    assert found.json()["state"] == {"n": 2}
    assert await letters(deployed, 0) == []


async def test_they_are_counted(deployed):
    await deployed.ended("crash")
    await letters(deployed)

    text = metrics_of(
        deployed.engine, POOL, SimpleNamespace(ended={}, repeats={}, under_way=(0, 0))
    )().decode()

    assert "xingqiao_dead_letters 1.0" in text
    assert "xingqiao_dead_letters_kept_total 1.0" in text
    assert "xingqiao_dead_letters_dropped_total 0.0" in text


async def test_a_composition_is_one_with_its_execution(deployed):
    await deployed.put("main", composer.sequence("echo", "crash"))
    id = await deployed.start("main", {"n": 1})

    (letter,) = await letters(deployed)

    assert letter["executionId"] == id


async def test_another_namespace_sees_none_of_it(deployed):
    await deployed.ended("crash")
    (letter,) = await letters(deployed)
    operator = deployed.caller(auth=tuple(OPERATOR.split(":")))
    home = "/api/v1/namespaces/_/dead-letters"

    assert (await operator.get(home)).json() == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/retry")):
        answer = await operator.request(method, f"{home}/{letter['id']}{path}")
        assert answer.status_code == 404
    assert await letters(deployed) == [letter]


@pytest.mark.parametrize(("name", "count"), [("fail", 1), ("echo", 0)])
async def test_an_event_of_lambdas_is_one_whatever_it_failed_by(deployed, name, count):
    """As it is begun there, but without the minutes between its attempts."""
    machine = machine_of(Name("guest", None, name))
    beginning = Beginning(machine, {"n": 1}, "guest", unwaited=Unwaited(EVENT))

    execution, _ = await deployed.engine.executions.begin(beginning)
    await deployed.record(execution.id)

    found = await letters(deployed, count)
    assert [(letter["kind"], letter["executionId"]) for letter in found] == [
        ("event", execution.id)
    ] * count
