"""`xingqiao namespace ...`. Only the operator, who can read the data directory, makes namespaces."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..settings import OPERATOR_FILE
from . import output
from .client import ApiError, connect
from .exit_codes import NOT_ALLOWED
from .explaining import explained
from .options import as_json, ca_option, confirmed, connected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .client import Client

COLLECTIONS = ("actions", "packages", "triggers", "rules")
OPERATED = "/api/v1/operator/namespaces"
LIMITS = {
    "per_minute": "invocationsPerMinute",
    "concurrent": "concurrentInvocations",
    "fires_per_minute": "firesPerMinute",
    "live": "liveExecutions",
    "descendants": "descendants",
}


@click.group()
def namespace() -> None:
    """Manage namespaces: list, get, create, rotate, limit, delete."""


def as_operator(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command a client with the operator's credentials."""

    @click.option(
        "--url",
        help="URL of the server [default: XINGQIAO_URL, then .wskprops, then http://127.0.0.1:3233].",
    )
    @click.option(
        "--operator",
        metavar="UUID:KEY",
        help="The operator's credentials [default: XINGQIAO_OPERATOR, then the file in --data]. Other "
        "users of this machine can read them in the list of processes: prefer XINGQIAO_OPERATOR.",
    )
    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Data directory of the server, which holds the operator's credentials "
        "[default: XINGQIAO_DATA, then .xingqiao].",
    )
    @ca_option
    @wraps(command)
    def with_client(
        *args: Any,
        url: str | None,
        operator: str | None,
        data: Path | None,
        ca: str | None,
        **options: Any,
    ) -> Any:
        auth, origin = _credentials(operator, data)
        with connect(url, auth, ca=ca, auth_from=origin) as client, explained(client):
            return command(client, *args, **options)

    return with_client


def _credentials(given: str | None, data: Path | None) -> tuple[str, str]:
    """The operator's credentials, and the option, variable or file that they come from.

    Raises:
        ApiError: the credentials are missing.
    """
    if given:
        return given, "--operator"
    given = os.environ.get("XINGQIAO_OPERATOR", "").strip()
    if given and data is None:
        return given, "XINGQIAO_OPERATOR"
    file = (data or Path(os.environ.get("XINGQIAO_DATA", ".xingqiao"))) / OPERATOR_FILE
    try:
        return file.read_text("utf-8").strip(), f"the file {file}"
    except OSError as error:
        raise ApiError(
            f"the operator's credentials cannot be read from {file} ({error.strerror}): give --data "
            "with the server's data directory, give --operator UUID:KEY, or set XINGQIAO_OPERATOR",
            exit_code=NOT_ALLOWED,
        ) from error


def _limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command options for limits, and the limits from them as `limits`."""

    @click.option(
        "--per-minute",
        type=click.IntRange(0),
        help="Maximum invocations per minute [default: the server's].",
    )
    @click.option(
        "--concurrent",
        type=click.IntRange(0),
        help="Maximum invocations at the same time [default: the server's].",
    )
    @click.option(
        "--fires-per-minute",
        type=click.IntRange(0),
        help="Maximum trigger fires per minute [default: the server's].",
    )
    @click.option(
        "--live",
        type=click.IntRange(0),
        help="Maximum live executions and branches [default: the server's].",
    )
    @click.option(
        "--descendants",
        type=click.IntRange(0),
        help="Maximum executions and branches below one execution [default: the server's].",
    )
    @wraps(command)
    def with_limits(*args: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in LIMITS}
        limits = {LIMITS[name]: value for name, value in given.items() if value is not None}
        return command(*args, limits=limits, **options)

    return with_limits


@namespace.command("list")
@click.option(
    "--all",
    "everybody",
    is_flag=True,
    help="List all namespaces; needs the operator's credentials.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Data directory of the server, for --all [default: XINGQIAO_DATA, then .xingqiao].",
)
@click.option(
    "--operator",
    metavar="UUID:KEY",
    help="The operator's credentials, for --all [default: XINGQIAO_OPERATOR, then the file in --data].",
)
@as_json
@connected
def list_(
    client: Client, *, everybody: bool, data: Path | None, operator: str | None, as_json: bool
) -> None:
    """List the namespaces that the credentials give access to."""
    if not everybody:
        found = client.get("/api/v1/namespaces")
        output.write_json(found) if as_json else output.table(
            ("namespace",), zip(found), "no namespaces"
        )
        return
    auth, origin = _credentials(operator, data)
    with connect(client.url, auth, ca=client.ca, auth_from=origin) as asking:
        docs = asking.get(OPERATED)
    output.write_json(docs) if as_json else output.table(COLUMNS, map(_row, docs), "no namespaces")


COLUMNS = ("namespace", "uuid", "limits")


def _row(doc: dict[str, Any]) -> Iterable[str]:
    limits = ", ".join(f"{name} {value}" for name, value in doc["limits"].items())
    return doc["name"], doc["uuid"], limits


@namespace.command()
@click.argument("name", required=False)
@as_json
@connected
def get(client: Client, name: str | None, *, as_json: bool) -> None:
    """Show the actions, packages, triggers and rules of a namespace.

    NAME is the name of the namespace [default: the namespace of the credentials].
    """
    found = client.get(f"/api/v1/namespaces/{(name or '_').strip('/')}")
    if as_json:
        output.write_json(found)
        return
    rows = [
        (what[:-1], f"/{doc['namespace']}/{doc['name']}", doc["version"])
        for what in COLLECTIONS
        for doc in found[what]
    ]
    output.table(("", "name", "version"), rows, "the namespace is empty")


@namespace.command(epilog="\b\nExample:\n  xingqiao namespace create team-a --per-minute 600")
@click.argument("name")
@_limits
@as_json
@as_operator
def create(client: Client, name: str, limits: dict[str, int], *, as_json: bool) -> None:
    """Create the namespace NAME and show its credentials once."""
    made = client.send("PUT", f"{OPERATED}/{name}", {"limits": limits})
    _show_credentials(made, as_json=as_json)


@namespace.command()
@click.argument("name")
@as_json
@as_operator
def rotate(client: Client, name: str, *, as_json: bool) -> None:
    """Replace the credentials of the namespace NAME.

    The new credentials are shown once. The old credentials stop working at once.
    """
    _show_credentials(client.send("POST", f"{OPERATED}/{name}/rotate"), as_json=as_json)


def _show_credentials(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(made)
        return
    output.done(f"credentials of the namespace {made['name']}, shown only once:")
    click.echo(f"  export XINGQIAO_AUTH={made['auth']}")


@namespace.command(epilog="\b\nExample:\n  xingqiao namespace limit team-a --concurrent 50")
@click.argument("name")
@_limits
@as_json
@as_operator
def limit(client: Client, name: str, limits: dict[str, int], *, as_json: bool) -> None:
    """Replace the limits of the namespace NAME.

    A limit that is not given falls back to the server's default; without options all do.
    """
    made = client.send("PUT", f"{OPERATED}/{name}", {"limits": limits}, overwrite=True)
    output.write_json(made) if as_json else output.table(COLUMNS, [_row(made)], "")


@namespace.command()
@click.argument("name")
@confirmed(
    "Its actions, packages, triggers and rules are deleted and its credentials stop working. "
    "Continue?",
    "Delete without asking for confirmation.",
)
@as_json
@as_operator
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the namespace NAME and everything in it.

    The namespace's actions, packages, triggers and rules are deleted, and its credentials stop working.
    """
    gone = client.send("DELETE", f"{OPERATED}/{name}")
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
