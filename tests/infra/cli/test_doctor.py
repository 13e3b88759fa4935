"""`xingqiao doctor` as its users have it."""

from __future__ import annotations

import json
import os
import subprocess

from tests.kit.infra.servers import DEADLINE_S, XINGQIAO


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
