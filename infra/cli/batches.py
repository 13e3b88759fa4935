"""`xingqiao batch ...`: one operation for each of the executions that a filter finds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from ...actions import BATCH_VERBS
from . import finding, output
from .completion import execution_ids
from .exit_codes import FAILED
from .following import RUNNING, Connection
from .options import as_json, connected, pages, values
from .resets import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

BATCHES = "batches"
COUNTS = ("done", "failed", "changed", "gone")
LOOK_S = 0.3  # seconds between two looks at a batch that is followed
BAR = 30  # characters


@click.group()
def batch() -> None:
    """Manage batches: cancel, redrive or tell many executions.

    A batch goes through the executions that a filter finds. It is an execution itself: `xingqiao execution pause`
    and `resume` work for it, too.
    """


def _details(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say what an operation needs."""
    options = (
        click.option("--message", metavar="NAME", help="Name of the message to tell."),
        click.option("--payload", metavar="JSON", help="Payload of the message. It is read as JSON, else as plain text."),
        click.option("--to", type=Entry(), metavar="ENTRY", help="History entry to reset to: its number, first or last."),
        click.option("--step", help="Step to reset to: its path, or the name of its action."),
        click.option("--messages", type=click.Choice(["keep", "drop"]), help="Tell the reset runs messages that came later, or not [default: keep]."),
        finding.attribute_option,
        finding.memo_option,
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@batch.command(
    epilog="\b\nExamples:\n"
    "  xingqiao batch create redrive --where \"status = 'failed' and started > '2026-11-22'\" --follow\n"
    "  xingqiao batch create cancel --where \"customer = 'anna'\" --per-second 50 --dry-run"
)
@click.argument("operation", metavar="OPERATION", type=click.Choice(sorted(BATCH_VERBS)))
@click.option("--where", required=True, metavar="FILTER", help="Filter, such as \"status = 'failed' and customer = 'anna'\".")  # fmt: skip
@_details
@click.option("--per-second", type=float, metavar="NUMBER", help="Executions in a second [default: no limit].")  # fmt: skip
@click.option("--reason", metavar="TEXT", help="Text that is shown with the batch.")
@click.option("--id", metavar="ID", help="Your id for the batch [default: none].")
@click.option(
    "--dry-run", is_flag=True, help="Count the executions that the filter finds, and do nothing."
)
@click.option("--follow", is_flag=True, help="Show the progress until the batch has ended.")
@as_json
@connected
def create(
    client: Client, operation: str, *, dry_run: bool, follow: bool, as_json: bool, **given: Any
) -> int | None:
    """Start a batch: OPERATION for each execution that is found.

    OPERATION is annotate, cancel, delete, pause, redrive, reset, resume, tell or terminate. Executions
    that start after the batch are left alone. The exit code of --follow is 1 if an execution failed.
    """
    body: dict[str, Any] = {"where": given["where"], "do": operation}
    if details := _with(given):
        body["with"] = details
    for field in ("per_second", "reason", "id"):
        if given[field] is not None:
            body[field] = given[field]
    found = client.ask("POST", BATCHES, body=body, **{"dry-run": True if dry_run else None})
    if follow and not dry_run:
        return _follow(client, found["executionId"], as_json=as_json)
    if as_json:
        output.write_json(found)
    elif dry_run:
        click.echo(f"{operation}: {found['matched']} executions")
    else:
        output.done(
            f"the batch {_id(found)} has started: {operation}, {found['matched']} executions"
        )
    return None


def _with(given: dict[str, Any]) -> dict[str, Any]:
    """The details of the operation; the server checks that they fit."""
    details: dict[str, Any] = {}
    if given["message"] is not None:
        details["name"] = given["message"]
    if given["payload"] is not None:
        details |= values([("payload", given["payload"])])
    if given["to"] is not None and given["step"] is not None:
        raise click.UsageError("Give either --to or --step.")
    if given["to"] is not None:
        details["to"] = given["to"]
    if given["step"] is not None:
        details["to"] = {"step": given["step"]}
    if given["messages"] is not None:
        details["messages"] = given["messages"]
    return details | finding.description_of(given["attribute"], given["memo"])


@batch.command("list")
@click.option("--status", metavar="STATUS", help="Only batches in this status, such as running.")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **query: Any) -> None:
    """List the batches of the namespace, the newest first."""
    found = client.ask("GET", BATCHES, **query)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (_id(doc), doc["do"], output.status(doc["status"]), output.instant(doc["start"]), str(doc["matched"]),
         *(str(doc[count]) for count in COUNTS), doc.get("reason", ""))
        for doc in found
    ]  # fmt: skip
    titles = ("batch", "operation", "status", "started", "matched", *COUNTS, "reason")
    output.table(titles, rows, "there are no batches")


@batch.command()
@click.argument("id", shell_complete=execution_ids)
@click.option("--follow", is_flag=True, help="Show the progress until the batch has ended.")
@as_json
@connected
def get(client: Client, id: str, *, follow: bool, as_json: bool) -> int | None:
    """Show the progress of the batch ID, and what failed."""
    if follow:
        return _follow(client, id, as_json=as_json)
    _show(client.ask_run("GET", id, of=BATCHES), as_json=as_json)
    return None


@batch.command()
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def cancel(client: Client, id: str, *, as_json: bool) -> None:
    """Cancel the batch ID. What it has done is not undone."""
    found = client.ask_run("DELETE", id, of=BATCHES)
    output.write_json(found) if as_json else output.done(f"the batch {id} is cancelled")


def _follow(client: Client, id: str, *, as_json: bool) -> int | None:
    """Shows the progress of a batch until it has ended. Returns the exit code."""
    connection, run = Connection(client), client.ask_run("GET", id, of=BATCHES)["executionId"]
    with output.waiting(f"the batch {id} is running") as say:
        while (found := connection.ask(f"{BATCHES}/{run}"))["status"] in RUNNING:
            say(bar(found))
            time.sleep(LOOK_S)
    _show(found, as_json=as_json)
    return None if found["status"] == "succeeded" and not found["failed"] else FAILED


def bar(found: dict[str, Any]) -> str:
    """The progress of a batch in one line."""
    ended, matched = sum(found[count] for count in COUNTS), found["matched"]
    full = BAR if not matched else min(BAR, BAR * ended // matched)
    failed = f", {found['failed']} failed" if found["failed"] else ""
    return f"{'█' * full}{'░' * (BAR - full)} {ended} of {matched}{failed} ({found['status']})"


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(found)
        return
    print(f"{_id(found)}: {found['do']} where {found['where']}, {found['status']}")
    print(", ".join(f"{found[count]} {count}" for count in COUNTS) + f" of {found['matched']}")
    if found["errors"]:
        rows = [(each["executionId"], each["error"]) for each in found["errors"]]
        output.table(("failed execution", "error"), rows, "")


def _id(doc: dict[str, Any]) -> str:
    return str(doc.get("id") or doc["executionId"])
