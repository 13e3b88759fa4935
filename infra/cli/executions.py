"""`xingqiao execution ...`: inspects, stops and repairs executions of compositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import files, offline, output
from .client import annotations_of
from .completion import execution_ids
from .finding import annotate, count, page, where
from .messages import messages, tell
from .options import (
    FILE,
    as_json,
    connected,
    connected_or_offline,
    pages,
    parameters,
    period,
    values,
)
from .queries import query
from .resets import fork, reset
from .standing import show
from .updates import update
from .watching import logs, watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...composer import JSON
    from .client import Client

SHOWN = 30
REDRIVE_WAIT_MS = 1000  # time for an execution to fail again
FAILED = ("failed", "timed_out")
STATUSES = (
    "running", "paused", "stuck", "succeeded", "failed", "timed_out", "cancelled", "continued",
)  # fmt: skip


@click.group()
def execution() -> None:
    """Manage executions: list, get, history, complete, redrive.

    An execution is one run of a composition or of a state machine.
    """


execution.add_command(watch)
execution.add_command(logs)
execution.add_command(reset)
execution.add_command(fork)
execution.add_command(query)
execution.add_command(tell)
execution.add_command(messages)
execution.add_command(update)
execution.add_command(count)
execution.add_command(annotate)


@execution.command(
    "list", epilog="\b\nExample:\n  xingqiao execution list --status failed --limit 5"
)
@click.option(
    "--status", type=click.Choice(STATUSES), help="Status of the executions [default: any]."
)
@click.option("--name", help="Name of the action [default: any].")
@click.option("--id", help="Your id: list the runs of that execution [default: any].")
@click.option("--limit", type=click.IntRange(0, 200), default=SHOWN, show_default=True,
              help="Maximum number of executions to list.")  # fmt: skip
@click.option("--skip", type=click.IntRange(0), default=0, show_default=True,
              help="Number of executions to leave out at the start.")  # fmt: skip
@click.option(
    "--after", metavar="CURSOR", help="Cursor that the page before ended with, with --where."
)
@where
@period
@as_json
@connected_or_offline
def list_(client: Client, *, data: Path | None, as_json: bool, **query: Any) -> None:
    """List executions, the newest first.

    With --where, list the executions that a filter finds, in its order.
    """
    more = None
    if data is not None and (query.pop("where") is not None or query.pop("after") is not None):
        raise click.UsageError("--where needs a server: leave --data out")
    if query.get("where") is not None:
        found, more = page(client, query)
    elif query.get("after") is not None:
        raise click.UsageError("--after goes with --where")
    elif data is None:
        found = client.ask("GET", "executions", **query)
    elif query.pop("id") is not None:
        raise click.UsageError("--id needs a server: leave --data out")
    else:
        found = offline.list_executions(data, query)
    if as_json:
        output.write_json(found)
        return
    named = any("id" in doc for doc in found)
    rows = [
        (
            output.instant(doc["start"]),
            doc["executionId"],
            *([doc.get("id", "")] if named else []),
            doc["name"],
            output.status(doc["status"]),
            output.duration(doc["end"] - doc["start"] if "end" in doc else None),
        )
        for doc in found
    ]
    columns = ("start", "execution", *(["id"] if named else []), "action", "status", "duration")
    output.table(columns, rows, "no executions")
    if more is not None:
        click.echo(f"more with --after {more}")


@execution.command()
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def get(client: Client, id: str, *, as_json: bool) -> None:
    """Show the status of the execution ID and of its fibers.

    The output includes the input, the last error, the start, and the commands that make sense next.

    A fiber is one line of control; a fork starts several. The table shows the event that each fiber
    waits for.
    """
    found = client.ask_run("GET", id)
    output.write_json(found) if as_json else show(client, found)


@execution.command()
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def history(client: Client, id: str, *, as_json: bool) -> None:
    """Show the history of the execution ID as a timeline.

    With --json the command prints one history entry per line.
    """
    entries = client.history(id)
    if as_json:
        for entry in entries:
            output.write_json(entry)
    else:
        output.history(entries)


@execution.command(epilog="\b\nExample:\n  xingqiao execution cost ID --prices prices.toml")
@click.argument("id", shell_complete=execution_ids)
@click.option(
    "--prices", type=FILE, help="TOML or JSON file of prices that replace the built-in prices."
)
@as_json
@connected
def cost(client: Client, id: str, prices: Path | None, *, as_json: bool) -> None:
    """Show the cost of the execution ID in time and money.

    Amounts are list prices, without free tiers and discounts. Data that a cloud does not report is marked
    as unknown and not included.
    """
    price = _pricing(prices)
    found = client.ask_run("GET", id, "/cost")
    if price is not None:
        found["money"] = price(found["steps"])
    if as_json:
        output.write_json(found)
        return
    rows = [
        (share["cloud"], share["steps"], _ms(share["billed"]), _ms(share["took"]), _unbilled(share))
        for share in found["clouds"]
    ]
    conducted = _ms(found["conductor"])
    rows.append(("conductor", "", conducted, conducted, ""))
    rows.append(("waiting", "", _ms(0), _ms(found["waited"]), ""))
    output.table(("", "steps", "billed", "took", ""), rows, "")
    _show_money(found["money"])


def _pricing(file: Path | None) -> Callable[[list[dict[str, Any]]], JSON] | None:
    """Returns the function that puts the prices of a file on the steps of an execution."""
    if file is None:
        return None
    from ..engine import PricesError, priced, read_prices  # noqa: PLC0415  no other command needs them

    try:
        table = read_prices(file.read_text("utf-8"))
    except OSError as error:
        raise click.UsageError(f"--prices: {file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, PricesError) as error:
        raise click.UsageError(f"--prices: {file}: {error}") from error
    return lambda steps: priced(steps, table)


def _show_money(money: dict[str, Any]) -> None:
    if not money["steps"]:
        return
    currency = money["currency"]
    rows = [
        (step["step"], step["kind"], step["requests"], f"{step['amount']:.9f}", _notes(step))
        for step in money["steps"]
    ]
    rest = "" if money["complete"] else "unknown parts not included"
    rows.append(("total", "", "", f"{money['total']:.9f}", rest))
    output.console().print(f"\nlist prices of {money['date']}, without free tiers and discounts")
    output.table(("step", "kind", "requests", currency, ""), rows, "")


def _notes(step: dict[str, Any]) -> str:
    notes = [f"unknown: {text}" for text in step["unknown"]]
    return "; ".join([*notes, *(f"assumed: {text}" for text in step["assumed"])])


def _ms(value: float) -> str:
    return f"{value:,.3f} ms" if value < 1 else f"{value:,.0f} ms"


def _unbilled(share: dict[str, Any]) -> str:
    count = share["untold"]
    steps = "1 step" if count == 1 else f"{count} steps"
    return f"{steps} without a reported bill: local time counted" if count else ""


@execution.command()
@click.argument("id", shell_complete=execution_ids)
@click.option("--terminate", is_flag=True, help="End the execution at once, without finalizers.")
@as_json
@connected
def cancel(client: Client, id: str, *, terminate: bool, as_json: bool) -> None:
    """Cancel the execution ID: abandon running steps, run finalizers."""
    _told(client.ask_run("POST", id, "/cancel", terminate=terminate), as_json=as_json)


@execution.command()
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected_or_offline
def terminate(client: Client, id: str, *, data: Path | None, as_json: bool) -> None:
    """End the execution ID at once, without finalizers.

    All executions below it end too. With --data the command changes the store of a stopped server, in any
    namespace.
    """
    if data is None:
        _told(client.ask_run("POST", id, "/cancel", terminate=True), as_json=as_json)
        return
    ended = offline.terminate(data, id)
    if as_json:
        output.write_json(ended)
    else:
        output.done(f"terminated {id} and {ended['below']} executions below it")


@execution.command()
@click.argument("id", shell_complete=execution_ids)
@as_json
@connected
def pause(client: Client, id: str, *, as_json: bool) -> None:
    """Pause the execution ID: begin no further step.

    Running steps end, and timers run on. `xingqiao execution resume` continues the execution. Compositions
    that run as steps of it are not paused: pause them by their own ids.
    """
    _told(client.ask_run("POST", id, "/pause"), as_json=as_json)


@execution.command()
@click.argument("id")
@as_json
@connected
def resume(client: Client, id: str, *, as_json: bool) -> None:
    """Resume the paused execution ID.

    If a failed step paused it, the step is retried.
    """
    _told(client.ask_run("POST", id, "/resume"), as_json=as_json)


@execution.command(epilog="\b\nExample:\n  xingqiao execution waiting --name approve")
@click.option("--name", help="Name of the action [default: any].")
@pages
@as_json
@connected
def waiting(client: Client, name: str | None, *, as_json: bool, **page: int) -> None:
    """List the steps that wait for their callbacks.

    The newest come first. Answer one with `xingqiao execution complete` or `xingqiao execution fail`.
    """
    found = client.ask("GET", "activations", status="waiting", name=name, docs=True, **page)
    if as_json:
        output.write_json(found)
        return
    rows = []
    for doc in found:
        waits = annotations_of(doc)["waiting"]
        until = "" if waits["until"] is None else output.instant(waits["until"])
        since = output.instant(waits["since"])
        rows.append((since, until, waits["executionId"], waits["fiber"], doc["name"]))
    columns = ("since", "until", "execution", "step", "action")
    output.table(columns, rows, "no step waits for an answer")


@execution.command(epilog="\b\nExample:\n  xingqiao execution complete ID approve -p approved true")
@click.argument("id", shell_complete=execution_ids)
@click.argument("step", required=False)
@parameters
@as_json
@connected
def complete(
    client: Client, id: str, step: str | None, params: dict[str, Any], *, as_json: bool
) -> None:
    """Answer a waiting step of the execution ID with parameters.

    The parameters are the result of the step.

    STEP is the fiber or the action of the step. You need it only if several steps wait. For an action that
    was invoked by itself, ID is its activation.
    """
    _answered(client, id, step, {"result": params}, as_json=as_json)


@execution.command(epilog="\b\nExample:\n  xingqiao execution fail ID approve --error rejected")
@click.argument("id", shell_complete=execution_ids)
@click.argument("step", required=False)
@click.option("--error", required=True, help="The error. It is read as JSON, else as plain text.")
@as_json
@connected
def fail(client: Client, id: str, step: str | None, error: str, *, as_json: bool) -> None:
    """Fail a waiting step of the execution ID with an error.

    STEP is the fiber or the action of the step. You need it only if several steps wait.
    """
    [made] = values([("error", error)]).values()
    _answered(client, id, step, {"error": made}, as_json=as_json)


def _answered(
    client: Client, id: str, step: str | None, answer: dict[str, Any], *, as_json: bool
) -> None:
    body = answer if step is None else {**answer, "step": step}
    told = client.ask_run("POST", id, "/answer", body=body)
    output.write_json(told) if as_json else output.done(f"the step of {id} is answered")


@execution.command(epilog="\b\nExample:\n  xingqiao execution redrive ID --file pipeline.py")
@click.argument("id", shell_complete=execution_ids)
@click.option("--file", type=FILE, help="File with a corrected composition to continue with.")
@click.option("--name", help="Composition to use, if the file has several [default: the last].")
@as_json
@connected
def redrive(client: Client, id: str, file: Path | None, name: str | None, *, as_json: bool) -> int:
    """Redrive the failed execution ID from its failed steps.

    Steps that succeeded do not run again. With --file the command also deploys the actions that the file
    defines. The exit code is 1 if the execution fails again at once.
    """
    body = None
    if file is not None:
        contents = files.read(file)
        _, composition = contents.main(file, name)
        body = {"composition": composition.to_json()}
        for action, document in contents.actions_alone().items():
            made = client.put_action(action, document, overwrite=True)
            if not as_json:
                output.done(f"{made['name']} {made['version']} ({made['exec']['kind']})")
    found = client.ask_run("POST", id, "/redrive", body=body, wait=REDRIVE_WAIT_MS)
    if found["status"] not in FAILED:
        _told(found, as_json=as_json)
        return 0
    if as_json:
        output.write_json(found)
    else:
        output.failed(f"{id} has {found['status'].replace('_', ' ')} again")
        click.echo(f"xingqiao execution history {id} shows at which step")
    return 1


def _told(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.write_json(found)
    else:
        output.done(f"{found['executionId']} is {found['status']}")
