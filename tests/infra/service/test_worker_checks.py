"""Workers that start, as `xingqiao doctor` sees them."""

from __future__ import annotations

from xingqiao.infra.service import worker_checks
from xingqiao.infra.settings import Settings


def test_a_worker_of_each_language_runs_an_action(tmp_path):
    found = worker_checks.workers(Settings(data=tmp_path / "data", isolation="none"))

    assert found.state == "ok"
    assert "Python in " in found.text
    assert list(tmp_path.iterdir()) == []


def test_code_that_a_worker_cannot_run_is_a_failure(monkeypatch):
    monkeypatch.setattr(
        worker_checks, "HELLO", {"python:3": "def main(params):\n    raise OSError\n"}
    )

    found = worker_checks.workers(Settings(isolation="none"))

    assert (found.state, bool(found.fix)) == ("fail", True)
    assert "A worker fails: " in found.text


def test_a_sandbox_that_cannot_be_had_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert worker_checks.workers(Settings(isolation="bubblewrap")).state == "fail"
