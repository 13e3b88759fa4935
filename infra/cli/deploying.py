"""`xingqiao deploy` and `xingqiao undeploy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import deployments, output
from .options import FILE, as_json, connected

if TYPE_CHECKING:
    from pathlib import Path

    from .client import Client
    from .deployments import Plan

TYPE = click.Choice(["standard", "express"], case_sensitive=False)
_MARKS = {"new": "+", "changed": "~", "unchanged": "=", "removed": "-", "orphaned": "-"}

_paths = click.argument("paths", metavar="FILE|FOLDER...", nargs=-1, required=True, type=FILE)
_dry_run = click.option("--dry-run", is_flag=True, help="Show the changes, and change nothing.")


@click.command(
    epilog="\b\nExamples:\n  xingqiao deploy pipeline.py\n  xingqiao deploy shop --dry-run\n"
    "  xingqiao deploy orders.asl.json --type express"
)
@_paths
@click.option(
    "--name",
    help="Name to deploy under, if FILE defines one thing [default: the variable or file].",
)
@click.option(
    "--type", "type_", type=TYPE, help="Type of the state machines in FILE [default: standard]."
)
@click.option(
    "--prune",
    is_flag=True,
    help="Remove actions and schedules that were deployed from the same files and are no longer in them.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Take names that belong to another project, or to something else than an action.",
)
@_dry_run
@as_json
@connected
def deploy(  # noqa: PLR0913  its options
    client: Client,
    paths: tuple[Path, ...],
    name: str | None,
    type_: str | None,
    *,
    prune: bool,
    replace: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Deploy everything that files and folders define.

    A FILE is a .py, .js, .zip, .json (a composition), .asl.json (a state machine) or .schedule.json file.
    A .py file is run to find its compositions and schedules. Each composition is deployed under the name
    of its variable, with the actions that it defines. A .py file without compositions but with a function
    `main` becomes one action.

    All files at the top of a FOLDER are deployed together, except .json files. A FOLDER that has a
    package.json or a __main__.py is one action.

    An action takes along the modules of the project that it imports. The server changes everything or
    nothing; code that has not changed gets no new version. Each line shows a change: + new, ~ changed,
    = unchanged, - removed or no longer in the file.
    """
    options = deployments.Options(
        name=name, type=type_ and type_.upper(), prune=prune, replace=replace
    )
    found = deployments.plan(client, paths, options)
    if not dry_run:
        found = deployments.apply(client, found)
    _show(found, dry_run=dry_run, as_json=as_json)


@click.command(
    epilog="\b\nExamples:\n  xingqiao undeploy pipeline.py\n  xingqiao undeploy shop --yes"
)
@_paths
@click.option("--yes", is_flag=True, help="Do not ask.")
@_dry_run
@as_json
@connected
def undeploy(
    client: Client, paths: tuple[Path, ...], *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Remove actions and schedules that were deployed from files.

    The command names the rules and other actions that still use an action, and asks before it removes.
    Running executions continue, also those that a schedule has started. The FILE or the FOLDER
    need not exist any more.
    """
    found = deployments.removal(client, paths)
    if not found.steps:
        names = ", ".join(found.body["origins"])
        if as_json:
            output.write_json({"dryRun": dry_run, **found.shown()})
        else:
            output.done(f"nothing to remove: the server has no action and no schedule from {names}")
        return
    if not (yes or dry_run):
        for step in found.steps:
            click.echo(_line(step), err=True)
        click.confirm("Remove them?", abort=True, err=True)
    if not dry_run:
        found = deployments.apply(client, found)
    _show(found, dry_run=dry_run, as_json=as_json)


def _show(found: Plan, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        output.write_json({"dryRun": dry_run, **found.shown()})
        return
    for step in found.steps:
        click.echo(_line(step))
    for text in found.warnings:
        output.warning(text)
    if dry_run:
        click.echo("nothing is changed: --dry-run")


def _line(step: dict[str, Any]) -> str:
    """One line of the diff."""
    change = step["change"]
    version = f" {step['version']}" if "version" in step else ""
    said = f"{_MARKS[change]} {step['name']}{version} ({step['kind']})"
    if step["fields"]:
        said += f": {', '.join(step['fields'])}"
    if change == "orphaned":
        said += f": no longer in {step['origin']}: remove it with --prune"
    if step["usedBy"]:
        said += f"; still used by {', '.join(step['usedBy'])}"
    return said
