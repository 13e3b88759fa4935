"""`xingqiao execution tell` and `messages`: messages to executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from . import output
from .completion import execution_ids
from .options import as_json, connected, parameters, payload_of, values
from .standing import short

if TYPE_CHECKING:
    from .client import Client

ENTRIES_SHOWN = 100


@click.command(epilog="\b\nExample:\n  xingqiao execution tell ID approved -p by anna")
@click.argument("id", shell_complete=execution_ids)
@click.argument("name")
@parameters
@click.option("--payload", help="Payload as JSON, in place of parameters.")
@click.option("--message-id", help="Message id. A message with the same id is taken once.")
@click.option(
    "--start",
    metavar="ACTION",
    help="Composition to start, with the id ID, if no execution with this id is open.",
)
@click.option(
    "--input",
    "inputs",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Parameter of the start. Repeatable.",
)
@as_json
@connected
def tell(  # noqa: PLR0913  a message has as many sides
    client: Client,
    id: str,
    name: str,
    *,
    params: dict[str, Any],
    payload: str | None,
    message_id: str | None,
    start: str | None,
    inputs: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Tell the execution ID the message NAME.

    The parameters are the payload of the message. A part `receive` of the composition receives the message at once,
    or later.
    """
    body = payload_of(payload, params)
    if start is not None:
        body = {"input": values(inputs), "payload": body}
    elif inputs:
        raise click.UsageError("--input: it is the input of a start: give --start, too")
    path = f"/messages/{quote(name, safe='')}"
    told = client.ask_run("POST", id, path, body=body, message=message_id, start=start)
    if as_json:
        output.write_json(told)
    elif told.get("started"):
        output.done(f"{id} has started as {told['executionId']}, and is told {name}")
    elif told.get("replayed"):
        output.done(f"{id} was told this message before")
    else:
        output.done(f"{id} is told {name}")


@click.command()
@click.argument("id", shell_complete=execution_ids)
@click.option("--limit", type=click.IntRange(1, 1000), default=ENTRIES_SHOWN, show_default=True,
              help="Maximum number of messages to list.")  # fmt: skip
@as_json
@connected
def messages(client: Client, id: str, *, limit: int, as_json: bool) -> None:
    """List the messages that the execution ID has not received yet.

    The oldest come first.
    """
    found = client.ask_run("GET", id, "/messages", limit=limit)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (message["seq"], message["name"], message.get("id", ""), short(message.get("payload")))
        for message in found
    ]
    output.table(("entry", "name", "id", "payload"), rows, "no undelivered messages")
