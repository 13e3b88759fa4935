"""`xingqiao access-key ...`: the keys of a namespace, each with a name and a role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from ..client import NAMESPACES
from . import output
from .completion import key_names
from .options import UNITS, as_json, confirmed, connected
from .times import Duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .client import Client

ROLES = ("read", "invoke", "work", "deploy", "admin")
COLUMNS = ("key", "role", "id", "created", "by", "last used", "")

of_namespace: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--namespace",
    metavar="NAMESPACE",
    help="Namespace of the keys; needs the operator's credentials unless it is the credentials' own "
    "[default: the namespace of the credentials].",
)


@click.group("access-key")
def access_key() -> None:
    """Manage a namespace's keys: create, list, rotate, revoke.

    Each key has a name and a role, for one person or one program. The credentials in use must be those
    of an admin key of the namespace, or the operator's. See docs/access.md.
    """


@access_key.command(epilog="\b\nExample:\n  xingqiao access-key create ci --role deploy")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    required=True,
    help="Role of the key: `read` reads, `invoke` invokes and reads activations, `work` takes tasks from "
    "queues and nothing else, `deploy` does all of these and changes definitions, `admin` also manages keys.",
)
@of_namespace
@as_json
@connected
def create(client: Client, name: str, role: str, namespace: str | None, *, as_json: bool) -> None:
    """Create the key NAME and show its credentials once."""
    made = client.send("PUT", _path(namespace, name), {"role": role})
    _show_credentials(made, as_json=as_json)


@access_key.command("list")
@of_namespace
@as_json
@connected
def list_(client: Client, namespace: str | None, *, as_json: bool) -> None:
    """List the keys with their roles and last use.

    The key `admin` is the namespace's own key, which the operator made with the namespace.
    """
    found = client.get(_path(namespace))
    output.write_json(found) if as_json else output.table(COLUMNS, map(_row, found), "no keys")


@access_key.command(epilog="\b\nExample:\n  xingqiao access-key rotate ci --grace 2h")
@click.argument("name", shell_complete=key_names)
@click.option(
    "--grace",
    type=Duration("s", 0),
    default="1d",
    show_default=True,
    help=f"Time for which the old credentials stay valid, in seconds {UNITS}; 0 ends them at once.",
)
@of_namespace
@as_json
@connected
def rotate(client: Client, name: str, grace: int, namespace: str | None, *, as_json: bool) -> None:
    """Replace the credentials of the key NAME.

    The new credentials are shown once. The old credentials stay valid for the grace period. Credentials that an earlier rotation left
    valid end at once.
    """
    path = f"{_path(namespace, name)}/rotate"
    _show_credentials(client.send("POST", path, {"graceSeconds": grace}), as_json=as_json)


@access_key.command()
@click.argument("name", shell_complete=key_names)
@confirmed(
    "The credentials of the key stop working at once. Continue?",
    "Revoke without asking for confirmation.",
)
@of_namespace
@as_json
@connected
def revoke(client: Client, name: str, namespace: str | None, *, as_json: bool) -> None:
    """Revoke the key NAME, which stops working at once."""
    gone = client.send("DELETE", _path(namespace, name))
    output.write_json(gone) if as_json else output.done(f"the key {name} is revoked")


def _path(namespace: str | None, name: str | None = None) -> str:
    """The path of the keys of a namespace, or of one key."""
    keys = f"{NAMESPACES}/{quote(namespace or '_', safe='')}/keys"
    return keys if name is None else f"{keys}/{quote(name, safe='')}"


def _row(key: dict[str, Any]) -> Iterable[str]:
    previous = key.get("previous")
    until = "" if previous is None else f"old credentials until {output.instant(previous['until'])}"
    return (
        key["name"],
        key["role"],
        key["id"],
        _instant(key["created"]),
        key["createdBy"] or "",
        _instant(key["lastUsed"]),
        until,
    )


def _instant(at_ms: int | None) -> str:
    return "" if at_ms is None else output.instant(at_ms)


def _show_credentials(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(made)
        return
    output.done(f"credentials of the key {made['name']} ({made['role']}), shown only once:")
    click.echo(f"  export XINGQIAO_AUTH={made['auth']}")
    if previous := made.get("previous"):
        output.done(f"the old credentials work until {output.instant(previous['until'])}")
