"""`xingqiao logs`, against a real server."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.kit.infra.servers import AUTH, starting
from tests.kit.infra.terminals import XINGQIAO
from xingqiao import composer

SAYS = "def main(params):\n    print('hello', params.get('who', 'it'))\n    return params\n"
MANY = 60


@pytest.fixture
def says(action):
    return action("lo_says", SAYS)


def following(url, *options):
    """The command as a process that has shown one line, so that it has begun to follow."""
    return subprocess.Popen(
        [XINGQIAO, "logs", "-f", *options, "--url", url, "-u", AUTH],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def stop(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)  # a signal just before a wait is seen after it
    assert process.returncode == 130
    return out.splitlines(), err


def call_many(server, name, numbers):
    with server.client() as client, ThreadPoolExecutor(8) as threads:
        for answer in threads.map(
            lambda n: client.post(f"/actions/{name}", json={"who": str(n)}), numbers
        ):
            assert answer.status_code == 202, answer.text


def said(line):
    return line.rpartition("hello ")[2].strip()


def test_all_lines_of_the_namespace_are_shown_in_the_order_of_time(xingqiao, action, composition):
    action("lo_one", SAYS)
    action("lo_two", SAYS)
    composition("lo_both", composer.parallel("lo_one", "lo_two"))
    xingqiao("invoke", "lo_both", "-r")
    last = xingqiao("invoke", "lo_one", "-b", "-p", "who", "last", "--json").json["activationId"]

    shown = xingqiao("logs", "--since", "1h").out.splitlines()
    told = [json.loads(line) for line in xingqiao("logs", "--json").out.splitlines()]

    assert len(shown) == len(told)  # all tests of this module have written some
    ours = [line for line in shown if line.split()[1] in ("lo_one", "lo_two", "lo_both")]
    assert sorted(line.split()[1] for line in ours) == ["lo_one", "lo_one", "lo_two"]
    assert ours[-1].endswith(f" lo_one {last[-8:]} | hello last")
    instants = [line["line"].split()[0] for line in told]
    assert instants == sorted(instants)
    assert last in {line["activationId"] for line in told}


def test_lines_are_chosen_by_action_and_time(xingqiao, says, action):
    action("lo_alone", SAYS)
    xingqiao("invoke", says, "-r")
    xingqiao("invoke", "lo_alone", "-r")

    assert {
        line.split()[1] for line in xingqiao("logs", "--action", "lo_alone").out.splitlines()
    } == {"lo_alone"}
    none = xingqiao("logs", "--action", "lo_alone", "--since", "2099-01-01")
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("no logs: choose an earlier time with --since")


def test_lines_of_many_activations_at_once_are_followed_each_once(xingqiao, server, says):
    xingqiao("invoke", says, "-r", "-p", "who", "first")
    process = following(server.url, "--action", says)
    while "hello first" not in process.stdout.readline():
        pass

    call_many(server, says, range(MANY))
    lines = [process.stdout.readline() for _ in range(MANY)]

    rest, _ = stop(process)
    assert sorted(map(said, lines), key=int) == [str(n) for n in range(MANY)]
    assert rest == []


def test_a_killed_server_loses_and_doubles_no_line(tmp_path, monkeypatch, command):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--auth", AUTH, "--isolation", "none", "--port", str(port))
    file = tmp_path / "says.py"
    file.write_text(SAYS)
    with starting(tmp_path / "data", *options) as start:
        server = start()
        monkeypatch.setenv("XINGQIAO_URL", server.url)
        monkeypatch.setenv("XINGQIAO_AUTH", AUTH)
        assert command("deploy", file).code == 0
        assert command("invoke", "says", "-r", "-p", "who", "0").code == 0
        process = following(server.url)
        assert said(process.stdout.readline()) == "0"

        server.stop(signal.SIGKILL)
        assert "cannot be reached any more" in process.stderr.readline()
        server = start()
        call_many(server, "says", range(1, 4))
        lines = [process.stdout.readline() for _ in range(3)]
        rest, err = stop(process)

    assert sorted(map(said, lines)) == ["1", "2", "3"]
    assert rest == []
    assert "connected again" in err


def test_a_server_that_never_answered_is_an_error(refused):
    line = refused("logs", "-f", "--url", "http://127.0.0.1:1", "-u", AUTH, code=3)

    assert "cannot be reached" in line
