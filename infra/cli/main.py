"""The `xingqiao` command: the table of its commands, and its exit codes."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

import click

from ...composer import Error
from .exit_codes import FAILED, INTERRUPTED, MISUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

DISTRIBUTION = "xingqiao"
COMMANDS = {  # command: the module that defines it
    "serve": "serve",
    "check": "check",
    "backup": "backups",
    "restore": "backups",
    "doctor": "doctor",
    "dev": "dev",
    "deploy": "deploying",
    "undeploy": "deploying",
    "invoke": "actions",
    "logs": "logs",
    "action": "actions",
    "package": "packages",
    "trigger": "triggers",
    "rule": "rules",
    "event": "events",
    "activation": "activations",
    "execution": "executions",
    "attribute": "attributes",
    "entity": "entities",
    "dead-letter": "dead_letters",
    "schedule": "schedules",
    "batch": "batches",
    "queue": "queues",
    "limit": "limits",
    "worker": "worker",
    "saga": "sagas",
    "transaction": "transactions",
    "adapter": "clouds",
    "secret": "clouds",
    "run": "local",
    "show": "local",
    "export": "exports",
    "schema": "schemas",
    "bundle": "bundles",
    "namespace": "namespaces",
    "access-key": "access_keys",
    "audit": "audit",
    "property": "properties",
    "completion": "completion",
    "key": "keys",
    "list": "namespaces",
    "api-host": "service",
    "service": "service",
    "api": "unsupported",
}
NAMED = {
    "property": "property_",
    "list": "get",
    "api-host": "api_host",
    "access-key": "access_key",
    "dead-letter": "dead_letter",
}  # functions whose name differs from their command's


class _Commands(click.Group):
    """A group that loads a command's module on first use: `serve` never loads the client."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command; the error for an unknown one names those with a similar name."""
        name = args[0] if args else ""
        if name and name[0] != "-" and name not in COMMANDS:
            close = get_close_matches(name, COMMANDS)
            hint = f": did you mean {' or '.join(close)}?" if close else ""
            raise click.UsageError(f"the command {name!r} does not exist{hint}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name]}", __package__)
        command: click.Command = getattr(module, NAMED.get(cmd_name, cmd_name))
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version(DISTRIBUTION), prog_name="xingqiao")
def cli() -> None:
    """Compose serverless functions: deploy compositions, invoke them, follow their executions.

    Start a server with `xingqiao serve`; it prints its credentials once. Set XINGQIAO_AUTH to the
    credentials for the other commands. `xingqiao run FILE` needs no server.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 server not reached, 4 not allowed, 5 not found, 6 timed
    out, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and ends the process with the exit code that `cli` documents."""
    try:
        ended = cli.main(arguments, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.exit(MISUSED)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
        hint = f" (see {where} --help)" if where else ""
        _problem(error.format_message().rstrip(".") + hint)
        sys.exit(MISUSED)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except (Error, OSError) as error:
        _problem(str(error))
        sys.exit(getattr(error, "exit_code", FAILED))
    sys.exit(ended if isinstance(ended, int) else 0)


def _problem(text: str) -> None:
    from .output import problem  # noqa: PLC0415  only errors need it

    problem(text)
