"""A schedule on a server that is killed: no time is missed, and none has two runs."""

from __future__ import annotations

import signal
import time

from tests.kit.infra.servers import AUTH, Server

OPTIONS = ("--auth", AUTH, "--isolation", "none")
SECONDS = 6
CODE = {"exec": {"kind": "python:3", "code": "def main(params): return {'at': params['n']}"}}
EACH_SECOND = {
    "spec": {"intervals": "1s"},
    "do": {"action": "a", "input": {"n": 1}},
    "overlap": "allow_all",
    "limit": SECONDS,
}


def ended(client):
    """The runs of the schedule that have ended."""
    runs = client.get("/schedules/s").json()["last"]
    return [run for run in runs if run["ended"] is not None]


def test_each_second_has_one_run_though_the_server_is_killed(tmp_path):
    server = Server(tmp_path, *OPTIONS)
    with server.client() as client:
        client.put("/actions/a", json=CODE)
        made = client.put("/schedules/s", json=EACH_SECOND)
        assert made.status_code == 200, made.text
        first = made.json()["next"][0]
    for _ in range(2):
        time.sleep(1.4)
        server.stop(signal.SIGKILL)
        server = Server(tmp_path, *OPTIONS)
    with server.client() as client:
        until = time.monotonic() + 30
        while len(ended(client)) < SECONDS:
            assert time.monotonic() < until, client.get("/schedules/s").json()
            time.sleep(0.2)
        found = client.get("/schedules/s").json()
        count = client.get("/activations", params={"name": "a", "count": "true"}).json()
        runs = [client.get(f"/activations/{run['activationId']}").json() for run in found["last"]]
    server.stop()

    assert [run["at"] for run in found["last"]] == [first + 1000 * n for n in range(SECONDS)]
    assert {run["status"] for run in found["last"]} == {"succeeded"}
    assert [run["response"]["result"] for run in runs] == [{"at": 1}] * SECONDS
    assert (found["status"], found["left"], found["missed"]) == ("ended", 0, 0)
    assert count == {"activations": SECONDS}
