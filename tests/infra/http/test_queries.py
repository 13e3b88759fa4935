"""Queries over HTTP: their answers, and the errors with their codes."""

from __future__ import annotations

import pytest

from xingqiao import composer
from xingqiao.composer import Success, path, var

UNKNOWN = "0" * 32
SEEN = {"left": var("left"), "at": path("$.n", default=None)}
MAIN = composer.queries(composer.let({"left": 1}, "hold", composer.assign(left=0)), seen=SEEN)


@pytest.fixture
async def deployed(world):
    for word in ("echo", "fail", "hold"):
        await world.put(word, word)
    await world.put("main", MAIN)
    await world.put("plain", composer.sequence("echo"))
    await world.put("bad", composer.queries(composer.let({"left": 3}, "fail"), seen=SEEN))
    return world


async def ask(client, id, name="seen", **query):
    return await client.get(f"/executions/{id}/queries/{name}", params=query)


def refused(answer, status, code):
    """The text of a refusal with this status and this code."""
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    return answer.json()["error"]


async def test_an_execution_is_asked_while_it_runs_and_after(deployed, client):
    id = await deployed.start("main", {"n": 4})
    held = await deployed.hands.held.get()

    answer = await ask(client, id)
    assert answer.status_code == 200
    assert answer.json() == {"answer": {"left": 1, "at": 4}, "status": "running"}

    deployed.hands.answer(held.activation, Success({"n": 5}))
    await deployed.record(id)
    assert (await ask(client, id)).json() == {"answer": {"left": 0, "at": 5}, "status": "succeeded"}


async def test_the_names_are_listed(deployed, client):
    id = await deployed.ended("bad")

    answer = await client.get(f"/executions/{id}/queries")

    assert answer.json() == ["seen", "$fibers", "$inbox", "$variables"]
    assert (await ask(client, id, "$variables")).json()["answer"] == {"left": 3}


async def test_each_refusal_has_its_code(deployed, client):
    bad, plain = await deployed.ended("bad"), await deployed.ended("plain")

    assert "it has seen, $fibers" in refused(await ask(client, bad, "saw"), 404, "NoSuchQuery")
    assert "take no parameters" in refused(await ask(client, bad, n=1), 400, "InvalidQuery")
    assert "give closed or failed" in refused(
        await ask(client, bad, reject="x"), 400, "InvalidQuery"
    )
    assert "it has failed" in refused(await ask(client, bad, reject="failed"), 409, "Closed")
    assert "was not kept" in refused(await ask(client, plain, "$variables"), 410, "NotKept")
    assert (await ask(client, UNKNOWN)).status_code == 404
    assert (await client.get(f"/executions/{UNKNOWN}/queries")).status_code == 404
