"""`xingqiao schedule ...`: actions that start at given times."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from ...actions import OVERLAPS, InvalidError, schedule_of
from ..clock import SystemClock
from . import output
from .options import as_json, connected, pages, parameters
from .times import zoned

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

SCHEDULES = "schedules"
SHOWN = 10  # times of a dry run
_SPEC = ("zone", "start", "end", "jitter")  # options that are fields of the spec
_FIELDS = ("overlap", "catchup", "limit", "note")  # options that are fields of the document


@click.group()
def schedule() -> None:
    """Manage schedules: create, describe, pause, backfill and more.

    A schedule starts an action at given times. Runs that would overlap follow its overlap policy.
    """


def _timed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say when and how a schedule starts its action."""
    options = (
        click.option("--cron", multiple=True, metavar="EXPRESSION", help="Cron expression of 5 fields, or of 6 with seconds first; also @daily or '@every 90s'. Repeatable."),
        click.option("--every", multiple=True, metavar="DURATION", help="Interval from the epoch, such as 90s or 1h. Repeatable."),
        click.option("--zone", metavar="ZONE", help="Time zone, such as Europe/Berlin [default: UTC]."),
        click.option("--start", metavar="TIME", help="First instant, in ISO 8601 [default: now]."),
        click.option("--end", metavar="TIME", help="Last instant, in ISO 8601 [default: none]."),
        click.option("--jitter", metavar="DURATION", help="Longest random delay of a start [default: 0s]."),
        click.option("--overlap", type=click.Choice(OVERLAPS), help="Policy for a time at which a run is open [default: skip]."),
        click.option("--catchup", metavar="DURATION", help="Age up to which a missed time is made up for [default: 365d]."),
        click.option("--limit", type=click.IntRange(1), help="Number of times that may start a run [default: any]."),
        click.option("--pause-on-failure", is_flag=True, help="Pause the schedule when a run fails."),
        click.option("--paused", is_flag=True, help="Create the schedule paused."),
        click.option("--note", metavar="TEXT", help="Note that is shown with the schedule."),
        click.option("--file", "-f", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="File with the schedule as JSON; options replace its fields."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@schedule.command(
    epilog="\b\nExamples:\n"
    "  xingqiao schedule create nightly report --cron '30 2 * * *' --zone Europe/Berlin\n"
    "  xingqiao schedule create nightly report --cron '30 2 * * *' --dry-run"
)
@click.argument("name")
@click.argument("action", required=False)
@_timed
@parameters
@click.option("--overwrite", is_flag=True, help="Replace a schedule of this name.")
@click.option("--dry-run", is_flag=True, help="Print the next 10 times and create nothing.")
@as_json
@connected
def create(
    client: Client,
    name: str,
    action: str | None,
    *,
    as_json: bool,
    **given: Any,
) -> None:
    """Create the schedule NAME, which starts ACTION.

    Parameters become the input of each run. A file may have calendars, skipped calendars and all other
    fields of a schedule; see docs/schedules.md.
    """
    document = _document(action, given)
    if given["dry_run"]:
        _write_times(_times(name, document), as_json=as_json)
        return
    made = client.ask("PUT", f"{SCHEDULES}/{name}", body=document, overwrite=given["overwrite"])
    if as_json:
        output.write_json(made)
    else:
        first = made["next"][0] if made["next"] else None
        when = "is paused" if made["status"] == "paused" else f"starts next at {_instant(first)}"
        output.done(f"the schedule {name} {when}")


def _document(action: str | None, given: dict[str, Any]) -> dict[str, Any]:
    file: Path | None = given["file"]
    document = {} if file is None else _read(file)
    do, spec = dict(document.get("do") or {}), dict(document.get("spec") or {})
    if action is not None:
        do["action"] = action
    if given["params"]:
        do["input"] = {**do.get("input", {}), **given["params"]}
    if given["cron"]:
        spec["cron"] = [*given["cron"]]
    if given["every"]:
        spec["intervals"] = [{"every": every} for every in given["every"]]
    for field in _SPEC:
        if given[field] is not None:
            spec[field] = zoned(given[field]) if field in ("start", "end") else given[field]
    fields = {field: given[field] for field in _FIELDS if given[field] is not None}
    flags = {field: True for field in ("pause_on_failure", "paused") if given[field]}
    return {**document, "spec": spec, "do": do, **fields, **flags}


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise click.UsageError(f"{file} is not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise click.UsageError(f"{file} must contain a JSON object")
    return document


def _times(name: str, document: dict[str, Any]) -> list[str]:
    """The next times, as the clocks of the schedule's zone show them."""
    definition = schedule_of(f"/_/{name}", document)
    zone = ZoneInfo(definition.spec.zone)
    instants = islice(definition.spec.upcoming(SystemClock().now_ms()), SHOWN)
    return [datetime.fromtimestamp(at_ms / 1000, zone).isoformat() for at_ms in instants]


def _write_times(times: list[str], *, as_json: bool) -> None:
    if as_json:
        output.write_json(times)
    elif not times:
        raise InvalidError("the schedule would never start a run")
    else:
        print("\n".join(times))


@schedule.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **page: int) -> None:
    """List the schedules of the namespace."""
    found = client.ask("GET", SCHEDULES, **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (doc["name"], doc["action"], doc["status"], _instant(doc["next"]), str(doc["open"]), doc["note"])
        for doc in found
    ]  # fmt: skip
    titles = ("schedule", "action", "status", "next", "open runs", "note")
    output.table(titles, rows, "there are no schedules")


@schedule.command()
@click.argument("name")
@as_json
@connected
def get(client: Client, name: str, *, as_json: bool) -> None:
    """Show the document of the schedule NAME as JSON."""
    found = client.ask("GET", f"{SCHEDULES}/{name}")["document"]
    output.write_json(found) if as_json else output.document(found)


@schedule.command()
@click.argument("name")
@as_json
@connected
def describe(client: Client, name: str, *, as_json: bool) -> None:
    """Show the next times and last runs of the schedule NAME."""
    found = client.ask("GET", f"{SCHEDULES}/{name}")
    if as_json:
        output.write_json(found)
        return
    why = f": {found['why']}" if found["why"] else ""
    print(f"{found['name']} starts {found['action']}, {found['status']}{why}")
    counts = ("open", "buffered", "missed", "skipped", "dropped")
    print(", ".join(f"{found[count]} {count}" for count in counts))
    output.table(
        ("next",), [(_instant(at_ms),) for at_ms in found["next"]], "there is no next time"
    )
    rows = [
        (run["id"], run["status"], _instant(run["started"]), _lasted(run), run["activationId"] or "")
        for run in found["last"]
    ]  # fmt: skip
    titles = ("run", "status", "started", "took", "activation")
    output.table(titles, rows, "there are no runs yet")


@schedule.command()
@click.argument("name")
@as_json
@connected
def pause(client: Client, name: str, *, as_json: bool) -> None:
    """Pause the schedule NAME. Its times pass without effect; open runs go on."""
    _ask(client, f"{name}/pause", f"the schedule {name} is paused", as_json=as_json)


@schedule.command()
@click.argument("name")
@as_json
@connected
def resume(client: Client, name: str, *, as_json: bool) -> None:
    """Resume the schedule NAME. Times that passed during the pause start no runs."""
    _ask(client, f"{name}/resume", f"the schedule {name} is resumed", as_json=as_json)


@schedule.command()
@click.argument("name")
@click.option(
    "--overlap",
    type=click.Choice(OVERLAPS),
    help="Policy for this run [default: the schedule's].",
)
@as_json
@connected
def trigger(client: Client, name: str, *, overlap: str | None, as_json: bool) -> None:
    """Start a run of the schedule NAME now. The schedule may be paused."""
    body = {} if overlap is None else {"overlap": overlap}
    text = f"the schedule {name} was triggered"
    _ask(client, f"{name}/trigger", text, as_json=as_json, body=body)


@schedule.command(
    epilog="\b\nExample:\n"
    "  xingqiao schedule backfill nightly --from 2026-11-01 --to 2026-11-07T23:59"
)
@click.argument("name")
@click.option("--from", "since", required=True, metavar="TIME", help="First instant, in ISO 8601.")
@click.option("--to", "upto", required=True, metavar="TIME", help="Last instant, in ISO 8601.")
@click.option(
    "--overlap", type=click.Choice(OVERLAPS), help="Policy for these runs [default: allow_all]."
)
@as_json
@connected
def backfill(
    client: Client, name: str, *, overlap: str | None, as_json: bool, **period: str
) -> None:
    """Start a run for each time of NAME in a period.

    Both ends are included.
    """
    body = {"from": zoned(period["since"]), "to": zoned(period["upto"])}
    if overlap is not None:
        body["overlap"] = overlap
    text = f"the schedule {name} starts the runs of the period"
    _ask(client, f"{name}/backfill", text, as_json=as_json, body=body)


@schedule.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the schedule NAME. Its open runs go on."""
    gone = client.ask("DELETE", f"{SCHEDULES}/{name}")
    output.write_json(gone) if as_json else output.done(f"the schedule {name} is deleted")


def _ask(client: Client, path: str, text: str, *, as_json: bool, body: Any = None) -> None:
    answer = client.ask("POST", f"{SCHEDULES}/{path}", body=body)
    output.write_json(answer) if as_json else output.done(text)


def _instant(at_ms: int | None) -> str:
    return "" if at_ms is None else output.instant(at_ms)


def _lasted(run: dict[str, Any]) -> str:
    return "" if run["ended"] is None else output.duration(run["ended"] - run["started"])
