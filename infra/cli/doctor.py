"""`xingqiao doctor`."""

from __future__ import annotations

import os
from contextlib import closing
from email.utils import parsedate_to_datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from ..clock import SystemClock
from . import output
from .client import tls_context
from .connection import FAILURES, Connection, ProxyError
from .options import as_json, ca_option

if TYPE_CHECKING:
    from ..service import Finding

WAIT_S = 5.0  # seconds for an answer of the server
CLOCKS_S = 2.0  # seconds that two clocks may differ
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
@click.option("--url", help="URL of a server whose clock to compare with this machine's.")
@ca_option
@as_json
def doctor(
    data: Path | None, isolation: str | None, url: str | None, ca: str | None, *, as_json: bool
) -> int:
    """Check that this machine is ready for a server.

    The checks cover isolation, workers, Node.js, installers, the store, the disk, the clock, the port, file
    modes and limits. Give the same options and XINGQIAO_... variables as to `xingqiao serve`. Each check
    ends as ok, warn or fail; warn and fail show a fix. The exit code is 1 if a check fails. A server may be
    running or not; nothing is changed.
    """
    from ..service import examine  # noqa: PLC0415  it needs what runs actions
    from ..settings import Settings  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, data=data, isolation=isolation)
    findings = []
    found = examine(settings) if url is None else chain(examine(settings), [_clock_of(url, ca)])
    for finding in found:
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        output.write_json([finding.to_json() for finding in findings])
    return int(any(finding.state == "fail" for finding in findings))


def _clock_of(url: str, ca: str | None) -> Finding:
    """Compares the clock of a server with the clock of this machine."""
    from ..service import Finding  # noqa: PLC0415  it needs what runs actions

    place = url.rstrip("/")
    try:
        began_ms = SystemClock.now_ms()
        context = None if ca is None else tls_context(ca)
        with closing(Connection(place, timeout_s=WAIT_S, context=context)) as connection:
            answer = connection.request("GET", "/ping", None, {})
        took_ms = SystemClock.now_ms() - began_ms
        told = parsedate_to_datetime(answer.headers["date"] or "none")
    except (*FAILURES, ProxyError, ValueError) as error:
        text = f"The server at {place} does not tell its time: {error}."
        return Finding(check="server clock", state="fail", text=text, fix="check --url and --ca")
    # The header has whole seconds, cut off: the server's time is up to 1 s later.
    ahead_s = told.timestamp() + 0.5 - (began_ms + took_ms / 2) / 1000
    text = f"The clock of the server at {place} differs from this machine's by {ahead_s:+.1f} s."
    if abs(ahead_s) - 0.5 - took_ms / 2000 > CLOCKS_S:
        fix = (
            "keep the clocks of both machines with NTP: signatures of requests expire by the clock"
        )
        return Finding(check="server clock", state="warn", text=text, fix=fix)
    return Finding(check="server clock", state="ok", text=text)


def _show(finding: Finding) -> None:
    mark, colour = _MARKS[finding.state]
    title = Text(f"{finding.check}: ", style="bold")
    output.console().print(Text(f"{mark} ", style=colour) + title + Text(finding.text))
    if finding.fix:
        output.console().print(Text(f"  fix: {finding.fix}"))
    if finding.rows:
        rows = [(f"  {what}", how) for what, how in finding.rows]
        output.table(("user code tries to", "result"), rows, "")
