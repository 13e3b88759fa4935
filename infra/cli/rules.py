"""`xingqiao rule ...`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from . import output
from .options import JsonOrFile, as_json, connected, is_given, pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from .client import Client

RULES = "rules"
MEMORY = ("condition", "context", "assign", "transient")  # members of a rule, each an option


@click.group()
def rule() -> None:
    """Manage rules: create, update, enable, disable, list, delete.

    A rule invokes an action each time a trigger fires.
    """


def remembering(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say when the rule fires and what it remembers, as `memory`."""

    @click.option(
        "--condition", type=JsonOrFile(), help="Condition of the rule; null removes the condition."
    )
    @click.option(
        "--context",
        type=JsonOrFile(),
        help="Context that the rule begins with. The rule forgets what it remembers.",
    )
    @click.option(
        "--assign", type=JsonOrFile(), help="Templates that make the context after each fire."
    )
    @click.option(
        "--transient/--no-transient",
        help="Make the rule inactive when it has invoked its action.",
    )
    @wraps(command)
    def with_memory(*args: Any, **options: Any) -> Any:
        said = {name: options.pop(name) for name in MEMORY}
        memory = {name: value for name, value in said.items() if is_given(name)}
        return command(*args, memory=memory, **options)

    return with_memory


def _put(
    client: Client,
    names: dict[str, str],
    memory: dict[str, Any],
    *,
    overwrite: bool,
    as_json: bool,
) -> None:
    name = names.pop("name")
    document = {**{link: _full(each) for link, each in names.items()}, **memory}
    made = client.ask_named("PUT", RULES, name, body=document, overwrite=overwrite)
    output.write_json(made) if as_json else output.done(f"{made['name']} is {made['status']}")


def _full(name: str) -> str:
    return name if name.startswith("/") else f"/_/{name}"


@rule.command(epilog="\b\nExample:\n  xingqiao rule create nightly midnight backup")
@click.argument("name")
@click.argument("trigger")
@click.argument("action")
@remembering
@as_json
@connected
def create(client: Client, *, memory: dict[str, Any], as_json: bool, **names: str) -> None:
    """Create the rule NAME: TRIGGER invokes ACTION.

    With --condition the rule invokes its action only when the condition holds.
    """
    _put(client, names, memory, overwrite=False, as_json=as_json)


@rule.command(epilog="\b\nExample:\n  xingqiao rule update nightly midnight backup")
@click.argument("name")
@click.argument("trigger")
@click.argument("action")
@remembering
@as_json
@connected
def update(client: Client, *, memory: dict[str, Any], as_json: bool, **names: str) -> None:
    """Update the rule NAME, or create it: TRIGGER invokes ACTION."""
    _put(client, names, memory, overwrite=True, as_json=as_json)


def _switch(client: Client, name: str, status: str, *, as_json: bool) -> None:
    client.ask_named("POST", RULES, name, body={"status": status})
    if as_json:
        output.write_json({"name": name, "status": status})
    else:
        output.done(f"{name} is {status}")


@rule.command()
@click.argument("name")
@as_json
@connected
def enable(client: Client, name: str, *, as_json: bool) -> None:
    """Activate the rule NAME."""
    _switch(client, name, "active", as_json=as_json)


@rule.command()
@click.argument("name")
@as_json
@connected
def disable(client: Client, name: str, *, as_json: bool) -> None:
    """Deactivate the rule NAME."""
    _switch(client, name, "inactive", as_json=as_json)


@rule.command()
@click.argument("name")
@as_json
@connected
def status(client: Client, name: str, *, as_json: bool) -> None:
    """Show whether the rule NAME is active."""
    found = client.ask_named("GET", RULES, name)["status"]
    output.write_json({"name": name, "status": found}) if as_json else click.echo(found)


@rule.command()
@click.argument("name")
@as_json
@connected
def get(client: Client, name: str, *, as_json: bool) -> None:
    """Show the rule NAME, and what the rule remembers.

    For a join that is not complete, `seen` and `missing` list its members.
    """
    found = client.ask_named("GET", RULES, name)
    output.write_json(found) if as_json else output.document(found)


@rule.command("list")
@pages
@as_json
@connected
def list_(client: Client, *, as_json: bool, **page: int) -> None:
    """List the rules of the namespace."""
    found = client.collection(RULES, None, **page)
    if as_json:
        output.write_json(found)
        return
    rows = [
        (doc["name"], doc["status"], doc["trigger"]["name"], _shown(doc["action"])) for doc in found
    ]
    output.table(("rule", "status", "trigger", "action"), rows, "no rules")


def _shown(link: dict[str, Any]) -> str:
    return f"/{link['path']}/{link['name']}"


@rule.command()
@click.argument("name")
@click.option(
    "--disable", is_flag=True, help="No effect; accepted for compatibility with OpenWhisk's wsk."
)
@as_json
@connected
def delete(client: Client, name: str, *, disable: bool, as_json: bool) -> None:  # noqa: ARG001
    """Delete the rule NAME."""
    gone = client.ask_named("DELETE", RULES, name)
    output.write_json(gone) if as_json else output.done(f"{name} is deleted")
