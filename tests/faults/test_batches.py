"""A batch on a server that is killed: each execution is dealt with once, and all are in the end."""

from __future__ import annotations

import signal
import time

from tests.kit.infra.servers import AUTH, Server
from xingqiao import composer

OPTIONS = ("--auth", AUTH, "--isolation", "none")
COUNT = 250
HEARS = composer.sequence(composer.receive("go"), composer.receive("go"))


def test_each_execution_is_told_once_though_the_server_is_killed(tmp_path):
    server = Server(tmp_path, *OPTIONS)
    with server.client() as client:
        exec = {"kind": "composition", "composition": HEARS.to_json()}
        assert client.put("/actions/hears", json={"exec": exec}).status_code == 200
        for _ in range(COUNT):
            assert client.post("/actions/hears", json={}).status_code == 202
        batch = {
            "where": "action = 'hears' and status = 'running'", "do": "tell",
            "with": {"name": "go", "payload": {}}, "id": "b",
        }  # fmt: skip
        made = client.post("/batches", json=batch)
        assert made.status_code == 202, made.text
        assert made.json()["matched"] == COUNT
    kills = 0
    while kills < 3:
        with server.client() as client:
            found = client.get("/batches/b").json()
            if found["status"] != "running":
                break
            if found["done"] < COUNT * (kills + 1) // 5:
                continue
        server.stop(signal.SIGKILL)
        server, kills = Server(tmp_path, *OPTIONS), kills + 1
    with server.client() as client:
        until = time.monotonic() + 60
        while client.get("/batches/b").json()["status"] == "running":
            assert time.monotonic() < until, client.get("/batches/b").json()
            time.sleep(0.1)
        found = client.get("/batches/b").json()
        executions = client.get("/executions", params={"name": "hears", "limit": 200}).json()
        entries = [
            client.get(f"/executions/{doc['executionId']}/history").json()["entries"]
            for doc in executions
        ]
    server.stop()

    assert kills, "the server was not killed while the batch went on"
    assert (found["status"], found["done"], found["errors"]) == ("succeeded", COUNT, [])
    assert [found[count] for count in ("failed", "changed", "gone")] == [0, 0, 0]
    told = [[entry["type"] for entry in each].count("MessageReceived") for each in entries]
    assert told == [1] * len(executions)
