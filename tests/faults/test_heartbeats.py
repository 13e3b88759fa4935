"""Heartbeats on a real server that is killed: the next attempt goes on from the last details."""

from __future__ import annotations

import signal
import time

import httpx
import pytest

from tests.faults.test_kill import deploy
from tests.kit.faults.journeys import Load
from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer

# Writes down the token by which it can be answered, the attempt, and what the last attempt has said.
ASK = """
import json, os

def main(params):
    page = params.get("__ow_heartbeat", {}).get("page", 0)
    attempt = os.environ.get("__OW_ATTEMPT", "1")
    with open(params["file"], "a") as file:
        file.write(f"{os.environ['__OW_COMPLETION_TOKEN']} {attempt} {page}\\n")
    return {}
"""


@pytest.fixture
def load(tmp_path):
    return Load(tmp_path / "data", tmp_path / "runs")


def beat(server, token, details):
    answer = httpx.post(f"{server.url}/api/v1/completions/{token}/heartbeat", json=details)
    assert answer.status_code == 200, answer.text
    return answer.json()["cancel"]


def test_details_reach_the_next_attempt_after_a_kill(load):
    with starting(load.data, "--auth", AUTH, "--isolation", "none") as start:
        server = start()
        with server.client() as client:
            deploy(client, "ask", {"kind": "python:3", "code": ASK}, completion="callback")
            part = composer.within(composer.retry(1, "ask"), heartbeat=2)
            deploy(client, "patient", {"kind": "composition", "composition": part.to_json()})
            params = {"file": str(load.runs)}
            id = client.post("/actions/patient", json=params).json()["activationId"]
            while client.get(f"/executions/{id}").json()["fibers"][0]["waits"] != "answer":
                time.sleep(0.005)
        ((first, attempt, page),) = load.lines()
        assert (attempt, page) == ("1", "0")
        assert beat(server, first, {"page": 7}) is False
        server.stop(signal.SIGKILL)

        second = start()
        load.until_runs(2)
        token, attempt, page = load.lines()[1]
        assert (attempt, page) == ("2", "7")
        assert beat(second, first, {"page": 8}) is True  # nobody waits for the first attempt
        with second.client() as client:
            while client.get(f"/executions/{id}").json()["fibers"][0]["waits"] != "answer":
                time.sleep(0.005)
            httpx.post(f"{second.url}/api/v1/completions/{token}", json={"done": True})
            record = client.get(f"/activations/{id}", params={"wait": 20_000}).json()

    assert record["response"]["result"] == {"done": True}
