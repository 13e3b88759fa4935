"""`xingqiao attribute ...`: the attributes by which the executions of a namespace are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...actions import ATTRIBUTE_TYPES
from . import output
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client


@click.group()
def attribute() -> None:
    """Manage attributes: list, declare, delete.

    Executions are found by their attributes.
    """


@attribute.command("list")
@as_json
@connected
def list_(client: Client, *, as_json: bool) -> None:
    """List the attributes of the namespace with their types."""
    found = client.ask("GET", "attributes")
    if as_json:
        output.write_json(found)
        return
    rows = [(doc["name"], doc["type"]) for doc in found]
    output.table(("attribute", "type"), rows, "no attributes are declared")


@attribute.command(epilog="\b\nExample:\n  xingqiao attribute declare customer text")
@click.argument("name")
@click.argument("type", type=click.Choice(ATTRIBUTE_TYPES))
@as_json
@connected
def declare(client: Client, name: str, type: str, *, as_json: bool) -> None:
    """Declare the attribute NAME with a TYPE."""
    found = client.ask("PUT", f"attributes/{name}", body={"type": type})
    output.write_json(found) if as_json else output.done(f"{name} is declared as {type}")


@attribute.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the attribute NAME.

    Executions keep the values that they have, and are no longer found by them.
    """
    found = client.ask("DELETE", f"attributes/{name}")
    output.write_json(found) if as_json else output.done(f"{name} is deleted")
