"""`xingqiao entity ...`: stateful functions, by type and key."""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from . import output
from .options import UNITS, as_json, connected, parameters
from .times import Duration, zoned

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

Place: TypeAlias = tuple[str, str]  # type and key

OK, ACCEPTED = 200, 202
ENTITIES = "entities"
WAIT_MS = 20_000  # time that one request waits for the end of a call
SHOWN = 30


@click.group()
def entity() -> None:
    """Manage entities: list, get, call, signal, delete.

    An entity is the state of a stateful function for one key.
    """


@entity.command("list", epilog="\b\nExample:\n  xingqiao entity list account --prefix eu- --docs")
@click.argument("type", required=False)
@click.option("--prefix", help="Prefix of the keys [default: any].")
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True,
              help="Maximum number of entries to list.")  # fmt: skip
@click.option("--after", metavar="KEY", help="List only the keys after KEY.")
@click.option("--docs", is_flag=True, help="Show the states too.")
@as_json
@connected
def list_(client: Client, type: str | None, *, as_json: bool, **query: Any) -> None:
    """List the entities of TYPE, or all entity types."""
    if type is None:
        _list_types(client, query, as_json=as_json)
        return
    page = client.ask_named("GET", ENTITIES, f"{type}/keys", **query)
    if as_json:
        output.write_json(page)
        return
    columns = ["key", "version", "updated", "flag"]
    rows = [
        [doc["key"], doc["version"], output.instant(doc["updated"]), doc.get("flag", "")]
        for doc in page["entities"]
    ]
    if query["docs"]:
        columns.append("state")
        for row, doc in zip(rows, page["entities"], strict=True):
            row.append(json.dumps(doc["state"], ensure_ascii=False))
    output.table(columns, rows, "no entities")
    if "next" in page:
        shown = json.dumps(page["next"], ensure_ascii=False)
        click.echo(f"there may be more; continue with --after {shown}")


def _list_types(client: Client, query: dict[str, Any], *, as_json: bool) -> None:
    for option in ("prefix", "after", "docs"):
        if query[option]:
            raise click.UsageError(
                f"--{option} needs a TYPE: give the type of the entities as well"
            )
    found = client.ask("GET", ENTITIES, limit=query["limit"])
    if as_json:
        output.write_json(found)
        return
    rows = [(_type(doc), doc["version"], output.instant(doc["updated"])) for doc in found]
    output.table(("type", "version", "updated"), rows, "no entity types")


def _type(doc: dict[str, Any]) -> str:
    package = doc["namespace"].partition("/")[2]
    return f"{package}/{doc['name']}" if package else str(doc["name"])


@entity.command()
@click.argument("type")
@click.argument("key")
@as_json
@connected
def get(client: Client, type: str, key: str, *, as_json: bool) -> None:
    """Show the entity KEY of TYPE without waiting for calls."""
    _, found = client.ask_entity("GET", type, key)
    output.write_json(found) if as_json else output.document(found)


def _operation(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command an operation: the entity as `place`, the request as `body`."""

    @click.argument("type")
    @click.argument("key")
    @click.argument("operation")
    @parameters
    @click.option(
        "--read", is_flag=True, help="Read only: the operation does not change the state."
    )
    @click.option(
        "--expected-version",
        type=click.IntRange(0),
        help="Version that the entity must have; otherwise the operation fails [default: any].",
    )
    @click.option(
        "--token", help="Idempotency key: requests with the same token run the operation once."
    )
    @wraps(command)
    def with_operation(
        type: str, key: str, operation: str, params: dict[str, Any], **options: Any
    ) -> Any:
        body = {"operation": operation, "params": params}
        for field in ("read", "expected_version", "token"):
            value = options.pop(field)
            if value is not None and value is not False:
                body[field] = value
        return command(place=(type, key), body=body, **options)

    return with_operation


@entity.command(epilog="\b\nExample:\n  xingqiao entity call account alice deposit -p amount 5")
@_operation
@as_json
@connected
def call(client: Client, *, place: Place, body: dict[str, Any], as_json: bool) -> int:
    """Call OPERATION of the entity KEY of TYPE; show the result.

    The exit code is 1 if the operation fails.
    """
    succeeded, result = _wait_for_end(client, "POST", place, body)
    output.write_json(result) if as_json else output.document(result)
    return 0 if succeeded else 1


@entity.command(
    epilog="\b\nExample:\n  xingqiao entity signal account alice close -p fee 1 --after 3600"
)
@_operation
@click.option(
    "--after",
    type=Duration("s", 0),
    metavar="DURATION",
    help=f"Time before the signal is sent, in seconds, {UNITS} [default: 0].",
)
@click.option(
    "--until",
    metavar="INSTANT",
    help="Time at which the signal is sent: local time such as 2026-11-22T21:00, a time with a zone, or "
    "seconds since the epoch [default: now].",
)
@as_json
@connected
def signal(
    client: Client, *, place: Place, body: dict[str, Any], as_json: bool, **when: Any
) -> None:
    """Signal OPERATION to the entity KEY of TYPE; do not wait.

    A signal for later is an execution: `xingqiao execution cancel ID` cancels it.
    """
    if when["until"] is not None:
        when["until"] = zoned(when["until"])
    _, answer = client.ask_entity("POST", *place, body=body, signal=True, **when)
    text = f"{_shown(place)} is signalled: activation {answer['activationId']}"
    output.write_json(answer) if as_json else output.done(text)


@entity.command()
@click.argument("type")
@click.argument("key")
@as_json
@connected
def delete(client: Client, type: str, key: str, *, as_json: bool) -> int:
    """Delete the entity KEY of TYPE after the calls before it.

    The exit code is 1 if the entity is locked.
    """
    place = (type, key)
    deleted, result = _wait_for_end(client, "DELETE", place, None)
    if as_json:
        output.write_json(result)
    elif deleted:
        output.done(f"{_shown(place)} is deleted")
    else:
        output.document(result)
    return 0 if deleted else 1


def _wait_for_end(client: Client, method: str, place: Place, body: Any) -> tuple[bool, Any]:
    """Waits for the end of a call without a limit. Returns True if it succeeded, and its result."""
    with output.waiting(f"{_shown(place)} ..."):
        status, answer = client.ask_entity(method, *place, body=body)
        while status == ACCEPTED:
            record = client.activation(answer["activationId"], wait_ms=WAIT_MS)
            if record is not None:
                response = record["response"]
                return response["success"], response["result"]
        return status == OK, answer


def _shown(place: Place) -> str:
    return " ".join(place)
