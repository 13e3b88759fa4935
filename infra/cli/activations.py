"""`xingqiao activation ...`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from . import output
from .client import ACTIVATIONS, ApiError, annotations_of
from .following import Connection, new_records
from .options import UNITS, as_json, connected, period
from .times import Duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

SHOWN, PAGE = 30, 200
CAUSING = ("sequence", "composition")


@click.group()
def activation() -> None:
    """Show records of runs: list, get, logs, result, poll, cancel.

    An activation is one run of an action, or one firing of a trigger.
    """


@activation.command(
    "list", epilog="\b\nExample:\n  xingqiao activation list resize --status 'application error'"
)
@click.argument("name", required=False)
@click.option(
    "--status",
    help="Status: success, application error, action developer error, whisk internal error, 0 to 3, or waiting.",
)
@click.option(
    "--kind", help="Kind of the action: python:3, nodejs:20, sequence, composition or trigger."
)
@click.option("--cause", metavar="ID", help="Activation whose steps to list.")
@period
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True,
              help="Maximum number of activations to list.")  # fmt: skip
@click.option("--skip", type=click.IntRange(0), default=0, show_default=True,
              help="Number of activations to leave out at the start.")  # fmt: skip
@click.option("--full", "-f", is_flag=True, help="Show complete records.")
@as_json
@connected
def list_(client: Client, *, as_json: bool, full: bool, **query: Any) -> None:
    """List activations, the newest first.

    With NAME the list contains only the activations of that action.
    """
    found = client.ask("GET", "activations", docs=full or None, **query)
    if as_json:
        output.write_json(found)
        return
    if full:
        output.document(found)
        return
    rows = (
        (
            output.instant(doc["start"]),
            doc["activationId"],
            doc["name"],
            _kind(doc),
            output.status(output.status_of(doc)),
            output.duration(doc.get("duration")),
        )
        for doc in found
    )
    columns = ("start", "activation", "action", "kind", "status", "duration")
    output.table(columns, rows, "no activations")


def _kind(doc: dict[str, Any]) -> str:
    return str(annotations_of(doc).get("kind", "trigger"))


def _of_one(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the arguments that choose one activation."""
    last = click.option("--last", "-l", is_flag=True, help="Use the latest activation as ID.")
    return click.argument("id", required=False)(last(as_json(connected(command))))


def _record(client: Client, id: str | None, *, last: bool) -> dict[str, Any]:
    if last == (id is not None):
        raise click.UsageError("the activation is not clear: give either ID or --last")
    if id is None:
        found = client.ask("GET", "activations", limit=1)
        if not found:
            raise ApiError("there are no activations yet")
        id = found[0]["activationId"]
    record: dict[str, Any] = client.ask_run("GET", id, of=ACTIVATIONS)
    return record


@activation.command()
@click.argument("id", required=False)
@click.option("--last", "-l", is_flag=True, help="Use the latest activation as ID.")
@click.option("--tree", is_flag=True, help="Show the tree of activations below this activation.")
@as_json
@connected
def get(client: Client, id: str | None, *, last: bool, tree: bool, as_json: bool) -> None:
    """Show the record of the activation ID."""
    record = _record(client, id, last=last)
    if tree:
        made = _tree(client, record)
        output.write_json(made) if as_json else output.tree(made)
    else:
        output.write_json(record) if as_json else output.document(record)


def _tree(client: Client, record: dict[str, Any]) -> dict[str, Any]:
    """A short record, with the activations that it caused, in order, as `components`."""
    short = {
        "activationId": record["activationId"],
        "name": record["name"],
        "kind": _kind(record),
        "statusCode": record.get("statusCode", record.get("response", {}).get("statusCode")),
        **({"state": record["state"]} if "state" in record else {}),
        "duration": record.get("duration"),
    }
    if short["kind"] not in CAUSING:
        return short
    caused: list[dict[str, Any]] = []
    while True:
        page = client.ask(
            "GET", "activations", cause=record["activationId"], limit=PAGE, skip=len(caused)
        )
        caused += page
        if len(page) < PAGE:
            return {**short, "components": [_tree(client, doc) for doc in reversed(caused)]}


@activation.command()
@click.argument("id")
@as_json
@connected
def cancel(client: Client, id: str, *, as_json: bool) -> None:
    """Ask the running activation ID to stop."""
    answer = client.ask_run("DELETE", id, of=ACTIVATIONS)
    output.write_json(answer) if as_json else output.done(f"{id} is asked to stop")


@activation.command()
@_of_one
def logs(client: Client, id: str | None, *, last: bool, as_json: bool) -> None:
    """Show the log of the activation ID.

    The log of a composition contains the ids of its steps.
    """
    lines = _record(client, id, last=last)["logs"]
    if as_json:
        output.write_json(lines)
    else:
        for line in lines:
            click.echo(line)


@activation.command()
@_of_one
def result(client: Client, id: str | None, *, last: bool, as_json: bool) -> None:
    """Show the result of the activation ID."""
    record = _record(client, id, last=last)
    if "response" not in record:
        raise ApiError(
            f"{record['activationId']} waits for its callback: it has no result yet. "
            "`xingqiao execution complete` answers it"
        )
    made = record["response"]["result"]
    output.write_json(made) if as_json else output.document(made)


@activation.command()
@click.argument("name", required=False)
@click.option(
    "--exit",
    "seconds",
    type=Duration("s", 1),
    metavar="DURATION",
    help=f"Time to poll, in seconds, {UNITS} [default: no end].",
)
@as_json
@connected
def poll(client: Client, name: str | None, seconds: int | None, *, as_json: bool) -> None:
    """Poll for activations and show their logs, until interrupted.

    Each activation appears when it has ended, or waits for its callback. With NAME the command shows only
    the activations of that action. The command survives a restart of the server.
    """
    until_s = None if seconds is None else time.monotonic() + seconds
    connection = Connection(client)
    with output.waiting("polling for activations; press Ctrl-C to stop"):
        for record in new_records(connection, name, until_s):
            if as_json:
                output.write_json(connection.ask(f"activations/{record['activationId']}"))
            else:
                output.activation(record)
