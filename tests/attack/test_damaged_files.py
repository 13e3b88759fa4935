"""A killed server whose files are damaged before it starts again: it says what is missing, and does not go on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO, Server, running

LOG, DATABASE = "xingqiao.db-wal", "xingqiao.db"
ECHO = {"kind": "python:3", "code": "def main(params):\n    return params\n"}


def scratched(path):
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xa5" * 512)


def emptied(path):
    os.truncate(path, 0)


@pytest.fixture(scope="module")
def left(tmp_path_factory, scale):
    """What a server leaves that was killed after it had acknowledged calls."""
    data = tmp_path_factory.mktemp("killed") / "data"
    server = Server(data, "--auth", AUTH, "--isolation", "process")
    try:
        with server.client() as client:
            assert client.put("/actions/echo", json={"exec": ECHO}).status_code == 200
            for n in range(5 * scale):
                answer = client.post("/actions/echo?blocking=true", json={"n": n})
                assert answer.status_code == 200, answer.text
    finally:
        server.stop(signal.SIGKILL)
    return data


@pytest.mark.parametrize(
    ("name", "damage"),
    [(LOG, os.unlink), (LOG, scratched), (DATABASE, emptied)],
)
def test_a_server_does_not_go_on_without_its_commits(left, tmp_path, name, damage, figures):
    data = tmp_path / "data"
    shutil.copytree(left, data)
    damage(data / name)

    refused = subprocess.run(
        [XINGQIAO, "serve", "--port", "0", "--data", data],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert refused.returncode == 1
    assert "commits" in refused.stderr
    assert f"xingqiao check --data {data} --accept-loss" in refused.stderr
    assert "Traceback" not in refused.stderr

    accepted = subprocess.run(
        [XINGQIAO, "check", "--data", data, "--accept-loss"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
    with running(data, "--auth", AUTH) as server, server.client() as client:
        assert client.get("/actions").status_code == 200
    figures(file=name, damage=damage.__name__, started=False, after_accepting=True)


def test_a_server_goes_on_when_nothing_is_damaged(left, tmp_path, scale):
    data = tmp_path / "data"
    shutil.copytree(left, data)

    with running(data, "--auth", AUTH) as server, server.client() as client:
        assert len(client.get("/activations?limit=200").json()) == min(5 * scale, 200)
