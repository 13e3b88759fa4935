"""An execution that a server has accepted is found after the server was killed, and all it had set is found by."""

from __future__ import annotations

import json
import signal

import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import path

NOTED = composer.sequence(
    composer.annotate(stage=1, customer=path("$.c")), composer.wait(0.05), composer.annotate(stage=2),
    composer.wait(3600),
)  # fmt: skip


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def found(client, where):
    answer = client.get("/executions", params={"where": where, "limit": 200})
    assert answer.status_code == 200, answer.text
    return {doc["executionId"] for doc in answer.json()["executions"]}


def test_what_was_accepted_is_found_after_each_kill(start):
    server, accepted = start(), {}
    with server.client() as client:
        for name, type in {"customer": "text", "stage": "number", "n": "number"}.items():
            assert client.put(f"/attributes/{name}", json={"type": type}).status_code == 200
        exec = {"kind": "composition", "composition": NOTED.to_json()}
        assert client.put("/actions/noted", json={"exec": exec}).status_code == 200
    for n in range(3):
        with server.client() as client:
            for customer in ("anna", "bert", "cleo"):
                query = {"attributes": json.dumps({"n": n})}
                answer = client.post("/actions/noted", params=query, json={"c": customer})
                assert answer.status_code == 202, answer.text
                accepted[answer.json()["activationId"]] = n, customer
        server.stop(signal.SIGKILL)
        server = start()

    with server.client() as client:
        for n in range(3):
            expected = {id for id, (m, _) in accepted.items() if m == n}
            assert found(client, f"n = {n}") == expected
        for customer in ("anna", "bert", "cleo"):
            expected = {id for id, (_, name) in accepted.items() if name == customer}
            assert found(client, f"customer = '{customer}' and status = 'running'") == expected
        for _ in range(500):
            if found(client, "stage = 2") == accepted.keys():
                break
        assert found(client, "stage = 2") == accepted.keys()
        counted = client.get("/executions/count", params={"where": "stage = 2", "group": "status"})
        assert counted.json() == {"count": 9, "groups": {"running": 9}}
