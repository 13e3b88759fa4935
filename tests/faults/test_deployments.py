"""A deployment is whole or not there at all, also when the server is killed while it deploys."""

from __future__ import annotations

import signal
import threading
import time

import httpx
import pytest

from tests.kit.infra.servers import AUTH, starting

ACTIONS = 150
CODE = "def main(params): return params\n" + "#" * 20_000


def body(version):
    return {
        "actions": [
            {
                "name": f"a{n}",
                "origin": "shop/a.py",
                "definition": {"exec": {"kind": "python:3", "code": f"{CODE}{version}"}},
            }
            for n in range(ACTIONS)
        ]
    }


def send(server, version):
    try:
        with server.client() as client:
            client.put("/deployments", json=body(version))
    except httpx.HTTPError:
        pass  # the server was killed


@pytest.mark.parametrize("delay_s", [0.05, 0.2, 0.4, 0.8])
def test_a_killed_server_has_all_of_a_deployment_or_nothing_of_it(tmp_path, delay_s):
    with starting(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as start:
        server = start()
        send(server, 0)
        sending = threading.Thread(target=send, args=(server, 1))
        sending.start()
        time.sleep(delay_s)
        server.stop(signal.SIGKILL)
        sending.join()

        with start().client() as client:
            listed = client.get("/actions", params={"limit": 200}).json()

    versions = [doc["version"] for doc in listed]
    assert versions in (["0.0.1"] * ACTIONS, ["0.0.2"] * ACTIONS)
