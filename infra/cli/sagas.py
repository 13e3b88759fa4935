"""`xingqiao saga ...`: sagas that are stuck, where, and what an operator can do about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import as_json, connected, pages, parameters, values

if TYPE_CHECKING:
    from .client import Client

STATUSES = ("stuck", "running", "paused", "succeeded", "failed", "cancelled")

_fiber = click.option("--fiber", help="Fiber to act on, if several are stuck [all of them].")
_reason = click.option("--reason", required=True, help="Reason, kept in the history.")


@click.group()
def saga() -> None:
    """Sagas that are stuck: list, show, retry, skip, resolve, cancel."""


@saga.command("list")
@click.option("--status", type=click.Choice(STATUSES), default="stuck", show_default=True)
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **query: Any) -> None:
    """List sagas that are stuck, or executions of another status, the newest first."""
    found = client.ask("GET", "sagas", **query)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (output.instant(doc["start"]), doc["executionId"], doc["name"], doc["status"])
        for doc in found
    ]
    output.table(("start", "execution", "action", "status"), rows, f"none is {query['status']}")


@saga.command()
@click.argument("id")
@as_json
@connected
def show(client: Client, id: str, *, as_json: bool) -> None:
    """Show where the saga ID is stuck: at which undo or step, why, and what is left to be undone."""
    found = client.ask("GET", f"sagas/{id}")
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
    """What each fiber has asked for last."""
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
    """The commands that an operator may give now, to be copied as they are."""
    where = " --fiber F" if several else ""
    result = " --result JSON" if steps else ""
    dealt = "the result that it would have had" if steps else "it is undone by hand"
    commands = {
        f"xingqiao saga retry {id}{where}": "try it again; -p NAME VALUE for another input",
        f"xingqiao saga resolve {id}{where} --reason R{result}": dealt,
        f"xingqiao saga skip {id}{where} --reason R": "go on without it",
    }
    width = max(map(len, commands))
    return [f"{command.ljust(width)}  # {text}" for command, text in commands.items()]


def _help(client: Client, id: str, body: dict[str, Any], *, as_json: bool) -> None:
    found = client.ask("POST", f"sagas/{id}", body={n: v for n, v in body.items() if v is not None})
    _told(found, as_json=as_json)


def _told(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(found)
    else:
        output.done(f"{found['executionId']} is {found['status']}")


@saga.command()
@click.argument("id")
@_fiber
@parameters
@as_json
@connected
def retry(
    client: Client, id: str, fiber: str | None, params: dict[str, Any], *, as_json: bool
) -> None:
    """Have the saga ID try again what it is stuck at; with -p or -P, with another input."""
    body = {"do": "retry", "fiber": fiber, "params": params or None}
    _help(client, id, body, as_json=as_json)


@saga.command()
@click.argument("id")
@_reason
@_fiber
@as_json
@connected
def skip(client: Client, id: str, reason: str, fiber: str | None, *, as_json: bool) -> None:
    """Have the saga ID go on without what it is stuck at: that stays undone."""
    _help(client, id, {"do": "skip", "fiber": fiber, "reason": reason}, as_json=as_json)


@saga.command()
@click.argument("id")
@_reason
@click.option("--result", metavar="JSON", help="Result that the step is given [{}].")
@_fiber
@as_json
@connected
def resolve(  # noqa: PLR0913  its options
    client: Client, id: str, reason: str, result: str | None, fiber: str | None, *, as_json: bool
) -> None:
    """Have the saga ID go on: what it is stuck at has been done by hand."""
    given = None if result is None else values([("result", result)])["result"]
    body = {"do": "resolve", "fiber": fiber, "reason": reason, "result": given}
    _help(client, id, body, as_json=as_json)


@saga.command()
@click.argument("id")
@as_json
@connected
def cancel(client: Client, id: str, *, as_json: bool) -> None:
    """Cancel the saga ID: it is undone. One that is stuck is still to be helped."""
    _told(client.ask("POST", f"executions/{id}/cancel"), as_json=as_json)
