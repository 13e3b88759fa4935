"""What `xingqiao doctor` finds, and what it advises."""

from __future__ import annotations

import contextlib
import resource
import tempfile

import pytest

from xingqiao.actions.runtimes import Groups, Kept
from xingqiao.infra.service import doctor, isolation
from xingqiao.infra.service.doctor import CHECKS, Finding, examine
from xingqiao.infra.settings import Settings


def one(check, settings):
    (found,) = [each(settings) for each in CHECKS if each.__name__ == f"_{check}"]
    return found


def test_every_check_has_a_finding_and_what_is_wrong_has_a_fix(tmp_path):
    findings = list(examine(Settings(data=tmp_path / "data", isolation="none")))

    assert [finding.check for finding in findings] == [
        "isolation", "probes", "limits", "workers", "nodejs", "installers", "extras", "data", "files",
        "store", "disk sync", "disk space", "port", "open files", "clock",
    ]  # fmt: skip
    assert all(finding.fix for finding in findings if finding.state != "ok")
    assert [finding.state for finding in findings[:2]] == ["warn", "fail"]


def test_isolation_that_cannot_be_had_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    found = one("isolation", Settings(isolation="bubblewrap"))

    assert (found.state, "install bubblewrap" in found.fix) == ("fail", True)
    assert one("probes", Settings(isolation="bubblewrap")).state == "fail"
    reduced = one("isolation", Settings(isolation="auto"))
    assert (reduced.state, "REDUCED" in reduced.text) == ("warn", True)
    assert one("node", Settings()).fix == "install nodejs and npm"


@pytest.mark.parametrize(("mode", "state"), [(0o700, "ok"), (0o750, "warn"), (0o701, "warn")])
def test_the_data_directory_is_its_owners(tmp_path, mode, state):
    tmp_path.chmod(mode)

    found = one("data", Settings(data=tmp_path))

    assert found.state == state
    assert found.fix == ("" if state == "ok" else f"chmod 700 {tmp_path}")


@pytest.mark.parametrize(
    ("found", "cgroups", "state"),
    [
        (Kept(survivors=True, memory=True, processes=True), "auto", "ok"),
        (Kept(survivors=True, memory=True, why="none"), "auto", "warn"),
        (Kept(survivors=True, processes=True, why="none"), "auto", "warn"),
        (Kept(why="none"), "auto", "warn"),
        (Kept(why="none"), "off", "ok"),
    ],
)
def test_limits_that_are_watched_from_outside_are_told(monkeypatch, found, cgroups, state):
    @contextlib.contextmanager
    def open_groups(_):
        yield Groups(None, None, found)

    monkeypatch.setattr(isolation, "open_groups", open_groups)

    told = one("limits", Settings(isolation="none", cgroups=cgroups))

    assert told.state == state
    assert told.text.startswith("Limits of workers: held by cgroups: ")
    assert ("docs/operations.md" in told.fix) is (state == "warn")


def test_limits_need_a_sandbox(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert one("limits", Settings(isolation="bubblewrap")).state == "fail"


def test_a_data_directory_that_is_not_there_is_made(tmp_path):
    assert one("data", Settings(data=tmp_path / "none")).state == "ok"
    assert one("data", Settings(data=None)).state == "ok"


@pytest.mark.parametrize(
    ("folder", "mode", "state"),
    [(0o755, 0o644, "fail"), (0o755, 0o600, "ok"), (0o700, 0o644, "ok")],
)
def test_files_that_others_can_read_are_a_failure(tmp_path, folder, mode, state):
    file = tmp_path / "xingqiao.db"
    file.touch()
    file.chmod(mode)
    tmp_path.chmod(folder)

    found = one("files", Settings(data=tmp_path))

    assert found.state == state
    assert found.fix == ("" if state == "ok" else f"chmod 600 {file}")


@pytest.mark.parametrize(("soft", "state"), [(4096, "ok"), (4095, "warn"), (-1, "ok")])
def test_too_few_open_files_are_told(monkeypatch, soft, state):
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))

    assert one("open_files", Settings()).state == state


def test_a_finding_as_a_document():
    found = Finding(check="a", state="warn", text="b", fix="c", rows=[("d", "e")])

    assert found.to_json() == {
        "check": "a", "state": "warn", "text": "b", "fix": "c", "rows": [{"what": "d", "is": "e"}],
    }  # fmt: skip


def test_probes_that_cannot_be_run_are_a_finding(monkeypatch, tmp_path):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    found = one("probes", Settings(isolation="none"))

    assert (found.state, found.fix.split()[:2]) == ("fail", ["set", "TMPDIR"])
