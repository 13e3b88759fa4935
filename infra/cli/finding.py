"""Options and commands that describe executions, find them by filters, and count them."""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from . import output
from .completion import execution_ids
from .options import as_json, connected, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON
    from .client import Client

Command = TypeVar("Command", bound="Callable[..., Any]")

attribute_option = click.option(
    "--attribute", "-A", multiple=True, metavar="NAME=VALUE",
    help="Attribute to find the execution by. The value is read as JSON, else as plain text. Repeatable.",
)  # fmt: skip
memo_option = click.option("--memo", help="Note to show with the execution. It is read as JSON, else as plain text.")  # fmt: skip
where = click.option("--where", metavar="FILTER", help="Filter, such as \"status = 'failed' and customer in ('a', 'b') "
                     'order by started desc".')  # fmt: skip


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command that starts an execution `--attribute` and `--memo`; both become options of the start."""

    @attribute_option
    @memo_option
    @wraps(command)
    def with_description(
        *args: Any, attribute: tuple[str, ...], memo: str | None, **options: Any
    ) -> Any:
        given = description_of(attribute, memo)
        query = {name: json.dumps(value) for name, value in given.items()}
        return command(*args, **options, **query)

    return with_description


def description_of(attribute: Iterable[str], memo: str | None) -> dict[str, JSON]:
    given: dict[str, JSON] = {}
    if pairs := [_pair(text) for text in attribute]:
        given["attributes"] = values(pairs)
    if memo is not None:
        given |= values([("memo", memo)])
    return given


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.UsageError(f"--attribute: {text!r} has no '=': write NAME=VALUE")
    return name, value


def page(client: Client, query: dict[str, Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Returns executions that a filter finds, and the cursor of the next page, if there is one."""
    if query.pop("skip", 0):
        raise click.UsageError("--skip does not go with --where: use --after")
    found = client.ask("GET", "executions", **query)
    return found["executions"], found.get("next")


@click.command(
    epilog="\b\nExample:\n  xingqiao execution count --where \"action = 'order'\" --group status"
)
@where
@click.option("--group", type=click.Choice(["status"]), help="Count the executions in each status.")
@as_json
@connected
def count(client: Client, where: str | None, group: str | None, *, as_json: bool) -> None:
    """Count the executions that a filter finds."""
    found = client.ask("GET", "executions/count", where=where or "", group=group)
    if as_json:
        output.write_json(found)
    elif group is None:
        click.echo(found["count"])
    else:
        rows = [(output.status(status), str(number)) for status, number in found["groups"].items()]
        output.table(("status", "executions"), [*rows, ("total", str(found["count"]))], "")


@click.command(
    epilog="\b\nExample:\n  xingqiao execution annotate ID -A customer=anna -A paid=true"
)
@click.argument("id", shell_complete=execution_ids)
@attribute_option
@memo_option
@as_json
@connected
def annotate(
    client: Client, id: str, attribute: tuple[str, ...], memo: str | None, *, as_json: bool
) -> None:
    """Set attributes and the memo of the execution ID.

    The execution may have ended. The value null removes an attribute. Other attributes stay as they are.
    """
    given = description_of(attribute, memo)
    if not given:
        raise click.UsageError("nothing to set: give --attribute or --memo")
    found = client.ask_run("POST", id, "/annotate", body=given)
    output.write_json(found) if as_json else output.done(f"{found['executionId']} is annotated")
