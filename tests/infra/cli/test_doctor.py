"""`xingqiao doctor` as its users have it."""

from __future__ import annotations

import json
import os
import subprocess

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO, running


def doctor(*options, **environment):
    return subprocess.run(
        [XINGQIAO, "doctor", *options], capture_output=True, text=True, check=False,
        timeout=DEADLINE_S, env={**os.environ, **environment},
    )  # fmt: skip


def test_it_shows_each_check_with_its_fix(tmp_path):
    done = doctor("--data", tmp_path / "data", "--isolation", "none")

    assert done.returncode == 1, done.stderr
    assert "✗ probes: User code succeeds in" in done.stdout
    assert "read the operator's credentials" in done.stdout
    assert "fix: install bubblewrap (apt install bubblewrap)" in done.stdout


def test_a_program_reads_it_as_json(tmp_path):
    done = doctor("--data", tmp_path / "data", "--isolation", "process", "--json")

    findings = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert findings["isolation"]["state"] in ("ok", "warn")
    assert len(findings["probes"]["rows"]) >= 25
    assert done.returncode == int(any(each["state"] == "fail" for each in findings.values()))


def test_settings_that_cannot_be_used_are_refused():
    done = doctor(XINGQIAO_WORKERS="0")

    assert done.returncode == 1
    assert "workers must be at least 1, not 0" in done.stderr


def test_it_looks_at_a_server_that_runs_and_at_its_clock(tmp_path):
    with running(tmp_path / "data", "--auth", AUTH, "--isolation", "none") as server:
        port = server.url.rpartition(":")[2]
        done = doctor(
            "--data", tmp_path / "data", "--isolation", "process", "--json", "--url", server.url,
            XINGQIAO_PORT=port,
        )  # fmt: skip
        with server.client() as client:
            assert client.get("/actions").status_code == 200  # it runs on

    findings = {finding["check"]: finding for finding in json.loads(done.stdout)}
    assert findings["store"]["text"].endswith("Its pages are sound.")
    assert "A Xingqiao server listens" in findings["port"]["text"]
    assert findings["server clock"]["state"] == "ok"


def test_it_changes_nothing(tmp_path):
    data = tmp_path / "data"
    with running(data, "--auth", AUTH, "--isolation", "none"):
        pass
    before = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}

    doctor("--data", data, "--isolation", "process")

    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == before


def test_a_server_that_is_not_there_has_no_clock(tmp_path):
    done = doctor("--data", tmp_path, "--isolation", "process", "--url", "http://127.0.0.1:1")

    assert done.returncode == 1
    assert "✗ server clock: The server at http://127.0.0.1:1 does not tell its time" in done.stdout
