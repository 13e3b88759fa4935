"""`xingqiao api-host` and `xingqiao service ...`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import output
from .namespaces import as_operator
from .options import as_json, connected

if TYPE_CHECKING:
    from .client import Client


@click.command("api-host")
@as_json
@connected
def api_host(client: Client, *, as_json: bool) -> None:
    """Show the server's URL, version, kinds of actions and limits."""
    answer = client.get("/")
    if as_json:
        output.write_json({"url": client.url, **answer})
        return
    kinds = [runtime["kind"] for family in answer["runtimes"].values() for runtime in family]
    rows = [
        ("url", client.url),
        ("version", answer["version"]),
        ("kinds", ", ".join(kinds)),
        *((name.replace("_", " "), limit) for name, limit in answer["limits"].items()),
    ]
    output.table(("", ""), rows, "")


@click.group()
def service() -> None:
    """Manage the server itself: resume."""


@service.command()
@as_json
@as_operator
def resume(client: Client, *, as_json: bool) -> None:
    """Resume a server that was started with `serve --paused`.

    The server then continues the executions that were under way. The operator's credentials are needed.
    """
    answer = client.send("POST", "/api/v1/operator/resume")
    if as_json:
        output.write_json(answer)
    else:
        output.done(
            f"the server has resumed; {answer['recovery_left']} executions are left to recover"
        )
