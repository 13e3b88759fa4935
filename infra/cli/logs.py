"""`xingqiao logs`: the logs of all actions of the namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..clock import SystemClock
from . import output
from .completion import action_names
from .following import Connection, namespace_logs, show_lines
from .options import as_json, connected
from .times import Instant

if TYPE_CHECKING:
    from .client import Client

SINCE_MS = 10 * 60_000  # the logs that are shown unless --since is given


@click.command(
    epilog="\b\nExamples:\n  xingqiao logs -f\n  xingqiao logs --action resize --since 2h"
)
@click.option("--follow", "-f", is_flag=True, help="Show new lines until Ctrl-C.")
@click.option(
    "--action",
    "name",
    shell_complete=action_names,
    help="Name of the action, with its package [default: any].",
)
@click.option(
    "--since",
    type=Instant(),
    metavar="TIME",
    help="Earliest start of the activations: a time ago such as 2h, or local time such as "
    "2026-11-22T21:00 [default: 10m].",
)
@as_json
@connected
def logs(
    client: Client, *, follow: bool, name: str | None, since: int | None, as_json: bool
) -> None:
    """Show the logs of all actions, in the order of time.

    Each line begins with its time, the name of its action and the last digits of its activation's id. The
    lines of an activation appear when it has ended, or waits for its callback. With --follow the command
    survives a restart of the server.
    """
    since_ms = SystemClock.now_ms() - SINCE_MS if since is None else since
    shown = False
    for lines, _ in namespace_logs(Connection(client), name, since_ms):
        if as_json:
            for line in lines:
                output.write_json(line.to_json())
        else:
            show_lines(lines)
        shown = shown or bool(lines)
        if not follow:
            break
    if not (shown or as_json):
        output.remark("no logs: choose an earlier time with --since, or wait for new lines with -f")
