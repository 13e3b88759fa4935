"""`xingqiao api-host`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import output
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client


@click.command("api-host")
@as_json
@connected
def api_host(client: Client, *, as_json: bool) -> None:
    """Show the server that commands talk to, what it runs, and its limits."""
    told = client.get("/")
    if as_json:
        output.write_json({"url": client.url, **told})
        return
    kinds = [runtime["kind"] for family in told["runtimes"].values() for runtime in family]
    rows = [
        ("url", client.url),
        ("version", told["version"]),
        ("kinds", ", ".join(kinds)),
        *((name.replace("_", " "), limit) for name, limit in told["limits"].items()),
    ]
    output.table(("", ""), rows, "")
