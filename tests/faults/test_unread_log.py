"""A server whose standard error nobody reads keeps answering, and stops when told to."""

from __future__ import annotations

import fcntl
import signal

from tests.kit.infra.servers import running

PIPE_BYTES = 4096  # the smallest pipe that Linux makes


def test_a_server_whose_log_is_not_read_answers(tmp_path):
    with running(tmp_path, "--isolation", "none") as server:
        fcntl.fcntl(server.process.stderr, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        with server.operator() as client:
            nowhere = {"exec": {"kind": "http", "function": "http://127.0.0.1:1/"}}
            client.put("/actions/nowhere", json=nowhere).raise_for_status()
            for _ in range(60):  # each of them logs a dead letter in a line of 150 bytes
                client.post("/actions/nowhere", json={}).raise_for_status()

            answer = client.post("/actions/nowhere?blocking=true", json={})

        code, said = server.stop(signal.SIGTERM)

    assert answer.status_code == 502
    assert code == 0
    assert len(said) > PIPE_BYTES
