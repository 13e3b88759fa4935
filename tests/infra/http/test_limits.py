"""Limits that wait, over HTTP: their lines are listed, and operators set their numbers."""

from __future__ import annotations

import anyio.lowlevel
import pytest

from tests.kit.http.worlds import world as opened
from xingqiao import composer


@pytest.fixture
async def made():
    async with opened() as made:
        part = composer.limit(composer.receive("go"), name="api", concurrent=1)
        action = {"exec": {"kind": "composition", "composition": part.to_json()}}
        answer = await made.client.put("/actions/main", json=action)
        assert answer.status_code == 200, answer.text
        yield made


async def waiting(made, count):
    """Lets the service go on until so many executions wait."""
    while made.engine.limits.gauges()["limit_waiting"] != count:
        await anyio.lowlevel.checkpoint()


async def test_the_line_of_a_limit_is_shown(made):
    assert (await made.client.get("/waiting-limits")).json() == []
    first, second = await made.start("main"), await made.start("main")
    await waiting(made, 1)

    (listed,) = (await made.client.get("/waiting-limits")).json()
    assert (listed["name"], listed["concurrent"], listed["holders"], listed["waiting"]) == (
        "api",
        1,
        1,
        1,
    )
    shown = (await made.client.get("/limits/api")).json()
    assert shown["keys"][""]["held"][0]["execution"] == first
    assert shown["keys"][""]["line"][0]["execution"] == second
    (fiber,) = (await made.client.get(f"/executions/{second}")).json()["fibers"]
    assert (fiber["waits"], fiber["limit"], fiber["before"]) == ("limit", "api", 0)


async def test_numbers_that_are_set_count_for_those_who_wait(made):
    await made.start("main")
    await made.start("main")
    await waiting(made, 1)
    answer = await made.client.put("/limits/api", json={"concurrent": 2})
    assert (answer.status_code, answer.json()["concurrent"], answer.json()["setBy"]) == (
        200,
        2,
        "operator",
    )
    await waiting(made, 0)

    assert (await made.client.delete("/limits/api")).status_code == 204
    assert (await made.client.get("/limits/api")).json()["concurrent"] == 1
    assert (await made.client.delete("/limits/api")).status_code == 404


async def test_wrong_numbers_and_unknown_limits_are_refused(made):
    answer = await made.client.put("/limits/api", json={"concurrent": 0})
    assert (answer.status_code, "'concurrent' must be an int" in answer.text) == (400, True)
    assert (await made.client.get("/limits/other")).status_code == 404


async def test_an_action_with_numbers_of_its_own_has_a_record_that_can_be_read(made):
    limits = {"concurrent": 1, "per_minute": 600}
    action = {"exec": {"kind": "python:3", "code": "echo"}, "limits": limits}
    assert (await made.client.put("/actions/own", json=action)).status_code == 200

    invoked = await made.client.post("/actions/own?blocking=true", json={"n": 1})

    assert (invoked.status_code, invoked.json()["response"]["result"]) == (200, {"n": 1})
    record = await made.client.get(f"/activations/{invoked.json()['activationId']}")
    for answer in (record.json(), (await made.client.get("/activations?docs=true")).json()[0]):
        noted = {note["key"]: note["value"] for note in answer["annotations"]}["limits"]
        assert {name: noted[name] for name in limits} == limits
