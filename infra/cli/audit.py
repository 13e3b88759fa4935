"""`xingqiao audit`: the changes in a namespace, with the key that made each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from ..client import NAMESPACES
from . import output
from .options import as_json, connected
from .times import Instant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .client import Client

PAGE = 200  # entries of one request
COLUMNS = ("at", "namespace", "key", "verb", "resource", "outcome", "from")
EVERYTHING = "/api/v1/operator/audit"


@click.command(epilog="\b\nExample:\n  xingqiao audit --since 2h")
@click.option(
    "--since",
    type=Instant(),
    metavar="TIME",
    help="Earliest change: a time ago such as 2h or 30m, local time such as 2026-11-22T21:00, or "
    "milliseconds since the epoch.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=PAGE,
    show_default=True,
    help="Maximum number of entries to list.",
)
@click.option(
    "--namespace",
    metavar="NAMESPACE",
    help="Namespace of the changed things; needs the operator's credentials unless it is the "
    "credentials' own [default: the namespace of the credentials].",
)
@click.option(
    "--all",
    "everybody",
    is_flag=True,
    help="List the changes in all namespaces; needs the operator's credentials.",
)
@as_json
@connected
def audit(  # noqa: PLR0913  one for each option
    client: Client,
    since: int | None,
    limit: int,
    namespace: str | None,
    *,
    everybody: bool,
    as_json: bool,
) -> None:
    """List changes with the keys that made them, the newest first.

    The credentials in use must be those of an admin key of the namespace, or the operator's. Invocations
    are not in the list: they have activations. See docs/access.md.
    """
    if everybody and namespace is not None:
        raise click.UsageError("--all and --namespace are both given: remove one of them")
    path = EVERYTHING if everybody else f"{NAMESPACES}/{quote(namespace or '_', safe='')}/audit"
    found = audit_entries(client, path, since, limit)
    if as_json:
        output.write_json(found)
        return
    output.table(COLUMNS, map(_row, found), "no changes are recorded")


def audit_entries(
    client: Client, path: str, since: int | None, limit: int, page_size: int = PAGE
) -> list[dict[str, Any]]:
    """At most `limit` entries, page by page."""
    found: list[dict[str, Any]] = []
    before: int | None = None
    while len(found) < limit:
        most = min(page_size, limit - len(found))
        page = client.send("GET", path, since=since, before=before, limit=most)
        found += page["entries"]
        before = page.get("next")
        if before is None:
            break
    return found


def _row(entry: dict[str, Any]) -> Iterable[str]:
    outcome = entry["outcome"]
    return (
        output.instant(entry["at"]),
        entry["namespace"],
        entry["key"],
        entry["verb"],
        entry["resource"],
        outcome if outcome == "done" else f"{outcome} ({entry['status']})",
        entry["address"],
    )
