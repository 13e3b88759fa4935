"""`xingqiao execution watch` and `logs`: follow an execution while it runs."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from . import output
from .client import ACTIVATIONS, ApiError
from .completion import execution_ids
from .following import (
    RUNNING,
    WAIT_MS,
    Connection,
    Logs,
    Told,
    history,
    history_and_logs,
    plain_record,
    records_below,
    show_lines,
)
from .options import as_json, connected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .client import Client
    from .following import Line

SUCCEEDED = "succeeded"
_RUN = re.compile(r"[0-9a-f]{32}")


@click.command(epilog="\b\nExample:\n  xingqiao execution watch ID")
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def watch(client: Client, id: str, *, as_json: bool) -> int:
    """Show the timeline of the execution ID while it runs.

    The command ends with the execution; the exit code is 1 if the execution fails. Ctrl-C ends only the
    command. With --json it prints one history entry per line as entries arrive. The run of a plain
    action has no timeline: the command waits for its end.
    """
    connection, id = Connection(client), _run_of(client, id)
    with output.going_on(f"the execution goes on; to see it again: xingqiao execution watch {id}"):
        try:
            status = _watched(connection, id, as_json=as_json)
        except ApiError as error:
            if not error.is_missing:
                raise
            status = output.status_of(plain_record(connection, id, error))
    if not as_json:
        (output.done if status == SUCCEEDED else output.failed)(f"{id} {status.replace('_', ' ')}")
    return 0 if status == SUCCEEDED else 1


def _run_of(client: Client, id: str) -> str:
    """The run that your id means now: the command stays with that run."""
    if _RUN.fullmatch(id):
        return id
    try:
        return str(client.ask_run("GET", id)["executionId"])
    except ApiError as missing:
        if not missing.is_missing:
            raise
        try:  # a plain action leaves only its activation
            record = client.ask_run("GET", id, of=ACTIVATIONS, wait=WAIT_MS)
        except ApiError:
            raise missing from None
        return str(record["activationId"])


def _watched(connection: Connection, id: str, *, as_json: bool) -> str:
    if as_json:
        return _entries_as_json(connection, id)
    return _live(connection, id) if sys.stdout.isatty() else _lines(connection, id)


def _entries_as_json(connection: Connection, id: str) -> str:
    status, shown = "", 0
    for status, entries in history(connection, id):  # noqa: B007  the last one is returned
        for entry in entries[shown:]:
            output.write_json(entry)
        shown = len(entries)
    return status


def _live(connection: Connection, id: str) -> str:
    status = ""
    with output.live() as show:
        for status, entries in history(connection, id):  # noqa: B007
            show(entries)
    return status


def _lines(connection: Connection, id: str) -> str:
    status, told = "", Told()
    for status, entries in history(connection, id):
        told.show(entries, ended=status not in RUNNING)
    return status


@click.command(epilog="\b\nExample:\n  xingqiao execution logs ID --follow")
@click.argument("id", shell_complete=execution_ids)
@click.option("--follow", "-f", is_flag=True, help="Wait for further lines until the end.")
@as_json
@connected
def logs(client: Client, id: str, *, follow: bool, as_json: bool) -> None:
    """Show the logs of all steps of the execution ID.

    Each line begins with its time, the name of its action and the last digits of its activation's id. The
    lines of a step appear when the step has ended, or waits for its callback.
    """
    connection, id = Connection(client), _run_of(client, id)
    lines = Logs(connection, lambda: records_below(connection, id))
    with output.going_on(f"the execution goes on; to see it again: xingqiao execution logs {id}"):
        connection.ask(f"executions/{id}")  # an unknown one is an error, and has no logs
        _show(lines.stored(), as_json=as_json)
        if follow:
            for found in _followed(connection, id, lines):
                _show(found, as_json=as_json)


def _followed(connection: Connection, id: str, logs: Logs) -> Iterator[list[Line]]:
    """The new lines of an execution, until it has ended."""
    try:
        for _, _, found in history_and_logs(connection, id, logs):
            yield found
    except ApiError as error:
        if not error.is_missing:
            raise
        record = plain_record(connection, id, error)
        yield logs.take({"next": logs.position, "activations": [record]})


def _show(lines: Iterable[Line], *, as_json: bool) -> None:
    if as_json:
        for line in lines:
            output.write_json(line.to_json())
    else:
        show_lines(lines)
