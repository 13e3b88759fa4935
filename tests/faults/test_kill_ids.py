"""Ids and children on real servers that are killed: one run for an id, one child for a step."""

from __future__ import annotations

import signal
import threading

import httpx
import pytest

from tests.kit.infra.servers import AUTH, starting
from xingqiao import composer
from xingqiao.composer import child, path

IDS = [f"order/{n}" for n in range(12)]
ECHO = "def main(params):\n    return params\n"


@pytest.fixture
def start(tmp_path):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start_one:
        yield start_one


def deploy(server):
    order = composer.sequence(
        child("pay", {"n": 1}, id=path("$.child")), composer.wait(0.2), child("pay", {"n": 2}),
    )  # fmt: skip
    with server.client() as client:
        for name, exec in (
            ("echo", {"kind": "python:3", "code": ECHO}),
            ("pay", {"kind": "composition", "composition": composer.sequence("echo").to_json()}),
            ("order", {"kind": "composition", "composition": order.to_json()}),
        ):
            assert client.put(f"/actions/{name}", json={"exec": exec}).status_code == 200


def ask(server, found, told):
    """Starts all orders, again and again, until the server is gone."""
    with server.client() as client:
        try:
            while True:
                for id in IDS:
                    answer = client.post(
                        "/actions/order", json={"child": f"pay-{id}"},
                        params={"id": id, "on_open": "use", "on_closed": "reject"},
                    )  # fmt: skip
                    told.set()
                    if answer.status_code == 202:
                        found.append((id, answer.json()["activationId"]))
        except httpx.HTTPError:
            return


def test_a_server_that_is_killed_under_starts_has_one_run_for_each_id(start):
    server, found = start(), []
    deploy(server)
    for _ in range(3):
        told = threading.Event()
        asking = [threading.Thread(target=ask, args=(server, found, told)) for _ in range(4)]
        for thread in asking:
            thread.start()
        assert told.wait(20)
        server.stop(signal.SIGKILL)
        for thread in asking:
            thread.join()
        server = start()

    with server.client() as client:
        for id in IDS:
            answer = client.post(
                "/actions/order", json={"child": f"pay-{id}"},
                params={"id": id, "on_open": "use", "on_closed": "reject", "blocking": True},
            )  # fmt: skip
            assert answer.status_code in {200, 409}, answer.text
        for id in IDS:
            [run] = client.get("/executions", params={"id": id}).json()
            [pay] = client.get("/executions", params={"id": f"pay-{id}"}).json()
            assert {each for of, each in found if of == id} <= {run["executionId"]}
            assert run["status"] == pay["status"] == "succeeded", (run, pay)
            assert pay["parent"]["executionId"] == run["executionId"]
