"""The page of all commands."""

from __future__ import annotations

import re

from docs.site import commands
from xingqiao.infra.cli.main import COMMANDS

PAGE = commands.page()


def test_every_command_has_a_section():
    sections = re.findall(r"^#+ (xingqiao.*)$", PAGE, flags=re.MULTILINE)
    paths = [context.command_path for context in commands.every() if not context.command.hidden]

    assert sections == paths
    shown = {path.split()[1] for path in paths if " " in path}
    assert set(COMMANDS) - shown == {"api"}  # it only says that the server has no API gateway


def test_a_section_has_the_usage_the_text_and_the_options():
    section = PAGE.partition("#### xingqiao execution redrive\n")[2].partition("\n#")[0]

    assert "xingqiao execution redrive [OPTIONS] ID" in section
    assert "Steps that succeeded do not run again." in section
    assert "| `--file PATH` | File with a corrected composition to continue with. |" in section


def test_options_of_many_commands_are_described_once():
    assert PAGE.count("| Print JSON, for programs. |") == 1
    assert "Also `--json`, `--url, --apihost TEXT`" in PAGE
