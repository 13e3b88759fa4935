"""The help of every command: its rules are those of CONTRIBUTING.md, "Writing"."""

from __future__ import annotations

import re

import click
import pytest

from xingqiao.infra.cli.main import cli

PREPOSITIONS = "About|After|As|At|Before|Below|By|During|For|From|In|Into|Like|Of|On|Out|Over|To|Under|Until|With"
CLAUSES = "How|That|What|When|Where|Whether|Which|Who|Whose|Why"
TERMINAL = 80  # columns
SUMMARY = TERMINAL - len("  dead-letter    ")  # columns that a list of commands leaves to a summary


def commands(command, path=("xingqiao",), parent=None):
    """Every command of a tree with its context, the groups included."""
    context = click.Context(command, info_name=path[-1], parent=parent, terminal_width=TERMINAL)
    yield " ".join(path), context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            yield from commands(below, (*path, name), context)


COMMANDS = dict(commands(cli))
EVERY = pytest.mark.parametrize("path", COMMANDS)


def params(path, kind):
    return [param for param in COMMANDS[path].command.params if isinstance(param, kind)]


@EVERY
def test_every_option_has_a_help_text_that_is_a_sentence(path):
    for option in params(path, click.Option):
        if not option.hidden:
            text = option.help or ""
            assert re.match(r"[A-Z]", text), (
                f"{option.name}: {text!r} begins with no capital letter"
            )
            assert not re.match(rf"({PREPOSITIONS}|{CLAUSES})\b", text), f"{option.name}: {text!r}"
            assert text.endswith("."), f"{option.name}: {text!r} ends without a full stop"


@EVERY
def test_every_argument_is_named_in_the_help(path):
    command = COMMANDS[path].command
    for argument in params(path, click.Argument):
        name = (argument.metavar or argument.name or "").upper().removesuffix("...")
        for part in name.split("|"):
            assert re.search(rf"\b{part}\b", command.help or ""), f"{part} is not in the help"


@EVERY
def test_every_help_begins_with_a_verb_in_a_summary_of_one_line(path):
    command = COMMANDS[path].command
    summary = (command.help or "").partition("\n\n")[0]

    assert re.match(r"[A-Z][a-z]+\b", summary), summary
    assert not re.match(rf"({PREPOSITIONS}|{CLAUSES}|A|All|An|The|Its)\b", summary), summary
    assert not re.match(r"[A-Z][a-z]+s(,|\b)", summary), f"{summary!r} begins with no imperative"
    assert summary.endswith("."), summary
    if not command.hidden and command is not cli:
        assert len(summary.splitlines()) == 1, summary
        assert len(command.get_short_help_str(200)) <= SUMMARY, summary


@EVERY
def test_a_command_of_several_arguments_or_of_json_shows_an_example(path):
    words = len(params(path, click.Argument))
    reads_json = any(option.name in ("pairs", "result") for option in params(path, click.Option))
    if words > 1 or reads_json:
        context = COMMANDS[path]
        if not {"get", "delete"} & {context.info_name}:
            assert f"  {path.replace('action invoke', 'invoke')} " in (context.command.epilog or "")
