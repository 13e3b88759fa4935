"""`xingqiao execution reset` and `fork`: a new run begins at an entry of a history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from . import files, output
from .completion import execution_ids
from .options import FILE, as_json, connected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .client import Client


class Entry(click.ParamType[Any]):
    """Number of an entry, or `first` or `last`."""

    name = "entry"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in ("first", "last"):
            return value
        if str(value).isdecimal():
            return int(value)
        return self.fail(f"{value!r} is not the number of an entry, 'first' or 'last'.", param, ctx)


def _place(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose an entry, and the program of the new run."""
    for option in (
        click.option("--name", help="Composition to use, if the file has several [default: the last]."),
        click.option("--file", type=FILE, help="File with a corrected composition for the new run."),
        click.option("--messages", type=click.Choice(["keep", "drop"]), default="keep", show_default=True,
                     help="Tell the new run the messages that came after the entry, or not."),
        click.option("--reason", default="", help="Text for the history."),
        click.option("--step", help="Path of a step, or name of its action: its last run."),
        click.option("--to", type=Entry(), metavar="ENTRY", help="Number of a history entry, first or last [default: last]."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(epilog="\b\nExample:\n  xingqiao execution reset ID --step charge")
@click.argument("id", shell_complete=execution_ids)
@_place
@as_json
@connected
def reset(client: Client, id: str, *, as_json: bool, **place: Any) -> None:
    """Begin execution ID again at an entry of its history.

    The new run keeps the steps that succeeded before the entry, and runs everything after it again. What was
    done after the entry is not undone. If ID is still running, it ends at once, without finalizers.

    `xingqiao execution history ID` shows the numbers of the entries.
    """
    found = client.ask_run("POST", id, "/reset", body=_body(client, **place))
    _told(found, f"{id} begins again as {found['executionId']}", as_json=as_json)


@click.command(
    epilog="\b\nExample:\n  xingqiao execution fork ID --to 12 --input '{\"amount\": 5}'"
)
@click.argument("id", shell_complete=execution_ids)
@_place
@click.option(
    "--input", "given", help="Other input, as JSON, for the step that the entry asks for."
)
@click.option("--id", "own", help="Your id for the new execution [default: none].")
@as_json
@connected
def fork(
    client: Client, id: str, own: str | None, given: str | None, *, as_json: bool, **place: Any
) -> None:
    """Begin a new execution at an entry of execution ID's history.

    The new execution keeps the steps that succeeded before the entry. Execution ID goes on as before.
    """
    body = _body(client, **place)
    if given is not None:
        try:
            body["input"] = json.loads(given)
        except ValueError as error:
            raise click.BadParameter(f"not valid JSON: {error}", param_hint="--input") from None
    query = {} if own is None else {"id": own}
    found = client.ask_run("POST", id, "/fork", body=body, **query)
    _told(found, f"{found['executionId']} begins as a fork of {id}", as_json=as_json)


def _body(  # noqa: PLR0913  the options that choose an entry
    client: Client,
    *,
    to: Any,
    step: str | None,
    reason: str,
    file: Path | None,
    name: str | None,
    messages: str,
) -> dict[str, Any]:
    """The request's body; the actions that the file defines are deployed first."""
    if to is not None and step is not None:
        raise click.UsageError("Give either --to or --step.")
    body: dict[str, Any] = {"to": {"step": step} if step is not None else to or "last"}
    if reason:
        body["reason"] = reason
    if messages != "keep":
        body["messages"] = messages
    if file is not None:
        contents = files.read(file)
        _, composition = contents.main(file, name)
        body["composition"] = composition.to_json()
        for action, document in contents.actions_alone().items():
            client.put_action(action, document, overwrite=True)
    return body


def _told(found: dict[str, Any], text: str, *, as_json: bool) -> None:
    output.write_json(found) if as_json else output.done(text)
