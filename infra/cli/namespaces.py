"""`xingqiao namespace ...`. Namespaces are made by the operator, who can read the data directory."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..settings import OPERATOR_FILE
from . import output
from .client import ApiError, connect
from .options import as_json, connected, trusting

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
    """Namespaces: list, get, create, rotate, limit, delete."""


def operated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command a client with the operator's credentials."""

    @click.option("--url", help="URL of the server [XINGQIAO_URL; else http://127.0.0.1:3233].")
    @click.option(
        "--operator",
        metavar="UUID:KEY",
        help="Credentials [XINGQIAO_OPERATOR, which others on this machine cannot read].",
    )
    @click.option(
        "--data",
        type=click.Path(path_type=Path),
        help="Directory of the server, which has the operator's credentials [.xingqiao].",
    )
    @trusting
    @wraps(command)
    def with_client(
        *args: Any,
        url: str | None,
        operator: str | None,
        data: Path | None,
        ca: str | None,
        **options: Any,
    ) -> Any:
        with connect(url, operator or _credentials(data), ca=ca) as client:
            return command(client, *args, **options)

    return with_client


def _credentials(data: Path | None) -> str:
    """The operator's credentials, from the environment or the server's directory.

    Raises:
        ApiError: when there are none.
    """
    told = os.environ.get("XINGQIAO_OPERATOR")
    if told and data is None:
        return told
    file = (data or Path(os.environ.get("XINGQIAO_DATA", ".xingqiao"))) / OPERATOR_FILE
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise ApiError(
            f"the operator's credentials are not in {file} ({error.strerror}): give --data with "
            "the server's directory, --operator uuid:key, or set XINGQIAO_OPERATOR"
        ) from error


def _limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command options for limits, and what they make as `limits`."""

    @click.option("--per-minute", type=click.IntRange(0), help="Invocations in a minute.")
    @click.option("--concurrent", type=click.IntRange(0), help="Invocations under way.")
    @click.option("--fires-per-minute", type=click.IntRange(0), help="Fires of triggers.")
    @click.option(
        "--live",
        type=click.IntRange(0),
        help="Executions and branches that exist at the same time.",
    )
    @click.option(
        "--descendants", type=click.IntRange(0), help="Executions and branches below one execution."
    )
    @wraps(command)
    def with_limits(*args: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in LIMITS}
        limits = {LIMITS[name]: value for name, value in given.items() if value is not None}
        return command(*args, limits=limits, **options)

    return with_limits


@namespace.command("list")
@click.option("--all", "everybody", is_flag=True, help="All of them; for the operator.")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the server.")
@click.option("--operator", metavar="UUID:KEY", help="The operator's credentials.")
@as_json
@connected
def list_(
    client: Client, *, everybody: bool, data: Path | None, operator: str | None, as_json: bool
) -> None:
    """List the namespaces of these credentials, or with --all those there are."""
    if not everybody:
        found = client.get("/api/v1/namespaces")
        output.write_json(found) if as_json else output.table(("namespace",), zip(found), "none")
        return
    with connect(client.url, operator or _credentials(data), ca=client.ca) as asking:
        docs = asking.get(OPERATED)
    output.write_json(docs) if as_json else output.table(COLUMNS, map(_row, docs), "none")


COLUMNS = ("namespace", "uuid", "limits")


def _row(doc: dict[str, Any]) -> Iterable[str]:
    limits = ", ".join(f"{name} {value}" for name, value in doc["limits"].items())
    return doc["name"], doc["uuid"], limits


@namespace.command()
@click.argument("name", required=False)
@as_json
@connected
def get(client: Client, name: str | None, *, as_json: bool) -> None:
    """Show all that has a name in the namespace."""
    found = client.get(f"/api/v1/namespaces/{(name or '_').strip('/')}")
    if as_json:
        output.write_json(found)
        return
    rows = [
        (what[:-1], f"/{doc['namespace']}/{doc['name']}", doc["version"])
        for what in COLLECTIONS
        for doc in found[what]
    ]
    output.table(("", "name", "version"), rows, "it is empty")


@namespace.command()
@click.argument("name")
@_limits
@as_json
@operated
def create(client: Client, name: str, limits: dict[str, int], *, as_json: bool) -> None:
    """Create the namespace NAME, and show its credentials, this once."""
    made = client.send("PUT", f"{OPERATED}/{name}", {"limits": limits})
    _show_credentials(made, as_json=as_json)


@namespace.command()
@click.argument("name")
@as_json
@operated
def rotate(client: Client, name: str, *, as_json: bool) -> None:
    """Give NAME new credentials, and show them, this once. The old ones are void."""
    _show_credentials(client.send("POST", f"{OPERATED}/{name}/rotate"), as_json=as_json)


def _show_credentials(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(made)
        return
    output.done(f"{made['name']} has these credentials, shown only now:")
    click.echo(f"  export XINGQIAO_AUTH={made['auth']}")


@namespace.command()
@click.argument("name")
@_limits
@as_json
@operated
def limit(client: Client, name: str, limits: dict[str, int], *, as_json: bool) -> None:
    """Set what NAME may use, in place of what it might; without options, no limits of its own."""
    made = client.send("PUT", f"{OPERATED}/{name}", {"limits": limits}, overwrite=True)
    output.write_json(made) if as_json else output.table(COLUMNS, [_row(made)], "")


@namespace.command()
@click.argument("name")
@click.confirmation_option(
    prompt="All that has a name in it is deleted, and its key is void. Go on?"
)
@as_json
@operated
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the namespace NAME, with all that has a name in it."""
    gone = client.send("DELETE", f"{OPERATED}/{name}")
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
