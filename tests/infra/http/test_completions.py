"""Heartbeats by a completion trigger's token, and time limits in the query of a start."""

from __future__ import annotations

import pytest

from tests.infra.http.test_callbacks import CALLBACK
from xingqiao import composer

DETAILS_BYTES = 64 << 10


@pytest.fixture
async def asked(world):
    """A step that is under way, of an execution of `main`."""
    await world.put("ask", "hold", annotations=CALLBACK)
    await world.put("main", composer.within("ask", heartbeat=20))
    world.id = await world.start("main")
    return await world.hands.held.get()


async def beat(world, token, **body):
    return await world.client.post(
        f"http://test/api/v1/completions/{token}/heartbeat", auth=None, **body
    )


async def test_a_heartbeat_needs_only_the_token(world, asked):
    answer = await beat(world, asked.token, json={"page": 7})

    assert (answer.status_code, answer.json()) == (200, {"cancel": False})
    shown = (await world.client.get(f"/executions/{world.id}")).json()["fibers"][0]
    assert shown["heartbeat"] == {"page": 7}


async def test_details_are_any_json_or_none(world, asked):
    for body in ({}, {"json": None}, {"json": "half"}, {"json": [1, {"a": None}]}):
        assert (await beat(world, asked.token, **body)).json() == {"cancel": False}


async def test_a_cancelled_step_hears_of_it(world, asked):
    await world.client.post(f"/executions/{world.id}/cancel")

    assert (await beat(world, asked.token)).json() == {"cancel": True}


@pytest.mark.parametrize(("size", "status"), [(DETAILS_BYTES, 200), (DETAILS_BYTES + 1, 413)])
async def test_details_have_a_limit(world, asked, size, status):
    answer = await beat(world, asked.token, content=b'"' + b"x" * (size - 2) + b'"')

    assert answer.status_code == status


async def test_details_that_nest_too_deep_are_refused(world, asked):
    answer = await beat(world, asked.token, content=b"[" * 240 + b"]" * 240)

    assert (answer.status_code, "nests deeper" in answer.text) == (400, True)


async def test_a_token_of_nobody_is_refused(world):
    assert (await beat(world, "x")).status_code == 404


@pytest.mark.parametrize("name", ["run_timeout", "execution_timeout"])
@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf", "", "1e12"])
async def test_a_time_limit_that_is_none_is_refused(world, name, text):
    await world.put("echo", "echo")

    answer = await world.client.post(f"/actions/echo?{name}={text}", json={})

    assert answer.status_code == 400
    assert f"The query parameter '{name}' must be a number of seconds" in answer.json()["error"]


@pytest.mark.parametrize("name", ["run_timeout", "execution_timeout"])
async def test_a_start_takes_a_time_limit(world, name):
    await world.put("ask", "hold", annotations=CALLBACK)
    await world.put("main", composer.sequence("ask"))

    answer = await world.client.post(f"/actions/main?{name}=90", json={})

    id = answer.json()["activationId"]
    entry = (await world.client.get(f"/executions/{id}/history")).json()["entries"][0]
    until = world.clock.ms + 90_000
    assert entry["timeouts"] == [{"bound": name, "timeout_ms": 90_000, "until": until}]
