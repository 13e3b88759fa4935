"""`xingqiao completion`, and the names that the shell completes from the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from ...composer import Error
from .client import connect
from .options import OF_A_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable

SHELLS = ("bash", "zsh", "fish")
PROGRAM, VARIABLE = "xingqiao", "_XINGQIAO_COMPLETE"
WAIT_S = 1.0  # a shell that waits longer for a list feels broken
NEWEST = 50  # executions that are offered


@click.command(
    epilog="\b\nExamples:\n"
    "  echo 'eval \"$(xingqiao completion bash)\"' >> ~/.bashrc\n"
    "  echo 'eval \"$(xingqiao completion zsh)\"' >> ~/.zshrc\n"
    "  xingqiao completion fish > ~/.config/fish/completions/xingqiao.fish"
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in SHELL.

    The shell then completes commands and options. It also completes the names of actions and the ids
    of executions if the server answers within 1 s.
    """
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101  click knows these shells
    click.echo(made(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())


def action_names(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of the namespace's actions that begin with a text; none if the server does not answer."""
    found = _ask(ctx, "actions", limit=200)
    return _fitting(found, begun, _action_name, lambda doc: str(doc["version"]))


def execution_ids(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Ids of the newest executions that begin with a text; none if the server does not answer."""
    found = _ask(ctx, "executions", limit=NEWEST)
    return _fitting(
        found,
        begun,
        lambda doc: str(doc["executionId"]),
        lambda doc: f"{doc['name']} {doc['status']}",
    )


def key_names(ctx: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of the namespace's keys that begin with a text; none if the server does not answer."""
    found = _ask(ctx, "keys")
    return _fitting(found, begun, lambda doc: str(doc["name"]), lambda doc: str(doc["role"]))


def _fitting(
    found: list[dict[str, Any]],
    begun: str,
    value: Callable[[dict[str, Any]], str],
    about: Callable[[dict[str, Any]], str],
) -> list[CompletionItem]:
    items = [CompletionItem(value(doc), help=about(doc)) for doc in found]
    return [item for item in items if item.value.startswith(begun)]


def _action_name(doc: dict[str, Any]) -> str:
    package = doc["namespace"].partition("/")[2]
    return f"{package}/{doc['name']}" if package else str(doc["name"])


def _ask(ctx: click.Context, path: str, **query: int) -> list[dict[str, Any]]:
    """A list from the server that the command line names so far; empty if it cannot be had."""
    server, auth, auth_file, ca = (ctx.params.get(name) for name in OF_A_SERVER)
    try:
        with connect(server, auth, auth_file, ca, wait_s=WAIT_S) as client:
            found: list[dict[str, Any]] = client.ask("GET", path, **query)
    except (Error, OSError):  # an error text would stand in the middle of the user's command
        return []
    return found
