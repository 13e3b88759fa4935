"""The peers' environment: made once, and a clear text where it cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import environment
from benchmarks.peers.environment import RESTATE, UnavailableError, prepare


class Installer:
    """Notes the commands, and makes Restate's server when npm would."""

    def __init__(self, home, server=True):
        self.commands, self._home, self._server = [], home, server

    def __call__(self, command):
        self.commands.append([Path(command[0]).name, *map(str, command[1:])])
        if command[0] == "npm" and self._server:
            folder = self._home / "node_modules/@restatedev/restate-server-linux-x64/bin"
            folder.mkdir(parents=True)
            (folder / "restate-server").touch()


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def test_it_is_made_once_with_the_versions_that_are_named(tmp_path):
    home = tmp_path / "build" / "peers"
    installer = Installer(home)

    first = prepare(home, installer)
    again = prepare(home, installer)

    assert first == again
    assert first.restate_server.is_file()
    assert [command[:3] for command in installer.commands][1:] == [
        ["python", "-m", "pip"], ["npm", "install", "--prefix"],
    ]  # fmt: skip
    assert installer.commands[-1][-1] == RESTATE


def test_other_versions_are_installed_in_place_of_these(tmp_path, monkeypatch):
    installer = Installer(tmp_path)
    prepare(tmp_path, installer)
    (tmp_path / "old").touch()
    monkeypatch.setattr(environment, "RESTATE", "@restatedev/restate-server@0.0.1")

    prepare(tmp_path, installer)

    assert len(installer.commands) == 6
    assert not (tmp_path / "old").exists()


def test_an_installation_that_failed_is_begun_again(tmp_path):
    def fail(command):
        raise UnavailableError("no network")

    with pytest.raises(UnavailableError):
        prepare(tmp_path, fail)
    installer = Installer(tmp_path)
    prepare(tmp_path, installer)

    assert len(installer.commands) == 3


def test_a_package_without_a_server_is_named(tmp_path):
    with pytest.raises(
        UnavailableError, match=r"has no server for this machine: restate-server-linux"
    ):
        prepare(tmp_path, Installer(tmp_path, server=False))


def test_a_machine_that_restate_does_not_know_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    with pytest.raises(UnavailableError, match="no server for Linux riscv64: it has one for Linux"):
        prepare(tmp_path)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["npm-that-is-not-there", "install"], "'npm-that-is-not-there' is missing: install Node"),
        (["sh", "-c", "echo no network >&2; false"], "failed and said: no network"),
        (["false"], "failed and said: nothing"),
    ],
)
def test_a_failure_says_what_to_do(command, text):
    with pytest.raises(UnavailableError) as caught:
        environment._run(command)

    assert text in str(caught.value)
    assert "python -m benchmarks" in str(caught.value)


def test_a_command_that_succeeds_says_nothing():
    environment._run(["true"])


def test_every_version_is_pinned():
    lines = environment.REQUIREMENTS.read_text("utf-8").splitlines()
    packages = [each for each in lines if not each.startswith("#")]

    assert {"dbos", "restate-sdk", "hypercorn"} <= {each.split("==")[0] for each in packages}
    assert all(each.count("==") == 1 for each in packages)
