"""A server that is killed leaves no worker behind, whatever it was doing."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
from things import ended, needed

from tests.infra.servers import AUTH, Server

BUSY = {
    "python:3": "def main(params):\n    while True:\n        pass\n",
    "nodejs:20": "function main(params) { for (;;); }",
}
DEADLINE_S = 15


def working_in(folder):
    """The processes whose current directory lies in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


@pytest.mark.parametrize("kind", BUSY)
def test_a_busy_worker_dies_with_its_server(tmp_path, kind):
    if kind == "nodejs:20":
        needed("node")
    environment = {**os.environ, "XINGQIAO_NODE_MODULES": str(tmp_path / "modules")}
    server = Server(
        tmp_path / "data", "--auth", AUTH, "--isolation", "process", environment=environment
    )
    with server.client() as client:
        client.put("/actions/busy", json={"exec": {"kind": kind, "code": BUSY[kind]}})
        client.post("/actions/busy", json={})
        until = time.monotonic() + DEADLINE_S
        while not (workers := working_in(tmp_path / "data" / "workers")):
            assert time.monotonic() < until, "it has not begun"
            time.sleep(0.05)

    server.stop(signal.SIGKILL)

    until = time.monotonic() + DEADLINE_S
    while not all(map(ended, workers)):
        assert time.monotonic() < until, "it is still there"
        time.sleep(0.05)
