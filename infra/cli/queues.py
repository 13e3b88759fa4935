"""`xingqiao queue ...`: the queues whose tasks workers outside take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client

QUEUES = "queues"


@click.group()
def queue() -> None:
    """Manage task queues: list, get, set, unset.

    The tasks of an action with `queue=` wait until a worker takes them; see `xingqiao worker`.
    """


@queue.command("list")
@as_json
@connected
def list_(client: Client, *, as_json: bool) -> None:
    """List the queues with their backlogs and workers."""
    found = client.ask("GET", QUEUES)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (doc["name"], str(doc["backlog"]), output.age(doc), str(doc["underWay"]), _workers(doc),
         ", ".join(doc["actions"]))
        for doc in found
    ]  # fmt: skip
    titles = ("queue", "waiting", "oldest", "under way", "workers", "actions")
    output.table(titles, rows, "there are no queues")


@queue.command()
@click.argument("name")
@as_json
@connected
def get(client: Client, name: str, *, as_json: bool) -> None:
    """Show the backlog, the workers and the limits of the queue NAME."""
    found = client.ask_run("GET", name, of=QUEUES)
    output.write_json(found) if as_json else output.document(found)


@queue.command("set")
@click.argument("name")
@click.option("--concurrent", type=click.IntRange(1), help="Tasks under way at the same time.")
@click.option("--per-minute", type=click.IntRange(1), help="Tasks that begin in a minute.")
@click.option("--key-concurrent", type=click.IntRange(1), help="The same for each key.")
@click.option("--key-per-minute", type=click.IntRange(1), help="The same for each key.")
@click.option(
    "--weight",
    "weights",
    nargs=2,
    type=(str, click.IntRange(1)),
    multiple=True,
    metavar="KEY WEIGHT",
    help="Tasks of KEY in one of its turns [default: 1]. Repeatable.",
)
@as_json
@connected
def set_(client: Client, name: str, *, as_json: bool, **given: Any) -> None:
    """Replace the limits of the queue NAME.

    Tasks over a limit wait in order; none is refused. A limit that you leave out is removed.
    """
    each = _given(concurrent=given["key_concurrent"], per_minute=given["key_per_minute"])
    body = _given(
        concurrent=given["concurrent"], per_minute=given["per_minute"], each_key=each or None,
        weights=dict(given["weights"]) or None,
    )  # fmt: skip
    if not body:
        raise click.UsageError(f"Give a limit, or remove all of them with 'queue unset {name}'.")
    found = client.ask_run("PUT", name, of=QUEUES, body=body)
    output.write_json(found) if as_json else output.done(f"the limits of the queue {name} are set")


@queue.command()
@click.argument("name")
@as_json
@connected
def unset(client: Client, name: str, *, as_json: bool) -> None:
    """Remove the limits of the queue NAME; its tasks stay."""
    client.ask_run("DELETE", name, of=QUEUES)
    output.write_json({"name": name}) if as_json else output.done(f"the queue {name} has no limits")


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _workers(doc: dict[str, Any]) -> str:
    """The number of workers of each version."""
    counted = ((version, len(about["workers"])) for version, about in doc["workers"].items())
    return ", ".join(
        f"{count} ({version})" if version else str(count) for version, count in counted
    )
