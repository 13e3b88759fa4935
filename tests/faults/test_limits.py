"""A server that is killed while executions hold slots of a limit and wait for them."""

from __future__ import annotations

import signal

import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import path

COUNT, SLOTS = 8, 2
PART = composer.limit(composer.receive("go"), name="api", key=path("$.key"), concurrent=SLOTS)


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def members(client, what):
    keys = client.get("/limits/api").raise_for_status().json()["keys"]
    return [member["execution"] for member in keys["k"][what]]


def test_slots_and_places_survive_kills_and_everybody_gets_in_in_order(start):
    server = start()
    with server.client() as client:
        document = {"exec": {"kind": "composition", "composition": PART.to_json()}}
        client.put("/actions/main", json=document).raise_for_status()
        ids = [
            client.post("/actions/main", json={"key": "k"}).json()["activationId"]
            for _ in range(COUNT)
        ]
    for done in range(COUNT):
        if done % 2 == 0:
            server.stop(signal.SIGKILL)
            server = start()
        with server.client() as client:
            holders = ids[done : done + SLOTS]
            while len(members(client, "held")) < len(holders):
                pass  # until all are recovered
            assert sorted(members(client, "held")) == sorted(holders)
            assert members(client, "line") == ids[done + SLOTS :]
            told = client.post(f"/executions/{ids[done]}/messages/go", json={"n": done})
            assert told.status_code == 202, told.text
            ended = client.get(f"/activations/{ids[done]}", params={"wait": 20_000})
            assert ended.json()["response"]["result"] == {"n": done}
