"""`xingqiao deploy`, `invoke`, and `action ...`."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any

import click

from . import files, output
from .options import FILE, as_json, connected, parameters, values

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .client import Client

OK, ACCEPTED = 200, 202
PAGE = 200
WAIT_MS = 20_000  # of one look at an activation


@click.command()
@click.argument("file", type=FILE)
@click.option("--name", help="Of what the file defines, when it defines one thing.")
@as_json
@connected
def deploy(client: Client, file: Path, name: str | None, *, as_json: bool) -> None:
    """Deploy what FILE defines: compositions and actions (.py, .json or .zip).

    A .py file is run to find its compositions, each deployed under its variable's name, with the
    actions that they define; or else, if it has a function `main`, it is itself an action.
    """
    deployed = []
    for action_name, document in files.read(file, name).documents().items():
        deployed.append(client.put_action(action_name, document, overwrite=True))
        if not as_json:
            last = deployed[-1]
            output.done(f"{last['name']} {last['version']} ({last['exec']['kind']})")
    if as_json:
        output.write_json(deployed)


@click.command()
@click.argument("name")
@parameters
@click.option("--blocking", "-b", is_flag=True, help="Wait for its end.")
@click.option("--result", "-r", is_flag=True, help="Wait, and show the result only.")
@as_json
@connected
def invoke(  # noqa: PLR0913  its options
    client: Client,
    name: str,
    params: dict[str, Any],
    *,
    blocking: bool,
    result: bool,
    as_json: bool,
) -> int:
    """Invoke the action NAME. Exits with 1 when it is waited for and has failed."""
    if not (blocking or result):
        _, answer = client.invoke(name, params, blocking=False, result=False)
        id = answer["activationId"]
        output.write_json(answer) if as_json else output.done(f"{name} has the activation {id}")
        return 0
    record = _ended(client, name, params)
    shown = record["response"]["result"] if result else record
    output.write_json(shown) if as_json else output.document(shown)
    return 0 if record["response"]["success"] else 1


def _ended(client: Client, name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The record of an invocation, once it has ended, however long that takes."""
    began = time.monotonic()
    with output.waiting(f"{name} ...") as tell:
        status, answer = client.invoke(name, params, blocking=True, result=False)
        while status == ACCEPTED:
            id = answer["activationId"]
            tell(f"{name} {id} ... {time.monotonic() - began:.0f} s")
            record = client.activation(id, wait_ms=WAIT_MS)
            if record is not None:
                return record
        return dict(answer)


@click.group()
def action() -> None:
    """Actions: list, get, create, update, delete."""


@action.command("list")
@click.option("--limit", type=click.IntRange(0), default=PAGE, show_default=True)
@click.option("--skip", type=click.IntRange(0), default=0)
@as_json
@connected
def list_(client: Client, limit: int, skip: int, *, as_json: bool) -> None:
    """List the actions of the namespace."""
    found = client.ask("GET", "actions", limit=limit, skip=skip)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (doc["name"], _kind(doc), doc["version"], output.instant(doc["updated"])) for doc in found
    ]
    output.table(
        ("name", "kind", "version", "updated"), rows, "no actions yet: xingqiao deploy FILE"
    )


def _kind(doc: dict[str, Any]) -> str:
    return str(next((n["value"] for n in doc["annotations"] if n["key"] == "exec"), ""))


@action.command()
@click.argument("name")
@click.option("--save", type=FILE, help="Write its code, or its composition, to this file.")
@as_json
@connected
def get(client: Client, name: str, save: Path | None, *, as_json: bool) -> None:
    """Show the action NAME."""
    found = client.ask_action("GET", name)
    if save is not None:
        save.write_bytes(files.content(found["exec"]))
        output.done(f"{name} is in {save}")
    elif as_json:
        output.write_json(found)
    else:
        output.document(found)


def _definition(command: Any) -> Any:
    """The arguments and options of create and update, as if each were written above the command."""
    definition = (
        click.argument("name"),
        click.argument("file", type=FILE, required=False),
        click.option("--kind", help="Of the code [python:3]."),
        click.option("--main", help="Function that is called [main]."),
        click.option("--annotation", "-a", nargs=2, multiple=True, metavar="NAME VALUE"),
        click.option("--timeout", type=int, help="Milliseconds that it may take."),
        click.option("--memory", type=int, help="Megabytes that it may use."),
        as_json,
        parameters,
    )
    for option in reversed(definition):
        command = option(command)
    return command


@action.command()
@_definition
@connected
def create(client: Client, name: str, file: Path | None, **given: Any) -> None:
    """Create the action NAME from FILE (.py, .zip or .json)."""
    if file is None:
        raise click.UsageError("FILE is missing: an action is made of code or of a composition")
    _put(client, name, file, overwrite=False, **given)


@action.command()
@_definition
@connected
def update(client: Client, name: str, file: Path | None, **given: Any) -> None:
    """Update the action NAME: its code if there is a FILE, and whatever options say."""
    _put(client, name, file, overwrite=True, **given)


def _put(  # noqa: PLR0913  the options
    client: Client,
    name: str,
    file: Path | None,
    *,
    overwrite: bool,
    as_json: bool,
    kind: str | None,
    main: str | None,
    annotation: Iterable[tuple[str, str]],
    params: dict[str, Any],
    **limits: int | None,
) -> None:
    document: dict[str, Any] = {} if file is None else {"exec": _exec(file, kind, main)}
    if params:
        document["parameters"] = [{"key": key, "value": value} for key, value in params.items()]
    if notes := values(annotation):
        document["annotations"] = [{"key": key, "value": value} for key, value in notes.items()]
    if given := {key: value for key, value in limits.items() if value is not None}:
        document["limits"] = given
    made = client.put_action(name, document, overwrite=overwrite)
    if as_json:
        output.write_json(made)
    else:
        output.done(f"{made['name']} {made['version']} ({made['exec']['kind']})")


def _exec(file: Path, kind: str | None, main: str | None) -> dict[str, Any]:
    """The `exec` of an action made of one file, whose code is not run here."""
    if file.suffix == ".json":
        (document,) = files.read(file, "it").documents().values()
        return dict(document["exec"])
    try:
        content = file.read_bytes()
        binary = file.suffix == ".zip"
        code = base64.b64encode(content).decode() if binary else content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise files.FileError(f"{file}: {error}") from error
    made: dict[str, Any] = {"kind": kind or "python:3", "code": code, "binary": binary}
    return made if main is None else {**made, "main": main}


@action.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the action NAME. Executions of it that are under way go on."""
    gone = client.ask_action("DELETE", name)
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
