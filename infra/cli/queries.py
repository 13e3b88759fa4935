"""`xingqiao execution query`: asks an execution about its state."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from . import output
from .completion import execution_ids
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client


@click.command(epilog="\b\nExample:\n  xingqiao execution query ID progress")
@click.argument("id", shell_complete=execution_ids)
@click.argument("name", required=False)
@click.option(
    "--reject",
    type=click.Choice(["closed", "failed"]),
    help="Refuse an execution that has ended, or that has ended without success.",
)
@as_json
@connected
def query(client: Client, id: str, name: str | None, reject: str | None, *, as_json: bool) -> None:
    """Ask the execution ID for the answer to the query NAME.

    The composition declares its queries. Every execution has the queries $fibers, $inbox and $variables.
    Without NAME the command lists the queries. A query changes nothing and is not recorded.
    """
    if name is None:
        names = client.ask_run("GET", id, "/queries")
        output.write_json(names) if as_json else click.echo("\n".join(names))
        return
    found = client.ask_run("GET", id, f"/queries/{quote(name)}", reject=reject)
    output.write_json(found if as_json else found["answer"])
