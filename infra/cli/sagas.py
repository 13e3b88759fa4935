"""`xingqiao saga ...`: stuck sagas, and the commands with which an operator repairs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected, pages, parameters, values

if TYPE_CHECKING:
    from .client import Client

STATUSES = ("stuck", "running", "paused", "succeeded", "failed", "cancelled")

_fiber = click.option("--fiber", help="Stuck fiber to act on [default: all stuck fibers].")
_reason = click.option("--reason", required=True, help="Reason to record in the history.")


@click.group()
def saga() -> None:
    """Repair stuck sagas: list, show, retry, skip, resolve, cancel.

    A saga is stuck if an undo failed after all its retries, or if a step used up its `retries`.
    """


@saga.command("list")
@click.option("--status", type=click.Choice(STATUSES), default="stuck", show_default=True,
              help="Status of the sagas.")  # fmt: skip
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **query: Any) -> None:
    """List stuck sagas, the newest first.

    With --status the command lists executions of another status.
    """
    found = client.ask("GET", "sagas", **query)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.instant(doc["start"]), doc["executionId"], doc["name"], doc["status"])
        for doc in found
    ]
    output.table(("start", "execution", "action", "status"), rows, f"no saga is {query['status']}")


@saga.command()
@click.argument("id")
@as_json
@connected
def show(client: Client, id: str, *, as_json: bool) -> None:
    """Show the step or undo at which the saga ID is stuck.

    The output also shows the error, the undos that are left and the commands that help.
    """
    found = client.ask_run("GET", id, of="sagas")
    if as_json:
        output.write_json(found)
        return
    about = [
        ("saga", found["executionId"]),
        ("action", f"{found['action']} {found['version']}"),
        ("status", found["status"]),
        ("start", output.instant(found["start"])),
    ]
    output.table(("", ""), about, "")
    held = [fiber for fiber in found["fibers"] if fiber.keys() & {"undoing", "doing"}]
    last = _last_steps(client, id) if held else {}
    for fiber in held:
        click.echo()
        output.table(("", ""), _stuck_at(fiber, last.get(fiber["fiber"])), "")
    if held:
        click.echo()
        for line in _next(id, several=len(held) > 1, steps="doing" in held[0]):
            click.echo(line)


def _last_steps(client: Client, id: str) -> dict[str, dict[str, Any]]:
    """The last scheduled step of each fiber."""
    entries = client.history(id)
    return {entry["fiber"]: entry for entry in entries if entry["type"] == "StepScheduled"}


def _stuck_at(fiber: dict[str, Any], step: dict[str, Any] | None) -> list[tuple[str, str]]:
    lines = [("fiber", fiber["fiber"])]
    if "undoing" in fiber:
        lines.append(("undo of", fiber["undoing"]))
    else:
        lines.append(("step", fiber["doing"]))
    if step is not None:
        what = step.get("action") or f"λ {step.get('path', '')}"
        lines.append(("tried", f"{what}  {step.get('activation', '')}".rstrip()))
    lines.append(("input", _text(fiber["input"])))
    lines.append(("error", f"{fiber['code']}: {_text(fiber['error'])}"))
    if "undoing" in fiber:
        lines.append(("left", ", ".join(fiber["left"]) or "nothing"))
    return lines


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _next(id: str, *, several: bool, steps: bool) -> list[str]:
    """Commands that an operator can copy and run now."""
    where = " --fiber F" if several else ""
    result = " --result JSON" if steps else ""
    dealt = "you know the step's result" if steps else "you have undone it by hand"
    commands = {
        f"xingqiao saga retry {id}{where}": "try again; -p NAME VALUE changes the input",
        f"xingqiao saga resolve {id}{where} --reason R{result}": dealt,
        f"xingqiao saga skip {id}{where} --reason R": "continue without it",
    }
    width = max(map(len, commands))
    return [f"{command.ljust(width)}  # {text}" for command, text in commands.items()]


def _help(client: Client, id: str, body: dict[str, Any], *, as_json: bool) -> None:
    found = client.ask_run(
        "POST", id, of="sagas", body={n: v for n, v in body.items() if v is not None}
    )
    _told(found, as_json=as_json)


def _told(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(found)
    else:
        output.done(f"{found['executionId']} is {found['status']}")


@saga.command(epilog="\b\nExample:\n  xingqiao saga retry ID -p amount 5")
@click.argument("id")
@_fiber
@parameters
@as_json
@connected
def retry(
    client: Client, id: str, fiber: str | None, params: dict[str, Any], *, as_json: bool
) -> None:
    """Retry the step or undo at which the saga ID is stuck.

    The options -p and -P replace its input.
    """
    body = {"do": "retry", "fiber": fiber, "params": params or None}
    _help(client, id, body, as_json=as_json)


@saga.command()
@click.argument("id")
@_reason
@_fiber
@as_json
@connected
def skip(client: Client, id: str, reason: str, fiber: str | None, *, as_json: bool) -> None:
    """Skip the step or undo at which the saga ID is stuck.

    The saga continues without it. A skipped undo leaves the effect of its step in place.
    """
    _help(client, id, {"do": "skip", "fiber": fiber, "reason": reason}, as_json=as_json)


@saga.command(
    epilog="\b\nExample:\n  xingqiao saga resolve ID --reason 'refunded by hand' --result '{\"ok\": true}'"
)
@click.argument("id")
@_reason
@click.option("--result", metavar="JSON", help="Result to use for the step [default: {}].")
@_fiber
@as_json
@connected
def resolve(  # noqa: PLR0913  its options
    client: Client, id: str, reason: str, result: str | None, fiber: str | None, *, as_json: bool
) -> None:
    """Resolve the saga ID: you have done its step or undo by hand.

    The saga continues as if the step or undo had succeeded.
    """
    given = None if result is None else values([("result", result)])["result"]
    body = {"do": "resolve", "fiber": fiber, "reason": reason, "result": given}
    _help(client, id, body, as_json=as_json)


@saga.command()
@click.argument("id")
@as_json
@connected
def cancel(client: Client, id: str, *, as_json: bool) -> None:
    """Cancel the saga ID: its completed steps are undone.

    A stuck saga stays stuck after a cancellation: use retry, skip or resolve.
    """
    _told(client.ask_run("POST", id, "/cancel"), as_json=as_json)
