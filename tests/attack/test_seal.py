"""Whoever gets a copy of a server's folder without its key: what do its files show?"""

from __future__ import annotations

import os
import signal

import pytest

from tests.kit.infra.servers import AUTH, KEY, running
from xingqiao import composer

BOUND, PACKAGED, TRIGGERED = "bound-to-an-action", "bound-to-a-package", "bound-to-a-trigger"
TOLD, SECRET, CODE = "told-by-the-caller", "kept-as-a-secret", "written-in-the-code"
NAMES = {
    "bound": BOUND, "packaged": PACKAGED, "triggered": TRIGGERED, "told": TOLD, "secret": SECRET,
    "code": CODE, "key": KEY,
}  # fmt: skip
RUNS = 10
QUERY = {"blocking": "true", "result": "true"}


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def bound(value):
    return [{"key": "token", "value": value}]


def furnish(client):
    """Puts a value that must not be seen into all that keeps one."""
    code = f"def main(params):\n    mark = '{CODE}'\n    return {{**params, 'mark': mark}}\n"
    runs = {"exec": {"kind": "python:3", "code": code}, "parameters": bound(BOUND)}
    parts = composer.sequence("/_/tools/act", composer.let({"x": 1}, "/_/tools/act"))
    documents = {
        "/packages/tools": {"parameters": [{"key": "of", "value": PACKAGED}]},
        "/actions/tools/act": runs,
        "/actions/tools/many": {
            "exec": {"kind": "composition", "composition": parts.to_json()}, "parameters": bound(BOUND),
        },
        "/actions/tools/line": {"exec": {"kind": "sequence", "components": ["/_/tools/act"] * 2}},
        "/actions/tools/fails": {**runs, "exec": {"kind": "python:3", "code": "def main(p): raise ValueError(p)"}},
        "/triggers/rings": {"parameters": bound(TRIGGERED)},
        "/rules/then": {"trigger": "/_/rings", "action": "/_/tools/act"},
        "/secrets/cloud": {"type": "bearer", "token": SECRET},
    }  # fmt: skip
    for path, document in documents.items():
        answer = client.put(path, json=document)
        assert answer.is_success, (path, answer.text)


def use(client, runs):
    """Runs everything. Returns the ids of activations that have ended."""
    ids = []
    for _ in range(runs):
        for action in ("act", "many", "line", "fails"):
            answer = client.post(f"/actions/tools/{action}", params=QUERY, json={"told": TOLD})
            assert answer.status_code == (502 if action == "fails" else 200), answer.text
            assert BOUND in answer.text
            ids.append(answer.headers["x-openwhisk-activation-id"])
        assert client.post("/triggers/rings", json={"told": TOLD}).status_code == 202
    return ids


def copied(data):
    """The bytes of all files of a folder but the two that are keys."""
    return {
        file.relative_to(data).as_posix(): file.read_bytes()
        for file in sorted(data.rglob("*"))
        if file.is_file() and file.name not in {"key", "operator"}
    }


def seen(files):
    return {
        (name, file) for file, text in files.items() for name, value in NAMES.items() if value.encode() in text
    }  # fmt: skip


@pytest.mark.usefixtures("open_umask")
def test_a_copy_of_the_files_shows_nothing_while_it_runs_when_it_is_killed_and_after(
    tmp_path, scale, figures
):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    looked, ids = 0, []
    for ending in (signal.SIGKILL, signal.SIGTERM):
        with running(data, "--auth", AUTH, "--isolation", "process") as server:
            with server.client() as client:
                if not ids:
                    furnish(client)
                ids += use(client, RUNS * scale)
                files = copied(data)
                assert "xingqiao.db-wal" in files
                assert seen(files) == set()
                looked += sum(map(len, files.values()))
                for id in (ids[0], ids[1]):  # it is all there for whoever may ask
                    assert BOUND in client.get(f"/activations/{id}").text
                modes = {f.name: f.stat().st_mode & 0o777 for f in data.iterdir() if f.is_file()}
                assert set(modes.values()) == {0o600}, modes
            _, errors = server.stop(ending)
            assert not [value for value in NAMES.values() if value in errors]
        files = copied(data)
        assert seen(files) == set()
        looked += sum(map(len, files.values()))
    figures(runs=len(ids), values=len(NAMES), bytes_searched=looked, found=0)
