"""Queries of a real server that is killed: what they have shown stays so."""

from __future__ import annotations

import signal
import threading

import httpx
import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import path, var

ROUNDS = 300
COUNT = composer.queries(
    composer.let(
        {"done": 0},
        composer.repeat(
            ROUNDS,
            composer.sequence("next", composer.assign(done=path("$.n"))),
        ),
    ),
    seen=var("done"),
)
NEXT = "def main(params):\n    return {'n': params.get('n', 0) + 1}\n"


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def asked(client, id):
    return client.get(f"/executions/{id}/queries/seen").json()["answer"]


def test_a_kill_takes_nothing_back_that_a_query_has_shown(start):
    server = start()
    with server.client() as client:
        for name, exec in (
            ("next", {"kind": "python:3", "code": NEXT}),
            ("count", {"kind": "composition", "composition": COUNT.to_json()}),
        ):
            assert client.put(f"/actions/{name}", json={"exec": exec}).status_code == 200
        id = client.post("/actions/count", json={}).json()["activationId"]
    seen = []

    def ask():
        with server.client() as client:
            try:
                while True:
                    seen.append(asked(client, id))
            except httpx.TransportError:
                return

    asking = threading.Thread(target=ask)
    asking.start()
    with server.client() as client:
        while not seen or asked(client, id) < ROUNDS // 10:  # the thread may begin late
            assert asking.is_alive()
    server.stop(signal.SIGKILL)
    asking.join()

    assert seen == sorted(seen)
    assert seen[-1] < ROUNDS, "it was killed too late: everything had ended"
    with start().client() as client:
        assert asked(client, id) >= seen[-1]
        client.get(f"/activations/{id}", params={"wait": 60_000})
        assert asked(client, id) == ROUNDS
