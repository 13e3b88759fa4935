"""An alarm on a server that is killed: no time that can still be met is missed, none is met twice."""

from __future__ import annotations

import signal
import time

import httpx

from tests.kit.infra.servers import AUTH, Server

OPTIONS = ("--auth", AUTH, "--isolation", "none")
ALARMS = "/api/v1/namespaces/whisk.system/actions/alarms/alarm"
SECONDS = 7


def test_every_second_is_met_once_though_the_server_is_killed(tmp_path):
    server = Server(tmp_path, *OPTIONS)
    with server.client() as client:
        code = {"exec": {"kind": "python:3", "code": "def main(params): return params"}}
        client.put("/actions/a", json=code)
        client.put("/triggers/t", json={})
        client.put("/rules/r", json={"trigger": "/_/t", "action": "/_/a"})
        params = {"lifecycleEvent": "CREATE", "triggerName": "/_/t", "cron": "* * * * * *",
                  "maxTriggers": SECONDS}  # fmt: skip
        made = httpx.post(
            server.url + ALARMS, params={"blocking": "true"}, json=params, auth=client.auth
        )
        assert made.status_code == 200, made.text
        first = int(time.time()) + 1
    for _ in range(2):
        time.sleep(1.4)
        server.stop(signal.SIGKILL)
        server = Server(tmp_path, *OPTIONS)
    with server.client() as client:
        until = time.monotonic() + 30
        count = {"name": "t", "count": "true"}
        while client.get("/activations", params=count).json()["activations"] < SECONDS:
            assert time.monotonic() < until, "it has not fired so often"
            time.sleep(0.2)
        while (
            client.get("/activations", params={**count, "name": "a"}).json()["activations"]
            < SECONDS
        ):
            assert time.monotonic() < until, "an action that was begun has not ended"
            time.sleep(0.2)
        time.sleep(max(0.0, first + SECONDS + 1.5 - time.time()))
        for name in ("t", "a"):
            found = client.get("/activations", params={"name": name, "count": "true"}).json()
            assert found == {"activations": SECONDS}
    server.stop()
