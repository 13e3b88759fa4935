"""`xingqiao adapter ...` and `secret ...`: whether functions elsewhere can be reached, and as whom."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import FILE, as_json, connected

if TYPE_CHECKING:
    from pathlib import Path

    from .client import Client

AVAILABLE = "available"


@click.group()
def adapter() -> None:
    """Functions on clouds: which kinds there are, and whether they can be reached."""


@adapter.command("list")
@as_json
@connected
def list_(client: Client, *, as_json: bool) -> None:
    """List the kinds of actions that run elsewhere, and what is missing for those that cannot."""
    found = client.ask("GET", "adapters")
    if as_json:
        output.write_json(found)
        return
    output.table(("kind", "status"), ((doc["kind"], doc["status"]) for doc in found), "")


@adapter.command()
@click.argument("names", nargs=-1)
@as_json
@connected
def check(client: Client, names: tuple[str, ...], *, as_json: bool) -> int:
    """Check that the functions of the actions NAMES, or of all, can be reached, without running them.

    Exits with 1 when one cannot.
    """
    asked = names or _remote(client)
    found = []
    for name in asked:
        answer = client.send("POST", "/api/v1/namespaces/_/adapters/check", {"action": name})
        found.append({"action": name, **answer})
        if not as_json:
            _tell(name, answer)
    if as_json:
        output.write_json(found)
    elif not asked:
        output.console().print("no action runs elsewhere")
    return 0 if all(answer["ok"] for answer in found) else 1


def _remote(client: Client) -> list[str]:
    """The actions of the namespace that run elsewhere."""
    kinds = {doc["kind"] for doc in client.ask("GET", "adapters")}
    names, skip = [], 0
    while page := client.ask("GET", "actions", limit=200, skip=skip):
        for doc in page:
            notes = {note["key"]: note["value"] for note in doc["annotations"]}
            if notes.get("exec") in kinds:
                package = doc["namespace"].partition("/")[2]
                names.append(f"{package}/{doc['name']}" if package else doc["name"])
        skip += len(page)
    return names


def _tell(name: str, answer: dict[str, Any]) -> None:
    if answer["ok"]:
        output.done(f"{name} ({answer['kind']}): {answer['found']}")
    else:
        error = answer["error"]
        text = error.get("message", error) if isinstance(error, dict) else error
        output.failed(f"{name} ({answer['kind']}): {text}")


@click.group()
def secret() -> None:
    """Secrets that actions prove with who asks: set, list, delete. They are never shown."""


@secret.command("set")
@click.argument("name")
@click.option("--file", type=FILE, help="File with the secret [standard input, or a prompt].")
@connected
def set_(client: Client, name: str, file: Path | None) -> None:
    """Set the secret NAME: a text `id:key`, or a JSON object with a `type` (docs/clouds.md).

    It is read from a file, from standard input, or asked for; never from the command line, which others
    can see.
    """
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"--file {file}: {error}") from error
    elif sys.stdin.isatty():
        text = click.prompt(f"Secret '{name}'", hide_input=True)
    else:
        text = sys.stdin.read()
    client.ask("PUT", f"secrets/{name}", body=_meant(text.strip()))
    output.done(f"secret '{name}' is set")


def _meant(text: str) -> Any:
    if not text:
        raise click.UsageError("the secret is empty")
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise click.UsageError("the secret begins as a JSON object, and is none") from None


@secret.command("list")
@as_json
@connected
def list_secrets(client: Client, *, as_json: bool) -> None:
    """List the names of secrets, of which type they are, and when they were set."""
    found = client.ask("GET", "secrets")
    if as_json:
        output.write_json(found)
        return
    rows = ((doc["name"], doc["type"], output.instant(doc["updated"])) for doc in found)
    output.table(("name", "type", "set"), rows, "no secrets yet: xingqiao secret set NAME")


@secret.command()
@click.argument("name")
@connected
def delete(client: Client, name: str) -> None:
    """Delete the secret NAME. Actions that name it fail until it is set again."""
    client.ask("DELETE", f"secrets/{name}")
    output.done(f"secret '{name}' is deleted")
