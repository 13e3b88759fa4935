"""The server, the credentials and the exit codes of the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version

import click
import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO
from tests.kit.infra.terminals import on_a_terminal
from xingqiao.infra.cli.main import COMMANDS, cli

SERVERS = ("aws", "edge", "engine", "http", "lambdas", "service", "stepfunctions", "stores")


def test_properties_may_stand_in_another_file(command, server, monkeypatch, tmp_path):
    file = tmp_path / "elsewhere"
    file.write_text(f"# a comment\n\nAPIHOST = {server.url}\nAUTH={AUTH}\nOTHER\n")
    monkeypatch.setenv("WSK_CONFIG_FILE", str(file))

    assert command("action", "list").code == 0


def test_a_host_without_a_scheme_is_asked_securely(refused, wskprops):
    wskprops(APIHOST="127.0.0.1:1", AUTH=AUTH)

    assert refused("action", "list").startswith(
        "the server at https://127.0.0.1:1 cannot be reached: "
    )


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://[::1", "http://a:b"])
def test_an_url_that_is_none_is_told_in_one_line(refused, url):
    assert url in refused("action", "list", "--url", url, "--auth", AUTH)


def test_what_answers_but_is_no_server_of_ours_is_told(refused, server):
    line = refused("action", "list", "--url", f"{server.url}/metrics", "--auth", AUTH)

    assert line.endswith("(404)")


def test_properties_that_cannot_be_read_are_told(refused, tmp_path):
    file = tmp_path / ".wskprops"
    file.write_bytes(b"AUTH=\xff\n")

    assert refused("action", "list").startswith(f"the properties file {file} cannot be read: ")


# --- how it ends -------------------------------------------------------------------------------


def test_the_version_and_help_are_shown(command):
    assert command("--version").out == f"xingqiao, version {version('xingqiao')}\n"
    for arguments in (["--help"], ["-h"], ["deploy", "-h"], ["action", "--help"]):
        ended = command(*arguments)
        assert ended.code == 0
        assert ended.out.startswith("Usage: ")
        assert ended.err == ""


def test_every_command_is_listed_with_a_sentence(command):
    lines = command("--help").out.partition("Commands:\n")[2].splitlines()

    assert [line.split()[0] for line in lines] == [
        "serve", "check", "backup", "restore", "doctor", "dev", "deploy", "undeploy", "invoke", "logs", "action", "package", "trigger", "rule", "event",
        "activation",
        "execution", "attribute", "entity", "dead-letter", "schedule", "batch", "queue", "limit", "worker", "saga", "transaction", "adapter", "secret", "run", "show", "export", "schema", "bundle", "namespace", "access-key", "audit", "property",
        "completion", "key", "list", "api-host", "service",
    ]  # fmt: skip
    assert all(len(line.split()) > 3 for line in lines)


def test_no_command_is_misuse_and_shows_what_there_is(command):
    ended = command()

    assert ended.code == 2
    assert "Commands:" in ended.out + ended.err


def test_it_runs_as_a_process_with_the_same_exit_codes(tmp_path):
    for arguments, code in ((["--version"], 0), (["show", "none.py"], 1), (["fly"], 2)):
        done = subprocess.run(
            [XINGQIAO, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == code, done.stderr
        assert done.stderr.count("\n") == (code != 0)


@pytest.mark.parametrize("arguments", [["--help"], ["execution", "--help"], ["action", "list"]])
def test_a_command_that_only_asks_a_server_loads_no_engine(arguments, tmp_path):
    program = (
        "import sys; from xingqiao.__main__ import main; sys.argv[0] = 'xingqiao'\n"
        "try: main()\n"
        "finally: print('loaded', sorted({'.'.join(name.split('.')[:3]) for name in sys.modules"
        " if name.startswith('xingqiao.infra.')}), 'aiohttp' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False,
        cwd=tmp_path, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip

    loaded = done.stdout.rpartition("loaded ")[2]
    assert "xingqiao.infra.cli" in loaded, done.stderr
    assert not any(f"infra.{package}" in loaded for package in SERVERS), loaded
    assert "True" not in loaded


def test_a_terminal_gets_colours_and_a_file_gets_none(xingqiao, action, server):
    name = action("coloured")
    connection = {"XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}

    code, shown = on_a_terminal("invoke", name, "--result", "-p", "n", "42", **connection)
    failed, error = on_a_terminal("action", "get", "never", **connection)
    plain = xingqiao("invoke", name, "--result", "-p", "n", "42")

    colours = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
    assert (code, failed) == (0, 5)
    assert colours.search(shown)
    assert '"n": 42' in colours.sub("", shown)
    assert "error: the action 'never' does not exist" in colours.sub("", error)
    assert not colours.search(plain.out + plain.err)


# --- help --------------------------------------------------------------------------------------

PREPOSITIONS = {
    "at",
    "below",
    "beside",
    "by",
    "for",
    "from",
    "in",
    "of",
    "on",
    "to",
    "under",
    "with",
}


def told(command, path):
    """The help of a command, of its options, and of the commands below it."""
    yield path, command.help
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{path} {option.opts[0]}", option.help
    for name, below in getattr(command, "commands", {}).items():
        yield from told(below, f"{path} {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_begins_with_a_noun_or_a_verb(name):
    for path, text in told(cli.get_command(click.Context(cli), name), name):
        if text:
            assert text.split()[0].strip(".,:;").lower() not in PREPOSITIONS, f"{path}: {text}"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("exection", "did you mean execution or action?"),
        ("fly", "the command 'fly' does not exist (see"),
    ],
)
def test_an_unknown_command_is_told_with_those_that_are_like_it(xingqiao, typed, told):
    ended = xingqiao(typed, "list")

    assert (ended.code, told in ended.err) == (2, True), ended.err


def test_code_of_an_unknown_kind_is_refused_with_the_kinds_there_are(refused, tmp_path):
    file = tmp_path / "main.rb"
    file.write_text("def main(params) params end")

    line = refused("action", "create", "ruby", file, "--url", "http://127.0.0.1:1", "-u", "a:b")

    assert line.endswith(
        "give a .py, .js, .mjs, .cjs, .zip or .json file, or name the kind with --kind"
    )
