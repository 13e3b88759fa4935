"""`xingqiao transaction ...`: two-phase commits without a known decision, and manual decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, confirmed, connected, pages

if TYPE_CHECKING:
    from .client import Client

COLUMNS = ("transaction", "entity", "key", "state", "decision", "by", "reason")
DONE = {"commit": "committed", "abort": "aborted"}


@click.group()
def transaction() -> None:
    """Decide transactions in doubt: list, commit, abort, forget.

    A transaction is in doubt if an entity has prepared it and has not learned the decision.
    """


@transaction.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **page: int) -> None:
    """List transactions in doubt, manual decisions and damage."""
    found = client.ask("GET", "transactions", **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.instant(doc["since"]), *(doc.get(name, "") for name in COLUMNS)) for doc in found
    ]
    output.table(("since", *COLUMNS), rows, "no transaction is in doubt")
    own = {doc["transaction"]: doc["executionId"] for doc in found if "executionId" in doc}
    for id, execution in own.items():
        click.echo(
            f"{id} is decided by an execution of this server: xingqiao execution get {execution}"
        )


def _decide(client: Client, id: str, decision: str, reason: str, *, as_json: bool) -> None:
    body = {"decision": decision, "reason": reason}
    answer = client.ask("POST", f"transactions/{id}", body=body)
    said = f"{id} is {DONE[decision]} at all entities that were in doubt"
    output.write_json(answer) if as_json else output.done(said)


_WARNING = (
    "If the coordinator decides otherwise, the entities disagree permanently. "
    "Ask the coordinator for its decision first if you can reach it. Continue?"
)
_YES = "Decide without asking for confirmation."


@transaction.command(
    epilog="\b\nExample:\n  xingqiao transaction commit ID --reason 'ledger says paid'"
)
@click.argument("id")
@click.option("--reason", required=True, help="Reason to record with the decision.")
@confirmed(_WARNING, _YES)
@as_json
@connected
def commit(client: Client, id: str, reason: str, *, as_json: bool) -> None:
    """Commit the transaction ID by hand.

    The decision applies to all entities that are in doubt about the transaction.
    """
    _decide(client, id, "commit", reason, as_json=as_json)


@transaction.command(
    epilog="\b\nExample:\n  xingqiao transaction abort ID --reason 'order cancelled'"
)
@click.argument("id")
@click.option("--reason", required=True, help="Reason to record with the decision.")
@confirmed(_WARNING, _YES)
@as_json
@connected
def abort(client: Client, id: str, reason: str, *, as_json: bool) -> None:
    """Abort the transaction ID by hand.

    The decision applies to all entities that are in doubt about the transaction.
    """
    _decide(client, id, "abort", reason, as_json=as_json)


@transaction.command()
@click.argument("id")
@as_json
@connected
def forget(client: Client, id: str, *, as_json: bool) -> None:
    """Forget the manual decision on the transaction ID.

    The transaction, and any damage from the decision, no longer appears in the list.
    """
    answer: Any = client.ask("DELETE", f"transactions/{id}")
    output.write_json(answer) if as_json else output.done(f"{id} is forgotten")
