"""`xingqiao doctor`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from . import output
from .options import as_json

if TYPE_CHECKING:
    from ..service import Finding

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command()
@click.option(
    "--data", type=click.Path(path_type=Path), help="Data directory [default: .xingqiao]."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "process", "bubblewrap", "none"]),
    help="Isolation of user code to check [default: auto].",
)
@as_json
def doctor(data: Path | None, isolation: str | None, *, as_json: bool) -> int:
    """Check that this machine is ready for a server.

    The checks cover isolation, Node.js, file modes and limits. Give the same options and XINGQIAO_...
    variables as to `xingqiao serve`. Each check ends as ok, warn or fail; warn and fail show a fix. The
    exit code is 1 if a check fails. A server may be running or not.
    """
    from ..service import examine  # noqa: PLC0415  it needs what runs actions
    from ..settings import Settings  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, data=data, isolation=isolation)
    findings = []
    for finding in examine(settings):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        output.write_json([finding.to_json() for finding in findings])
    return int(any(finding.state == "fail" for finding in findings))


def _show(finding: Finding) -> None:
    mark, colour = _MARKS[finding.state]
    title = Text(f"{finding.check}: ", style="bold")
    output.console().print(Text(f"{mark} ", style=colour) + title + Text(finding.text))
    if finding.fix:
        output.console().print(Text(f"  fix: {finding.fix}"))
    if finding.rows:
        rows = [(f"  {what}", how) for what, how in finding.rows]
        output.table(("user code tries to", "result"), rows, "")
