"""`xingqiao transaction ...`: two-phase commits whose end is not heard of, and what was decided by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected, pages

if TYPE_CHECKING:
    from .client import Client

COLUMNS = ("transaction", "entity", "key", "state", "decision", "by", "reason")
DONE = {"commit": "committed", "abort": "aborted"}


@click.group()
def transaction() -> None:
    """Transactions in doubt: list, commit, abort, forget."""


@transaction.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **page: int) -> None:
    """List what is in doubt, what an operator has decided, and what that has damaged."""
    found = client.ask("GET", "transactions", **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.instant(doc["since"]), *(doc.get(name, "") for name in COLUMNS)) for doc in found
    ]
    output.table(("since", *COLUMNS), rows, "nothing is in doubt")
    own = {doc["transaction"]: doc["executionId"] for doc in found if "executionId" in doc}
    for id, execution in own.items():
        click.echo(f"{id} is decided by what is here: xingqiao execution get {execution}")


def _decide(client: Client, id: str, decision: str, reason: str, *, as_json: bool) -> None:
    body = {"decision": decision, "reason": reason}
    told = client.ask("POST", f"transactions/{id}", body=body)
    said = f"{id} is {DONE[decision]} wherever it was in doubt"
    output.write_json(told) if as_json else output.done(said)


_WARNING = (
    "If its coordinator decides otherwise, its entities disagree for good. "
    "Ask the coordinator first, if it can be asked. Go on?"
)


@transaction.command()
@click.argument("id")
@click.option("--reason", required=True, help="Reason, kept with the decision.")
@click.confirmation_option(prompt=_WARNING)
@as_json
@connected
def commit(client: Client, id: str, reason: str, *, as_json: bool) -> None:
    """Commit the transaction ID by hand, at all entities that are in doubt about it."""
    _decide(client, id, "commit", reason, as_json=as_json)


@transaction.command()
@click.argument("id")
@click.option("--reason", required=True, help="Reason, kept with the decision.")
@click.confirmation_option(prompt=_WARNING)
@as_json
@connected
def abort(client: Client, id: str, reason: str, *, as_json: bool) -> None:
    """Abort the transaction ID by hand, at all entities that are in doubt about it."""
    _decide(client, id, "abort", reason, as_json=as_json)


@transaction.command()
@click.argument("id")
@as_json
@connected
def forget(client: Client, id: str, *, as_json: bool) -> None:
    """List the transaction ID no more: what was decided by hand, or damaged, is dealt with."""
    told: Any = client.ask("DELETE", f"transactions/{id}")
    output.write_json(told) if as_json else output.done(f"{id} is forgotten")
