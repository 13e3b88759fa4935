"""`xingqiao entity ...`: stateful functions, by type and key."""

from __future__ import annotations

import json
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from . import output
from .options import as_json, connected, parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

Place: TypeAlias = tuple[str, str]  # a type and a key

OK, ACCEPTED = 200, 202
ENTITIES = "entities"
WAIT_MS = 20_000  # of one look at a call that has not ended
SHOWN = 30


@click.group()
def entity() -> None:
    """Entities (stateful functions): list, get, call, signal, delete."""


@entity.command("list")
@click.argument("type", required=False)
@click.option("--prefix", help="Prefix of the keys.")
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True)
@click.option("--after", metavar="KEY", help="Show keys after this one.")
@click.option("--docs", is_flag=True, help="Show the states, too.")
@as_json
@connected
def list_(client: Client, type: str | None, *, as_json: bool, **query: Any) -> None:
    """List the entities of TYPE by key; without TYPE, the types of the namespace."""
    if type is None:
        _list_types(client, query, as_json=as_json)
        return
    page = client.entity("GET", ENTITIES, f"{type}/keys", **query)
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
        click.echo(f"there may be more: --after {json.dumps(page['next'], ensure_ascii=False)}")


def _list_types(client: Client, query: dict[str, Any], *, as_json: bool) -> None:
    for option in ("prefix", "after", "docs"):
        if query[option]:
            raise click.UsageError(f"--{option} is about keys: give a TYPE as well")
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
    """Show the entity KEY of TYPE as it was last changed: nobody is waited for."""
    _, found = client.keyed("GET", type, key)
    output.write_json(found) if as_json else output.document(found)


def _operation(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command what names an operation: as `place` an entity, as `body` what it is asked."""

    @click.argument("type")
    @click.argument("key")
    @click.argument("operation")
    @parameters
    @click.option("--read", is_flag=True, help="Read only: the state is not changed.")
    @click.option("--expected-version", type=click.IntRange(0), help="Fails if it has another.")
    @click.option(
        "--token", help="Token of this request: with the same token the operation is done once."
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


@entity.command()
@_operation
@as_json
@connected
def call(client: Client, *, place: Place, body: dict[str, Any], as_json: bool) -> int:
    """Have the entity KEY of TYPE do OPERATION, and show its result. Exits with 1 if it fails."""
    succeeded, result = _ended(client, "POST", place, body)
    output.write_json(result) if as_json else output.document(result)
    return 0 if succeeded else 1


@entity.command()
@_operation
@click.option(
    "--after", type=click.IntRange(0), metavar="SECONDS", help="Seconds to wait before it is sent."
)
@click.option(
    "--until",
    metavar="INSTANT",
    help="Instant before which it is not sent: ISO 8601, or epoch seconds.",
)
@as_json
@connected
def signal(
    client: Client, *, place: Place, body: dict[str, Any], as_json: bool, **when: Any
) -> None:
    """Have the entity KEY of TYPE do OPERATION, now or later, and wait for nothing.

    One for later is an execution: `xingqiao execution cancel` calls it off.
    """
    _, answer = client.keyed("POST", *place, body=body, signal=True, **when)
    told = f"{_shown(place)} has the activation {answer['activationId']}"
    output.write_json(answer) if as_json else output.done(told)


@entity.command()
@click.argument("type")
@click.argument("key")
@as_json
@connected
def delete(client: Client, type: str, key: str, *, as_json: bool) -> int:
    """Delete the entity KEY of TYPE when its turn has come. Exits with 1 if it is locked."""
    place = (type, key)
    deleted, result = _ended(client, "DELETE", place, None)
    if as_json:
        output.write_json(result)
    elif deleted:
        output.done(f"{_shown(place)} is deleted")
    else:
        output.document(result)
    return 0 if deleted else 1


def _ended(client: Client, method: str, place: Place, body: Any) -> tuple[bool, Any]:
    """Whether a call has succeeded, once it has ended, however long that takes; and its result."""
    with output.waiting(f"{_shown(place)} ..."):
        status, answer = client.keyed(method, *place, body=body)
        while status == ACCEPTED:
            record = client.activation(answer["activationId"], wait_ms=WAIT_MS)
            if record is not None:
                response = record["response"]
                return response["success"], response["result"]
        return status == OK, answer


def _shown(place: Place) -> str:
    return " ".join(place)
