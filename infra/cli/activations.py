"""`xingqiao activation ...`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from . import output
from .client import ApiError
from .options import as_json, connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

LOOK_S = 0.5  # between two looks of `poll`
SHOWN, PAGE = 30, 200
CAUSING = ("sequence", "composition")


@click.group()
def activation() -> None:
    """Activations, the records of what has run: list, get, logs, result, poll, cancel."""


@activation.command("list")
@click.argument("name", required=False)
@click.option("--status", help="success, application error, ..., or 0 to 3.")
@click.option(
    "--kind", help="Kind of action that ran: python:3, nodejs:20, sequence, composition, trigger."
)
@click.option("--cause", help="Activation that they are steps of.")
@click.option("--since", type=int, help="Milliseconds since the epoch.")
@click.option("--upto", type=int, help="Milliseconds since the epoch.")
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True)
@click.option("--skip", type=click.IntRange(0), default=0)
@click.option("--full", "-f", is_flag=True, help="Whole records.")
@as_json
@connected
def list_(client: Client, *, as_json: bool, full: bool, **query: Any) -> None:
    """List activations, the newest first, those of the action NAME if it is given."""
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
            output.status("succeeded" if not doc["statusCode"] else "failed"),
            output.duration(doc.get("duration")),
        )
        for doc in found
    )
    columns = ("start", "activation", "action", "kind", "status", "duration")
    output.table(columns, rows, "no activations")


def _kind(doc: dict[str, Any]) -> str:
    notes = {note["key"]: note["value"] for note in doc["annotations"]}
    return str(notes.get("kind", "trigger"))


def _of_one(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments of a command about one activation."""
    last = click.option("--last", "-l", is_flag=True, help="The last one, in place of ID.")
    return click.argument("id", required=False)(last(as_json(connected(command))))


def _record(client: Client, id: str | None, *, last: bool) -> dict[str, Any]:
    if last == (id is not None):
        raise click.UsageError("give either an ID or --last")
    if id is None:
        found = client.ask("GET", "activations", limit=1)
        if not found:
            raise ApiError("there are no activations yet")
        id = found[0]["activationId"]
    record: dict[str, Any] = client.ask("GET", f"activations/{id}")
    return record


@activation.command()
@click.argument("id", required=False)
@click.option("--last", "-l", is_flag=True, help="The last one, in place of ID.")
@click.option("--tree", is_flag=True, help="Show the whole tree of activations below this one.")
@as_json
@connected
def get(client: Client, id: str | None, *, last: bool, tree: bool, as_json: bool) -> None:
    """Show the record ID."""
    record = _record(client, id, last=last)
    if tree:
        made = _tree(client, record)
        output.write_json(made) if as_json else output.tree(made)
    else:
        output.write_json(record) if as_json else output.document(record)


def _tree(client: Client, record: dict[str, Any]) -> dict[str, Any]:
    """A record in short, with what it has caused as `components`, in order."""
    short = {
        "activationId": record["activationId"],
        "name": record["name"],
        "kind": _kind(record),
        "statusCode": record.get("statusCode", record.get("response", {}).get("statusCode")),
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
@connected
def cancel(client: Client, id: str) -> None:
    """Ask the run ID, which has not ended, to stop."""
    client.ask("DELETE", f"activations/{id}")
    output.done(f"{id} is asked to stop")


@activation.command()
@_of_one
def logs(client: Client, id: str | None, *, last: bool, as_json: bool) -> None:
    """Show what ID has written; of a composition, the ids of its steps."""
    lines = _record(client, id, last=last)["logs"]
    if as_json:
        output.write_json(lines)
    else:
        for line in lines:
            click.echo(line)


@activation.command()
@_of_one
def result(client: Client, id: str | None, *, last: bool, as_json: bool) -> None:
    """Show the result of ID."""
    made = _record(client, id, last=last)["response"]["result"]
    output.write_json(made) if as_json else output.document(made)


@activation.command()
@click.argument("name", required=False)
@click.option("--exit", "seconds", type=click.IntRange(1), help="Seconds after which to end.")
@as_json
@connected
def poll(client: Client, name: str | None, seconds: int | None, *, as_json: bool) -> None:
    """Show activations with their logs as they end, until interrupted."""
    seen: set[str] = set()
    since_ms = int(time.time() * 1000)
    until = None if seconds is None else time.monotonic() + seconds
    with output.waiting("polling for activations; Ctrl-C ends it"):
        while until is None or time.monotonic() < until:
            found = client.ask(
                "GET", "activations", name=name, since=since_ms, docs=True, limit=200
            )
            for record in reversed([doc for doc in found if doc["activationId"] not in seen]):
                seen.add(record["activationId"])
                output.write_json(record) if as_json else output.activation(record)
            time.sleep(LOOK_S)
