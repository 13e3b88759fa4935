"""The page of all commands, made of their help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from xingqiao.infra.cli.main import cli

from .markdown import cell, code, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = """\
# Commands

This page has the help text of every command, as `--help` shows it. Options stand after the command
that they belong to.
"""


def page() -> str:
    """All commands as one page."""
    return "\n".join([HEAD, *(_section(context) for context in every())])


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


def _section(context: click.Context) -> str:
    command, path = context.command, context.command_path
    depth = min(path.count(" ") + 1, 3)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"#{'#' * depth} {path}", "", f"```text\n{usage}\n```", "", _prose(command.help or "")]
    if options := _options(context):
        parts += ["| option | effect |", "|---|---|", *options, ""]
    if command.epilog:
        parts.append(_prose(command.epilog))
    return "\n".join(parts)


def _options(context: click.Context) -> list[str]:
    records = (param.get_help_record(context) for param in context.command.get_params(context))
    return [f"| {code(names)} | {cell(text)} |" for names, text in filter(None, records)]


def _prose(text: str) -> str:
    """A help text; its paragraphs that click must not wrap are shown as they are."""
    shown = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            title, _, lines = paragraph.lstrip("\b\n").partition("\n")
            shown.append(f"{plain(title)}\n\n```text\n{lines}\n```")
        else:
            shown.append(plain(" ".join(paragraph.split())))
    return "\n\n".join(shown) + "\n"
