"""`xingqiao dead-letter ...`: calls that nobody waited for, and that failed for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected, pages

if TYPE_CHECKING:
    from .client import Client


@click.group("dead-letter")
def dead_letter() -> None:
    """Signals, asynchronous calls and rules' calls that failed for good: list, get, retry, delete."""


@dead_letter.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **query: Any) -> None:
    """List dead letters, the newest first."""
    found = client.ask("GET", "dead-letters", **query)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.instant(doc["at"]), doc["id"], doc["kind"], doc["target"], doc["code"],
         str(doc["attempts"]))
        for doc in found
    ]  # fmt: skip
    titles = ("at", "dead letter", "kind", "target", "error", "attempts")
    output.table(titles, rows, "there are no dead letters")


@dead_letter.command()
@click.argument("id")
@connected
def get(client: Client, id: str) -> None:
    """Show the dead letter ID as JSON, with the parameters of its call."""
    output.write_json(client.ask("GET", f"dead-letters/{id}"))


@dead_letter.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@as_json
@connected
def retry(client: Client, ids: tuple[str, ...], *, as_json: bool) -> None:
    """Send dead letters again: a call is made anew, an execution goes on from where it failed.

    Look at mayHaveRun first: what has run, or may have, runs again.
    """
    for id in ids:
        found = client.ask("POST", f"dead-letters/{id}/retry")
        if as_json:
            output.write_json(found)
        else:
            output.done(f"dead letter {id} is sent again: activation {found['activationId']}")


@dead_letter.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@as_json
@connected
def delete(client: Client, ids: tuple[str, ...], *, as_json: bool) -> None:
    """Delete dead letters: they are not sent again."""
    for id in ids:
        found = client.ask("DELETE", f"dead-letters/{id}")
        if as_json:
            output.write_json(found)
        else:
            output.done(f"dead letter {id} is deleted")
