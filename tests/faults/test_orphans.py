"""A server that is killed leaves no worker behind, whatever it was doing."""

from __future__ import annotations

import os
import signal
import time

import pytest
from things import ended, needed

from tests.infra.servers import AUTH, Server

BUSY = {
    "python:3": (
        "import os\n"
        "def main(params):\n"
        "    open(params['file'], 'w').write(str(os.getpid()))\n"
        "    while True:\n        pass\n"
    ),
    "nodejs:20": (
        "function main(params) {"
        " require('fs').writeFileSync(params.file, String(process.pid)); for (;;); }"
    ),
}
DEADLINE_S = 15


@pytest.mark.parametrize("kind", BUSY)
def test_a_busy_worker_dies_with_its_server(tmp_path, kind):
    if kind == "nodejs:20":
        needed("node")
        needed("setpriv")
    told = tmp_path / "pid"
    environment = {**os.environ, "XINGQIAO_NODE_MODULES": str(tmp_path / "modules")}
    server = Server(
        tmp_path / "data", "--auth", AUTH, "--isolation", "process", environment=environment
    )
    with server.client() as client:
        client.put("/actions/busy", json={"exec": {"kind": kind, "code": BUSY[kind]}})
        client.post("/actions/busy", json={"file": str(told)})
        until = time.monotonic() + DEADLINE_S
        while not (told.exists() and told.read_text()):
            assert time.monotonic() < until, "it has not begun"
            time.sleep(0.05)

    server.stop(signal.SIGKILL)

    until = time.monotonic() + DEADLINE_S
    while not ended(int(told.read_text())):
        assert time.monotonic() < until, "it is still there"
        time.sleep(0.05)
