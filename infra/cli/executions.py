"""`xingqiao execution ...`: what an operator needs at three in the morning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..prices import PricesError, priced, read_prices
from . import files, offline, output
from .options import FILE, as_json, connected, connected_or_offline

if TYPE_CHECKING:
    from pathlib import Path

    from ..prices import Prices
    from .client import Client

SHOWN = 30
STATUSES = ("running", "paused", "stuck", "succeeded", "failed", "timed_out", "cancelled")


@click.group()
def execution() -> None:
    """Executions of compositions: list, get, history, cost, cancel, terminate, resume, redrive."""


@execution.command("list")
@click.option("--status", type=click.Choice(STATUSES))
@click.option("--name", help="Name of the action.")
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True)
@click.option("--skip", type=click.IntRange(0), default=0)
@click.option("--since", type=int, help="Milliseconds since the epoch.")
@click.option("--upto", type=int, help="Milliseconds since the epoch.")
@as_json
@connected_or_offline
def list_(client: Client, *, data: Path | None, as_json: bool, **query: Any) -> None:
    """List executions, the newest first."""
    if data is None:
        found = client.ask("GET", "executions", **query)
    else:
        found = offline.listed(data, query)
    if as_json:
        output.write_json(found)
        return
    rows = (
        (
            output.instant(doc["start"]),
            doc["executionId"],
            doc["name"],
            output.status(doc["status"]),
            output.duration(doc["end"] - doc["start"] if "end" in doc else None),
        )
        for doc in found
    )
    output.table(("start", "execution", "action", "status", "duration"), rows, "no executions")


@execution.command()
@click.argument("id")
@as_json
@connected
def get(client: Client, id: str, *, as_json: bool) -> None:
    """Show how the execution ID stands, and what each of its fibers waits for."""
    found = client.ask("GET", f"executions/{id}")
    output.write_json(found) if as_json else _tell(found)


def _tell(found: dict[str, Any]) -> None:
    about = [
        ("execution", found["executionId"]),
        ("action", f"{found['action']} {found['version']}"),
        ("status", output.status(found["status"])),
        ("start", output.instant(found["start"])),
    ]
    if "end" in found:
        about.append(("end", output.instant(found["end"])))
    if "parent" in found:
        about.append(("part of", found["parent"]["executionId"]))
    output.table(("", ""), about, "")
    if found["fibers"]:
        output.console().print()
        rows = [(f["fiber"], f["waits"], _for(f)) for f in found["fibers"]]
        output.table(("fiber", "waits for", "which"), rows, "")


def _for(fiber: dict[str, Any]) -> str:
    """What a fiber waits for, exactly."""
    parts = [fiber[key] for key in ("action", "function", "path", "kind") if fiber.get(key)]
    if "code" in fiber:
        parts.append(f"{fiber['code']}: {json.dumps(fiber['error'], ensure_ascii=False)}")
    due = fiber.get("until", fiber.get("due"))
    if due is not None:
        parts.append(f"until {output.instant(due)}")
    return "  ".join(parts)


@execution.command()
@click.argument("id")
@as_json
@connected
def history(client: Client, id: str, *, as_json: bool) -> None:
    """Show what has happened to the execution ID, as a timeline; with --json one entry a line."""
    entries = client.history(id)
    if as_json:
        for entry in entries:
            output.write_json(entry)
    else:
        output.history(entries)


@execution.command()
@click.argument("id")
@click.option(
    "--prices", type=FILE, help="TOML or JSON file of prices that replace the built-in ones."
)
@as_json
@connected
def cost(client: Client, id: str, prices: Path | None, *, as_json: bool) -> None:
    """Show what the steps of the execution ID cost, in time and in money.

    Money is at list prices, without free tiers and discounts. What a cloud does not tell is listed as unknown.
    """
    table = _prices(prices)
    found = client.ask("GET", f"executions/{id}/cost")
    if table is not None:
        found["money"] = priced(found["steps"], table)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (share["cloud"], share["steps"], _ms(share["billed"]), _ms(share["took"]), _untold(share))
        for share in found["clouds"]
    ]
    conducted = _ms(found["conductor"])
    rows.append(("conductor", "", conducted, conducted, ""))
    rows.append(("waiting", "", _ms(0), _ms(found["waited"]), ""))
    output.table(("", "steps", "billed", "took", ""), rows, "")
    _show_money(found["money"])


def _prices(file: Path | None) -> Prices | None:
    if file is None:
        return None
    try:
        return read_prices(file.read_text("utf-8"))
    except OSError as error:
        raise click.UsageError(f"--prices {file}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, PricesError) as error:
        raise click.UsageError(f"--prices {file}: {error}") from error


def _show_money(money: dict[str, Any]) -> None:
    if not money["steps"]:
        return
    currency = money["currency"]
    rows = [
        (step["step"], step["kind"], step["requests"], f"{step['amount']:.9f}", _notes(step))
        for step in money["steps"]
    ]
    rest = "" if money["complete"] else "and what is unknown"
    rows.append(("total", "", "", f"{money['total']:.9f}", rest))
    output.console().print(f"\nlist prices of {money['date']}, without free tiers and discounts")
    output.table(("step", "kind", "requests", currency, ""), rows, "")


def _notes(step: dict[str, Any]) -> str:
    told = [f"unknown: {text}" for text in step["unknown"]]
    return "; ".join([*told, *(f"assumed: {text}" for text in step["assumed"])])


def _ms(value: float) -> str:
    return f"{value:,.3f} ms" if value < 1 else f"{value:,.0f} ms"


def _untold(share: dict[str, Any]) -> str:
    count = share["untold"]
    return f"no bill of {count}: counted by how long they took from here" if count else ""


@execution.command()
@click.argument("id")
@click.option("--terminate", is_flag=True, help="End it at once: no finalizer runs.")
@as_json
@connected
def cancel(client: Client, id: str, *, terminate: bool, as_json: bool) -> None:
    """Cancel the execution ID: steps under way are abandoned, finalizers run."""
    _told(client.ask("POST", f"executions/{id}/cancel", terminate=terminate), as_json=as_json)


@execution.command()
@click.argument("id")
@as_json
@connected_or_offline
def terminate(client: Client, id: str, *, data: Path | None, as_json: bool) -> None:
    """End the execution ID and all it has started, at once: no finalizer runs.

    With --data it ends them in the store of a stopped server, whatever their namespace.
    """
    if data is None:
        _told(client.ask("POST", f"executions/{id}/cancel", terminate=True), as_json=as_json)
        return
    ended = offline.terminated(data, id)
    if as_json:
        output.write_json(ended)
    else:
        output.done(f"{id} and {ended['below']} executions below it are ended")


@execution.command()
@click.argument("id")
@as_json
@connected
def resume(client: Client, id: str, *, as_json: bool) -> None:
    """Let the paused execution ID try again."""
    _told(client.ask("POST", f"executions/{id}/resume"), as_json=as_json)


@execution.command()
@click.argument("id")
@click.option("--file", type=FILE, help="Go on with the composition in this file.")
@click.option("--name", help="Composition of the file to take, if it has several.")
@as_json
@connected
def redrive(client: Client, id: str, file: Path | None, name: str | None, *, as_json: bool) -> None:
    """Take the failed execution ID up again from the steps that failed; what is done stays done."""
    body = None
    if file is not None:
        body = {"composition": files.composition(file, name).to_json()}
    _told(client.ask("POST", f"executions/{id}/redrive", body=body), as_json=as_json)


def _told(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(found)
    else:
        output.done(f"{found['executionId']} is {found['status']}")
