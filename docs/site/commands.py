"""The page of all commands, made of their help."""

from __future__ import annotations

import re
from collections import Counter
from textwrap import dedent
from typing import TYPE_CHECKING

import click

from xingqiao.infra.cli.main import cli

from .markdown import cell, code, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEAD = """\
# Commands

This page has the help text of every command, as `--help` shows it. Options stand after the command
that they belong to. `-h` or `--help` shows the help of every command.

## Options of many commands

These options have the same meaning in every command that names them.

| option | effect |
|---|---|
"""
SHARED_BY = 10  # an option of so many commands is described once
_HELP = "-h, --help"


def page() -> str:
    """All commands as one page."""
    contexts = list(every())
    counted = Counter(row for context in contexts for row in _options(context))
    shared = [row for row, count in counted.items() if count >= SHARED_BY]
    return "\n".join([HEAD + "\n".join(shared), "", *(_section(each, shared) for each in contexts)])


def every() -> Iterator[click.Context]:
    """The contexts of `xingqiao` and of all its commands, each group before its commands."""
    yield from _below(click.Context(cli, info_name="xingqiao", **cli.context_settings))


def _below(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _below(click.Context(command, parent=context, info_name=name))


def _section(context: click.Context, shared: Sequence[str]) -> str:
    command, path = context.command, context.command_path
    depth = min(path.count(" ") + 1, 3)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"#{'#' * depth} {path}", "", f"```text\n{usage}\n```", "", _prose(command.help or "")]
    options = _options(context)
    if own := [row for row in options if row not in shared]:
        parts += ["| option | effect |", "|---|---|", *own, ""]
    if others := [row.split(" | ")[0].strip("| ") for row in options if row in shared]:
        parts += [f"Also {', '.join(others)}: see [above](#options-of-many-commands).", ""]
    if command.epilog:
        parts.append(_prose(command.epilog))
    return "\n".join(parts)


def _options(context: click.Context) -> list[str]:
    records = (param.get_help_record(context) for param in context.command.get_params(context))
    return [
        f"| {code(names)} | {cell(text)} |"
        for names, text in filter(None, records)
        if text and names != _HELP
    ]


def _prose(text: str) -> str:
    """A help text; its paragraphs that click must not wrap are shown as they are."""
    shown = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            title, _, lines = paragraph.lstrip("\b\n").partition("\n")
            shown.append(f"{plain(title)}\n\n```text\n{dedent(lines)}\n```")
        else:
            shown.append(plain(" ".join(paragraph.split())))
    return "\n\n".join(shown) + "\n"
