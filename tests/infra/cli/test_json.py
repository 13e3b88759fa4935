"""`--json`: one document on standard output, and nothing else."""

from __future__ import annotations

import os
import subprocess

import click
import pytest

from tests.kit.infra.servers import AUTH, XINGQIAO
from xingqiao import composer
from xingqiao.infra.cli.main import cli

TEXTS = {
    "schema",
    "serve",
    "worker",
    "dev",
    "show",
    "export",
    "completion",
}  # texts for programs, or for people alone


UNKNOWN = "0" * 32


def leaves(command, path=()):
    """Every command that is not a group, by its path."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), (*path, name))
    elif not command.hidden:
        yield " ".join(path), command


@pytest.mark.parametrize(("path", "command"), [*leaves(cli)], ids=str)
def test_every_command_that_is_not_a_text_for_a_program_has_it(path, command):
    options = {option for param in command.params for option in param.opts}

    assert ("--json" in options) == (path not in TEXTS)


def test_a_run_is_cancelled(xingqiao, composition):
    composition("js_wait", composer.sequence(composer.wait(3600)))
    id = xingqiao("invoke", "js_wait", "--json").json["activationId"]

    assert xingqiao("activation", "cancel", id, "--json").json == {"activationId": id}


def test_a_secret_is_set_and_deleted(xingqiao, tmp_path):
    file = tmp_path / "secret.txt"
    file.write_text("id:key")

    assert xingqiao("secret", "set", "js", "--file", file, "--json").json == {"name": "js"}
    assert xingqiao("secret", "delete", "js", "--json").json == {"name": "js"}


def test_several_dead_letters_are_one_document(xingqiao):
    ended = xingqiao("dead-letter", "delete", UNKNOWN, "--json")

    assert (ended.code, ended.out) == (5, "")


def test_a_key_is_new(command):
    assert set(command("key", "new", "--json").json) == {"key"}


def test_a_bundle_is_written(command, tmp_path):
    file, out = tmp_path / "greeting.py", tmp_path / "out"
    file.write_text("from xingqiao import composer\ngreet = composer.literal({})\n")

    made = command("bundle", file, "--target", "openwhisk", "--out", out, "--json").json

    assert (made["target"], made["out"]) == ("openwhisk", str(out))
    assert any("wsk action update" in line for line in made["next"])


def test_a_file_that_prints_when_it_is_read_leaves_standard_output_alone(xingqiao, tmp_path):
    file = tmp_path / "chatty.py"
    file.write_text("print('reading')\ndef main(params):\n    return params\n")

    ended = xingqiao("deploy", file, "--json")

    assert [document["name"] for document in ended.json["actions"]] == ["chatty"]
    assert ended.err == "reading\n"


@pytest.mark.parametrize(
    "arguments",
    [("namespace", "delete", "js_gone"), ("transaction", "commit", "x", "--reason", "r")],
)
def test_a_confirmation_is_asked_on_standard_error(server, arguments):
    environment = {**os.environ, "XINGQIAO_URL": server.url, "XINGQIAO_AUTH": AUTH}

    ended = subprocess.run(
        [XINGQIAO, *arguments, "--json"], env=environment, input="n\n", capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ended.stdout == ""
    assert "Continue? [y/N]" in ended.stderr
    assert ended.returncode == 130
