"""`xingqiao adapter ...` and `secret ...`: access to functions on clouds, and its credentials."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from . import output
from .client import annotations_of
from .options import FILE, as_json, connected

if TYPE_CHECKING:
    from pathlib import Path

    from .client import Client

AVAILABLE = "available"


@click.group()
def adapter() -> None:
    """Check access to functions on clouds: list, check."""


@adapter.command("list")
@as_json
@connected
def list_(client: Client, *, as_json: bool) -> None:
    """List the kinds of actions that run on clouds.

    The status of a kind is `available`, or names the missing software.
    """
    found = client.ask("GET", "adapters")
    if as_json:
        output.write_json(found)
        return
    output.table(("kind", "status"), ((doc["kind"], doc["status"]) for doc in found), "")


@adapter.command(epilog="\b\nExample:\n  xingqiao adapter check resize thumbnail")
@click.argument("names", nargs=-1)
@as_json
@connected
def check(client: Client, names: tuple[str, ...], *, as_json: bool) -> int:
    """Check access to cloud functions without running them.

    NAMES are actions whose functions run on a cloud [default: all such actions of the namespace]. The
    exit code is 1 if a function cannot be reached.
    """
    wanted = names or _remote(client)
    found = []
    for name in wanted:
        answer = client.send("POST", "/api/v1/namespaces/_/adapters/check", {"action": name})
        found.append({"action": name, **answer})
        if not as_json:
            _tell(name, answer)
    if as_json:
        output.write_json(found)
    elif not wanted:
        output.console().print("no action runs on a cloud")
    return 0 if all(answer["ok"] for answer in found) else 1


def _remote(client: Client) -> list[str]:
    """Names of the namespace's actions that run on a cloud."""
    kinds = {doc["kind"] for doc in client.ask("GET", "adapters")}
    names, skip = [], 0
    while page := client.ask("GET", "actions", limit=200, skip=skip):
        for doc in page:
            if annotations_of(doc).get("exec") in kinds:
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
    """Manage credentials for other services: set, list, delete.

    Actions use secrets to sign in to other services. No command shows the value of a secret.
    """


@secret.command(
    "set",
    epilog="\b\nExamples:\n  xingqiao secret set wsk --file credentials.txt\n"
    '  echo \'{"type": "bearer", "token": "..."}\' | xingqiao secret set partner',
)
@click.argument("name")
@click.option(
    "--file", type=FILE, help="File with the secret [default: standard input, or a prompt]."
)
@as_json
@connected
def set_(client: Client, name: str, file: Path | None, *, as_json: bool) -> None:
    """Set the secret NAME.

    A secret is a text `id:key`, or a JSON object with a `type` (see docs/clouds.md). The command reads
    it from a file, from standard input or from a prompt; never from the command line, which other
    users of the machine can read.
    """
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise click.UsageError(f"--file: {file} cannot be read: {why}") from error
    elif sys.stdin.isatty():
        text = click.prompt(f"Secret '{name}'", hide_input=True, err=True)
    else:
        text = sys.stdin.read()
    answer = client.ask("PUT", f"secrets/{name}", body=_secret(text.strip()))
    output.write_json(answer) if as_json else output.done(f"secret '{name}' is set")


def _secret(text: str) -> Any:
    if not text:
        raise click.UsageError("the secret is empty: give a text id:key or a JSON object")
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise click.UsageError("the secret starts with '{' but is not valid JSON") from None


@secret.command("list")
@as_json
@connected
def list_secrets(client: Client, *, as_json: bool) -> None:
    """List the names, types and dates of secrets."""
    found = client.ask("GET", "secrets")
    if as_json:
        output.write_json(found)
        return
    rows = ((doc["name"], doc["type"], output.instant(doc["updated"])) for doc in found)
    output.table(
        ("name", "type", "set"), rows, "no secrets yet: set one with xingqiao secret set NAME"
    )


@secret.command()
@click.argument("name")
@as_json
@connected
def delete(client: Client, name: str, *, as_json: bool) -> None:
    """Delete the secret NAME.

    Actions that name the secret fail until it is set again.
    """
    answer = client.ask("DELETE", f"secrets/{name}")
    output.write_json(answer) if as_json else output.done(f"secret '{name}' is deleted")
