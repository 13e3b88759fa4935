"""`xingqiao execution watch` and `logs`: follow an execution while it runs."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ...composer import timeline
from . import output
from .client import annotations_of
from .completion import execution_ids
from .options import as_json, connected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...composer import Line
    from .client import Client

LOOK_S = 0.3  # seconds between two requests
PAGE = 200
RUNNING = ("running", "paused", "stuck")
SUCCEEDED = "succeeded"


@click.command(epilog="\b\nExample:\n  xingqiao execution watch ID")
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def watch(client: Client, id: str, *, as_json: bool) -> int:
    """Show the timeline of the execution ID while it runs.

    The command ends with the execution; the exit code is 1 if the execution fails. Ctrl-C ends only the
    command. With --json it prints one history entry per line as entries arrive.
    """
    with output.going_on(f"the execution goes on; to see it again: xingqiao execution watch {id}"):
        if as_json:
            status = _entries_as_json(client, id)
        elif sys.stdout.isatty():
            status = _live(client, id)
        else:
            status = _lines(client, id)
    if not as_json:
        (output.done if status == SUCCEEDED else output.failed)(f"{id} {status.replace('_', ' ')}")
    return 0 if status == SUCCEEDED else 1


def _followed(client: Client, id: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The status and all entries so far, again and again until the execution has ended."""
    entries: list[dict[str, Any]] = []
    while True:
        status = str(client.ask("GET", f"executions/{id}")["status"])
        entries += client.history(id, after=entries[-1]["seq"] if entries else 0)
        yield status, entries
        if status not in RUNNING:
            return
        time.sleep(LOOK_S)


def _entries_as_json(client: Client, id: str) -> str:
    status, shown = "", 0
    for status, entries in _followed(client, id):  # noqa: B007  the last one is returned
        for entry in entries[shown:]:
            output.write_json(entry)
        shown = len(entries)
    return status


def _live(client: Client, id: str) -> str:
    status = ""
    with output.live() as show:
        for status, entries in _followed(client, id):  # noqa: B007
            show(output.timeline_table(entries))
    return status


def _lines(client: Client, id: str) -> str:
    """Prints each line once, when what it tells of is over."""
    status = ""
    shown: Counter[Line] = Counter()  # parallel steps may have lines that are equal
    for status, entries in _followed(client, id):
        over = [line for line in timeline(entries) if line.tone != "wait" or status not in RUNNING]
        for line in (Counter(over) - shown).elements():
            output.timeline_line(line)
        shown = Counter(over)
    return status


@click.command(epilog="\b\nExample:\n  xingqiao execution logs ID --follow")
@click.argument("id", shell_complete=execution_ids)
@click.option("--follow", "-f", is_flag=True, help="Wait for further lines until the end.")
@as_json
@connected
def logs(client: Client, id: str, *, follow: bool, as_json: bool) -> None:
    """Show the logs of all steps of the execution ID.

    Each line begins with the name of its action. The lines of a step appear when the step has ended, or
    waits for its callback.
    """
    seen: dict[str, int] = {}
    with output.going_on(f"the execution goes on; to see it again: xingqiao execution logs {id}"):
        while True:
            ended = client.ask("GET", f"executions/{id}")["status"] not in RUNNING
            for record in _records(client, id):
                _tell(record, seen, as_json=as_json)
            if ended or not follow:
                return
            time.sleep(LOOK_S)


def _records(client: Client, id: str) -> list[dict[str, Any]]:
    """The records of an execution's steps and of the steps below them, in order of their start."""
    found: list[dict[str, Any]] = []
    while True:
        page = client.ask("GET", "activations", cause=id, docs=True, limit=PAGE, skip=len(found))
        found += page
        if len(page) < PAGE:
            break
    below = [
        record
        for one in found
        if annotations_of(one).get("conductor") or annotations_of(one).get("kind") == "sequence"
        for record in _records(client, one["activationId"])
    ]
    return sorted([*found, *below], key=lambda record: record["start"])


def _tell(record: dict[str, Any], seen: dict[str, int], *, as_json: bool) -> None:
    if annotations_of(record).get("conductor") or annotations_of(record).get("kind") == "sequence":
        return  # its lines are the ids of its steps
    id, lines = record["activationId"], record["logs"]
    for line in lines[seen.get(id, 0) :]:
        if as_json:
            output.write_json({"activationId": id, "name": record["name"], "line": line})
        else:
            output.log_line(record["name"], line)
    seen[id] = len(lines)
