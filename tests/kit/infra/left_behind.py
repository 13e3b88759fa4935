"""A directory in which a server has worked, for commands that need no server."""

from __future__ import annotations

from tests.kit.infra.servers import AUTH, running
from xingqiao import composer

WAITING = composer.sequence("hello", composer.wait(3600), "hello")


def leave(directory, code, isolation):
    """Lets a server run the action `hello` there; its execution of `waiting` waits. Returns the directory."""
    options = ("--auth", AUTH, "--isolation", isolation)
    with running(directory, *options) as server, server.client() as client:
        client.put("/actions/hello", json={"exec": {"kind": "python:3", "code": code}})
        waiting = {"kind": "composition", "composition": WAITING.to_json()}
        client.put("/actions/waiting", json={"exec": waiting})
        assert client.post("/actions/hello?blocking=true").status_code == 200
        id = client.post("/actions/waiting").json()["activationId"]
        waits = ("timer" in client.get(f"/executions/{id}").text for _ in range(20_000))
        assert any(waits)
    return directory
