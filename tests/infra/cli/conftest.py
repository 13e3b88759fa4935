"""One real server for the commands of a module, and commands as a user types them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import pytest

from tests.kit.infra.commands import HELLO
from tests.kit.infra.servers import AUTH, running
from xingqiao.infra.cli import main

OURS = ("XINGQIAO_", "WSK_CONFIG_FILE")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for all tests of a module; each uses names of its own."""
    data = tmp_path_factory.mktemp("server")
    with running(data, "--auth", AUTH, "--isolation", "none") as made:
        yield made


@dataclass
class Ended:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def command(capfd, monkeypatch, tmp_path):
    """Runs a command in an empty directory, with nothing set that the machine has."""
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as exit:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Ended(exit.value.code, out, err)

    return run


@pytest.fixture
def xingqiao(command, server, monkeypatch):
    """Runs a command that finds the server and its credentials in the environment."""
    monkeypatch.setenv("XINGQIAO_URL", server.url)
    monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
    return command


@pytest.fixture
def action(xingqiao, tmp_path):
    """Deploys a Python action: `name`, and what stands in its file."""

    def deploy(name, code="def main(params):\n    return params\n"):
        file = tmp_path / f"{name}.py"
        file.write_text(code)
        ended = xingqiao("action", "update", name, file)
        assert ended.code == 0, ended.err
        return name

    return deploy


@pytest.fixture
def composition(xingqiao, tmp_path):
    """Deploys a composition."""

    def deploy(name, made):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(made.to_json()))
        ended = xingqiao("deploy", file)
        assert ended.code == 0, ended.err
        return name

    return deploy


@pytest.fixture
def hello(tmp_path):
    """The file of an action that greets."""
    file = tmp_path / "hello.py"
    file.write_text(HELLO)
    return file


@pytest.fixture
def wskprops(tmp_path):
    """Writes the file `.wskprops`."""

    def write(**properties):
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        (tmp_path / ".wskprops").write_text(text)

    return write


@pytest.fixture
def refused(command):
    """Checks that a command fails with one line, and nothing on standard output. Returns the line."""

    def run(*arguments, code=None):
        ended = command(*arguments)
        assert ended.err.startswith("error: ")
        assert ended.err.count("\n") == 1
        line = ended.err.removeprefix("error: ").strip()
        assert (ended.code, ended.out) == (code or _code(line), ""), ended
        return line

    return run


def _code(line):
    """The exit code of a command that has failed with this line."""
    if "cannot be reached" in line:
        return 3
    if "credentials are missing" in line or "must have the form UUID:KEY" in line:
        return 4
    by_status = {"(401)": 4, "(403)": 4, "(404)": 5}
    return next((code for status, code in by_status.items() if status in line), 1)
