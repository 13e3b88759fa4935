"""`xingqiao limit ...`: the limits that executions wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client

LIMITS = "limits"


@click.group()
def limit() -> None:
    """Manage limits that wait: list, get, set, delete.

    The parts of a `composer.limit` begin when a slot of the limit is free.
    """


@limit.command("list")
@as_json
@connected
def list_(client: Client, *, as_json: bool) -> None:
    """List the limits with their holders and waiting executions."""
    found = client.ask("GET", "waiting-limits")
    if as_json:
        output.write_json(found)
        return
    rows = [
        (doc["name"], _number(doc, "concurrent"), _number(doc, "per_minute"), doc["setBy"],
         str(doc["holders"]), str(doc["waiting"]), output.age(doc))
        for doc in found
    ]  # fmt: skip
    titles = ("limit", "concurrent", "per minute", "set by", "holders", "waiting", "oldest")
    output.table(titles, rows, "no limit is in use")


@limit.command()
@click.argument("name")
@as_json
@connected
def get(client: Client, name: str, *, as_json: bool) -> None:
    """Show the numbers, the holders and the line of the limit NAME."""
    found = client.ask_run("GET", name, of=LIMITS)
    output.write_json(found) if as_json else output.document(found)


@limit.command("set")
@click.argument("name")
@click.option("--concurrent", type=click.IntRange(1), help="Slots of each key.")
@click.option("--per-minute", type=click.IntRange(1), help="Slots given in a minute to each key.")
@click.option("--unlimited", is_flag=True, help="Remove all bounds: nobody waits.")
@as_json
@connected
def set_(client: Client, name: str, *, unlimited: bool, as_json: bool, **given: Any) -> None:
    """Set the numbers of the limit NAME.

    They replace those of compositions, also for executions that wait. A number that you leave out bounds nothing.
    """
    body = {option: value for option, value in given.items() if value is not None}
    if bool(body) == unlimited:
        raise click.UsageError(
            "Give --concurrent, --per-minute or both, or --unlimited to remove all bounds."
        )
    found = client.ask_run("PUT", name, of=LIMITS, body=body)
    output.write_json(found) if as_json else output.done(f"the numbers of the limit {name} are set")


@limit.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Let the numbers of compositions count again for the limit NAME."""
    client.ask_run("DELETE", name, of=LIMITS)
    text = f"the numbers of compositions count for the limit {name}"
    output.write_json({"name": name}) if as_json else output.done(text)


def _number(doc: dict[str, Any], name: str) -> str:
    return str(doc.get(name, ""))
