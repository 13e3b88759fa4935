"""`xingqiao dev`: files are deployed when they are saved, on a server that ends with the command."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.kit.infra.servers import AUTH, DEADLINE_S, XINGQIAO
from xingqiao.infra.cli.client import ApiError, connect
from xingqiao.infra.client import dev_file

PLAIN = "def main(params):\n    print('says', %r)\n    return {'n': %s}\n"


def environment(folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("XINGQIAO_")}
    return {**clean, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}


class Developed:
    """A running `xingqiao dev`, and commands in another terminal."""

    def __init__(self, folder, *arguments):
        self.folder = folder
        self.process = subprocess.Popen(
            [XINGQIAO, "dev", *arguments, "--port", "0", "--isolation", "none"], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(folder),
        )  # fmt: skip
        self.lines = []
        self.url = re.search(r"runs at (\S+);", self.until("the server runs at"))[1]

    def until(self, text):
        """The next line that has this text."""
        while text not in (line := self.process.stdout.readline()):
            assert line, f"it has ended: {self.lines}"
            self.lines.append(line)
        self.lines.append(line)
        return line

    def run(self, *arguments):
        return subprocess.run(
            [XINGQIAO, *arguments], cwd=self.folder, env=environment(self.folder), check=False,
            capture_output=True, text=True, timeout=DEADLINE_S,
        )  # fmt: skip

    def stop(self, number):
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, rest


@contextmanager
def developing(folder, *arguments):
    made = Developed(folder, *arguments)
    try:
        yield made
    finally:
        if made.process.returncode is None:
            made.stop(signal.SIGTERM)


def connected_to(url):
    """A connection to a server: it ends when the server does."""
    place = urlsplit(url)
    return socket.create_connection((place.hostname, place.port), DEADLINE_S)


def test_a_saved_file_is_deployed_and_a_broken_one_is_told(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(PLAIN % ("first", 1))
    with developing(tmp_path, "one.py") as made:
        made.until("✓ one 0.0.1 (python:3)")
        first = made.run("invoke", "one", "-r", "--json")
        made.until("| says first")

        file.write_text("def main(params:\n")
        said = made.until("error: ")
        file.write_text(PLAIN % ("second", 2))
        made.until("✓ one 0.0.2 (python:3)")
        second = made.run("invoke", "one", "-r", "--json")
        made.until("| says second")

        assert (json.loads(first.stdout), json.loads(second.stdout)) == ({"n": 1}, {"n": 2})
        assert re.search(r"one\.py, line 1: SyntaxError", said)


def test_a_folder_is_deployed_with_the_modules_that_its_files_import(tmp_path):
    folder = tmp_path / "flows"
    folder.mkdir()
    (folder / "words.py").write_text("WAIT = 0.1\n")
    (folder / "flow.py").write_text(
        "import words\n\nfrom xingqiao import composer\n\nflow = composer.wait(words.WAIT)\n"
    )
    (folder / "plain.py").write_text(PLAIN % ("hi", 1))
    (folder / "test_plain.py").write_text("raise AssertionError\n")
    with developing(tmp_path, "flows") as made:
        made.until("✓ flow 0.0.1 (composition)")
        made.until("✓ plain 0.0.1 (python:3)")

        (folder / "words.py").write_text("WAIT = 0.2\n")
        made.until("✓ flow 0.0.2 (composition)")

        names = [doc["name"] for doc in json.loads(made.run("action", "list", "--json").stdout)]
        assert sorted(names) == ["flow", "plain"]
        assert not any("error" in line for line in made.lines)


def test_a_run_that_fails_is_told(tmp_path):
    (tmp_path / "bad.py").write_text("def main(params):\n    return {'error': 'no luck'}\n")
    with developing(tmp_path, "bad.py") as made:
        made.until("✓ bad")
        made.run("invoke", "bad")

        assert re.search(r"✗ bad failed: xingqiao activation get [0-9a-f]{32}", made.until("✗ bad"))


def test_ctrl_c_stops_the_server_and_the_next_start_has_the_same_data(tmp_path):
    (tmp_path / "one.py").write_text(PLAIN % ("hi", 1))
    with developing(tmp_path, "one.py") as made:
        made.until("✓ one 0.0.1")
        assert stat.S_IMODE((tmp_path / dev_file.FILE).stat().st_mode) == 0o600
        exported = made.lines[-2].split()

        code, rest = made.stop(signal.SIGINT)

        assert code == 0
        assert rest.strip().endswith("the server has stopped")
        assert not (tmp_path / dev_file.FILE).exists()
        assert (
            "cannot be reached" in made.run("action", "list", "--url", made.url, "-u", AUTH).stderr
        )
    with developing(tmp_path, "one.py") as again:
        again.until("✓ one 0.0.1")  # which has not changed
        assert again.lines[-2].split()[2] == exported[2]  # credentials stay


def test_a_killed_command_leaves_no_server(tmp_path):
    (tmp_path / "one.py").write_text(PLAIN % ("hi", 1))
    made = Developed(tmp_path, "one.py")
    made.until("✓ one 0.0.1")
    with connected_to(made.url) as connection:
        made.process.kill()
        made.process.communicate(timeout=DEADLINE_S)

        assert connection.recv(1) == b""  # the server is gone
    with developing(tmp_path, "one.py") as again:  # and has left the directory
        again.until("✓ one 0.0.1")


def test_a_server_that_cannot_start_is_an_error(tmp_path, refused):
    (tmp_path / "one.py").write_text(PLAIN % ("hi", 1))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [XINGQIAO, "dev", "one.py", "--port", str(taken.getsockname()[1])],
            cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False,
            timeout=DEADLINE_S,
        )  # fmt: skip

    assert ended.returncode == 1
    assert "address already in use" in ended.stderr
    assert "the server has not started" in ended.stderr


def test_a_missing_file_is_misuse(command):
    ended = command("dev", "nothing.py")

    assert (ended.code, "nothing.py does not exist" in ended.err) == (2, True)


# --- the file that other terminals find --------------------------------------------------------


@pytest.fixture
def written(command, tmp_path):
    dev_file.write("http://127.0.0.1:1", AUTH)
    return tmp_path / dev_file.FILE


def test_url_and_credentials_are_used_together_or_not_at_all(written, monkeypatch):
    with connect(None, None) as client:
        assert (client.url, client.auth) == ("http://127.0.0.1:1", AUTH)
    with connect(None, "own:credentials") as client:
        assert (client.url, client.auth) == ("http://127.0.0.1:3233", "own:credentials")
    monkeypatch.setenv("XINGQIAO_URL", "http://127.0.0.1:2")
    with pytest.raises(ApiError, match="credentials are missing"):
        connect(None, None)


def test_a_server_that_has_gone_is_told_with_the_file(written, refused):
    line = refused("action", "list", code=3)

    assert ".xingqiao/dev.properties, which `xingqiao dev` wrote" in line


def test_a_file_that_others_can_change_is_not_used(written):
    written.chmod(0o644)

    assert dev_file.read() is None
