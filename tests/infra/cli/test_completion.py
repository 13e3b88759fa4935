"""Completion in shells, as the shells ask for it."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO
from xingqiao import composer

BLACKHOLE = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture
def completed(tmp_path):
    """What bash is offered for a line; the last word is the one that the user types."""

    def complete(line, url, auth=AUTH):
        words = line.split(" ")
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "XINGQIAO_URL": url,
            "XINGQIAO_AUTH": auth, "_XINGQIAO_COMPLETE": "bash_complete", "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }  # fmt: skip
        done = subprocess.run(
            [XINGQIAO], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return [item.partition(",")[2] for item in done.stdout.split()]

    return complete


@pytest.mark.parametrize(
    ("shell", "part"),
    [
        ("bash", "complete -o nosort -F _xingqiao_completion xingqiao"),
        ("zsh", "#compdef xingqiao"),
        ("fish", "complete --no-files --command xingqiao"),
    ],
)
def test_a_script_for_each_shell_is_printed(command, shell, part):
    assert part in command("completion", shell).out


def test_bash_reads_the_script(command):
    script = command("completion", "bash").out

    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_another_shell_is_refused(command):
    ended = command("completion", "tcsh")

    assert ended.code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in ended.err


def test_names_of_actions_come_from_the_server(server, action, completed):
    action("cmn_one")
    action("cmn_two")

    assert completed("xingqiao invoke cmn_", server.url) == ["cmn_two", "cmn_one"]
    assert completed("xingqiao action delete cmn_o", server.url) == ["cmn_one"]
    assert completed("xingqiao action get none", server.url) == []


def test_ids_of_executions_come_from_the_server(server, xingqiao, composition, completed):
    composition("cm_run", composer.literal({}))
    id = xingqiao("invoke", "cm_run", "-b", "--json").json["activationId"]

    assert id in completed("xingqiao execution get ", server.url)
    assert completed(f"xingqiao execution redrive {id[:-1]}", server.url) == [id]


def test_without_a_server_or_credentials_nothing_is_offered_and_nothing_said(server, completed):
    assert completed("xingqiao invoke cmn_", BLACKHOLE) == []
    assert completed("xingqiao invoke cmn_", server.url, auth="") == []
    assert completed("xingqiao invoke cmn_", server.url, auth="no:body") == []


def test_commands_need_no_server(completed):
    assert completed("xingqiao exec", BLACKHOLE) == ["execution"]


def test_names_of_keys_are_offered(xingqiao, server, completed):
    for name in ("cm_one", "cm_two", "other"):
        xingqiao("access-key", "create", name, "--role", "read")

    assert completed("xingqiao access-key revoke cm_", server.url) == ["cm_one", "cm_two"]
    assert completed("xingqiao access-key rotate cm_t", server.url) == ["cm_two"]
