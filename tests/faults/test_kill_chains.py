"""A chain of runs on a server that is killed: each run has one successor, and no step's result is lost."""

from __future__ import annotations

import signal

import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import continue_as_new, path

ECHO = "def main(params):\n    return {'n': params['n'] + 1}\n"
RUNS, KILLS = 60, 3


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def test_a_chain_that_is_killed_three_times_counts_to_its_end(start):
    server = start()
    loop = composer.sequence("add", composer.when(path("$.n") < RUNS, continue_as_new()))
    with server.client() as client:
        for name, exec in (
            ("add", {"kind": "python:3", "code": ECHO}),
            ("loop", {"kind": "composition", "composition": loop.to_json()}),
        ):
            client.put(f"/actions/{name}", json={"exec": exec}).raise_for_status()
        answer = client.post("/actions/loop", json={"n": 0}, params={"id": "counting"})
        first = answer.json()["activationId"]
    for kill in range(1, KILLS + 1):
        with server.client() as client:
            while len(client.get("/executions", params={"id": "counting"}).json()) < 10 * kill:
                pass
        server.stop(signal.SIGKILL)
        server = start()

    with server.client() as client:
        record = client.get(f"/activations/{first}", params={"wait": 30_000}).json()
        runs = client.get("/executions", params={"id": "counting", "limit": 200}).json()

    assert record["response"]["result"] == {"n": RUNS}
    assert len(runs) == RUNS
    assert sorted(run["status"] for run in runs) == ["continued"] * (RUNS - 1) + ["succeeded"]
    nexts = [run["next"]["executionId"] for run in runs if "next" in run]
    assert len(set(nexts)) == RUNS - 1
