"""`xingqiao execution update`: changes an execution, and shows its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from . import output
from .client import ApiError
from .completion import execution_ids
from .options import as_json, connected, parameters, payload_of

if TYPE_CHECKING:
    from .client import Client

MAX_WAIT_S = 60


@click.command(epilog="\b\nExample:\n  xingqiao execution update order-7 add --param item pen")
@click.argument("id", shell_complete=execution_ids)
@click.argument("name")
@parameters
@click.option("--payload", help="Payload as JSON, in place of parameters.")
@click.option("--update-id", help="Update id. An update with the same id is taken once.")
@click.option("--wait", type=click.Choice(["accepted", "completed"]), default="completed",
              show_default=True, help="Stage to wait for.")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0, MAX_WAIT_S), default=MAX_WAIT_S,
              show_default=True, help="Seconds to wait.")  # fmt: skip
@as_json
@connected
def update(  # noqa: PLR0913  an update has as many sides
    client: Client,
    id: str,
    name: str,
    *,
    params: dict[str, Any],
    payload: str | None,
    update_id: str | None,
    wait: str,
    timeout: float,
    as_json: bool,
) -> None:
    """Update the execution ID with NAME, and print the answer.

    The parameters are the payload of the update. The composition declares its updates: it validates, handles
    and answers them. An update that is not answered in time goes on: repeat the command with its --update-id.
    """
    body = payload_of(payload, params)
    path = f"/updates/{quote(name, safe='')}"
    updated = client.ask_run(
        "POST", id, path, body=body, update=update_id, wait=wait, timeout=int(timeout * 1000)
    )
    if as_json:
        output.write_json(updated)
    elif updated["status"] == "completed":
        output.write_json(updated["answer"])
    elif updated["status"] == "accepted":
        output.done(f"{id} has accepted update {updated['update']}")
    if updated["status"] == "failed":
        told = json.dumps(updated["error"], ensure_ascii=False)
        raise ApiError(f"update {name} failed: {updated['errorCode']}: {told}")
