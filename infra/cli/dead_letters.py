"""`xingqiao dead-letter ...`: calls without a waiting caller that failed permanently."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected, pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .client import Client


@click.group("dead-letter")
def dead_letter() -> None:
    """Manage calls that failed permanently: list, get, retry, delete.

    A dead letter is a signal, an asynchronous call or a rule's call that failed after all its retries.
    """


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
@as_json
@connected
def get(client: Client, id: str, *, as_json: bool) -> None:
    """Show the dead letter ID and its parameters as JSON."""
    found = client.ask("GET", f"dead-letters/{id}")
    output.write_json(found) if as_json else output.document(found)


@dead_letter.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@as_json
@connected
def retry(client: Client, ids: tuple[str, ...], *, as_json: bool) -> None:
    """Retry each dead letter ID.

    A call is made again; an execution continues from the step that failed. Look at `mayHaveRun` first
    (xingqiao dead-letter get ID): if it is true, side effects can happen twice. With --json the
    command prints a list with one entry per retried dead letter.
    """
    with _listed(as_json=as_json) as answers:
        for id in ids:
            found = client.ask("POST", f"dead-letters/{id}/retry")
            answers.append(found)
            if not as_json:
                activation = found["activationId"]
                what = (
                    f"activation {activation}" if activation else "no rule of the trigger is active"
                )
                output.done(f"dead letter {id} is retried: {what}")


@dead_letter.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@as_json
@connected
def delete(client: Client, ids: tuple[str, ...], *, as_json: bool) -> None:
    """Delete each dead letter ID; deleted calls cannot be retried.

    With --json the command prints a list with one entry per deleted dead letter.
    """
    with _listed(as_json=as_json) as answers:
        for id in ids:
            answers.append(client.ask("DELETE", f"dead-letters/{id}"))
            if not as_json:
                output.done(f"dead letter {id} is deleted")


@contextmanager
def _listed(*, as_json: bool) -> Iterator[list[Any]]:
    """Yields a list to fill, and writes it as JSON, also after an error that leaves a part undone."""
    answers: list[Any] = []
    try:
        yield answers
    finally:
        if as_json and answers:
            output.write_json(answers)
