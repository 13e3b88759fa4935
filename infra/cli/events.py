"""`xingqiao event ...`: CloudEvents, sent and looked at."""

from __future__ import annotations

import sys
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import click

from ..client import CLOUD_EVENTS
from . import output
from .exit_codes import FAILED
from .options import as_json, connected, json_of, values

if TYPE_CHECKING:
    from .client import Client

EVENTS = "events"
ID_BYTES = 16
NO_EXTENSIONS = ("specversion", "id", "source", "type", "subject", "data")
TAKEN_BEFORE = "CloudEvents with the same source and id, and another content, were sent before"


@click.group()
def event() -> None:
    """Send CloudEvents, and see what became of them.

    A CloudEvent fires the triggers whose filters it fits; their rules invoke actions.
    """


@event.command(
    epilog="\b\nExamples:\n"
    "  xingqiao event send --type order.placed --source /shop --data '{\"total\": 5}' --wait\n"
    "  xingqiao event send events.json"
)
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option("--type", help="Type, such as com.example.order.placed.")
@click.option("--source", help="Source, such as /shop.")
@click.option("--data", help="Data. It is read as JSON, and as plain text if it is not JSON.")
@click.option("--id", help="Id. A CloudEvent with the same source and id is taken once [default: a new one].")  # fmt: skip
@click.option("--subject", help="Subject, such as orders/7.")
@click.option("--ext", "extensions", nargs=2, multiple=True, metavar="NAME VALUE",
              help="Extension attribute. Repeatable.")  # fmt: skip
@click.option("--wait", is_flag=True, help="Wait until the triggers have fired.")
@as_json
@connected
def send(
    client: Client, file: str | None, *, wait: bool, as_json: bool, **given: Any
) -> int | None:
    """Send a CloudEvent, or those in FILE.

    FILE contains a CloudEvent in the JSON format or a list of up to 1,000; - is standard input. Without FILE, --type
    and --source are needed. The exit code is 1 if a CloudEvent was sent before with another content.
    """
    events = _described(given) if file is None else _in_file(file, given)
    headers, waits = {"Content-Type": CLOUD_EVENTS}, "effects" if wait else None
    taken = client.ask("POST", EVENTS, headers, body=events, wait=waits)
    conflicts = taken.get("conflicts", 0)
    if as_json:
        output.write_json(taken)
    elif conflicts:
        output.failed(f"{_counts(taken)}, {conflicts} refused: {TAKEN_BEFORE}")
    elif len(events) == 1:
        before = "" if taken["accepted"] else " before"
        output.done(f"the CloudEvent {taken['keys'][0]} was accepted{before}")
    else:
        output.done(_counts(taken))
    return FAILED if conflicts else None


def _described(given: dict[str, Any]) -> list[dict[str, Any]]:
    for name in ("type", "source"):
        if not given[name]:
            raise click.UsageError(f"--{name}: it is needed unless a FILE is given")
    extensions = dict(given["extensions"])
    if others := [name for name in NO_EXTENSIONS if name in extensions]:
        raise click.UsageError(f"--ext: '{others[0]}' is no extension attribute")
    made: dict[str, Any] = {
        "specversion": "1.0",
        "id": given["id"] or token_hex(ID_BYTES),
        "source": given["source"],
        "type": given["type"],
        **extensions,
    }
    if given["subject"] is not None:
        made["subject"] = given["subject"]
    if given["data"] is not None:
        made |= values([("data", given["data"])])
    return [made]


def _in_file(file: str, given: dict[str, Any]) -> list[Any]:
    if other := next((name for name, value in given.items() if value), None):
        option = "ext" if other == "extensions" else other
        raise click.UsageError(f"--{option}: give either FILE or the parts of a CloudEvent")
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
        found = json_of(text)
    except OSError as error:
        raise click.UsageError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise click.UsageError(f"{file} is not valid JSON: {error}") from error
    return found if isinstance(found, list) else [found]


def _counts(taken: dict[str, Any]) -> str:
    before = f", {taken['duplicates']} sent before" if taken["duplicates"] else ""
    return f"CloudEvents: {taken['accepted']} accepted{before}"


@event.command(epilog="\b\nExample:\n  xingqiao event get 5f1c8e0a7b2d4c6e9f8a1b3c5d7e9f0a")
@click.argument("key")
@as_json
@connected
def get(client: Client, key: str, *, as_json: bool) -> None:
    """Show what became of the CloudEvent KEY.

    `xingqiao event send` prints the key. A CloudEvent is forgotten after seven days.
    """
    found = client.ask_run("GET", key, of=EVENTS)
    if as_json:
        output.write_json(found)
        return
    print(f"{key}: {found['state']}, accepted {output.instant(found['seen'])}")
    rows = [
        *((fired["trigger"], fired["activationId"] or "", "") for fired in found["fired"]),
        *((refused["trigger"], "", refused["error"]) for refused in found["refused"]),
    ]
    if rows:
        output.table(("trigger", "activation", "error"), rows, "")
