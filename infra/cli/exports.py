"""`xingqiao export`: converts a composition to another language."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from ...composer import Name, asl
from . import files, output
from .options import FILE

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "{name}"


@click.command(
    epilog="\b\nExample:\n  xingqiao export pipeline.py --to asl \\\n"
    "    --resource 'arn:aws:lambda:us-east-1:111111111111:function:{name}'"
)
@click.argument("file", type=FILE)
@click.option("--to", type=click.Choice(["asl"]), required=True,
              help="Target language; `asl` is the States Language of AWS Step Functions.")  # fmt: skip
@click.option("--resource", metavar="PATTERN",
              help="Pattern of a task's resource; {name} stands for the action's name "
              "[default: the action's name, for a Xingqiao server].")  # fmt: skip
@click.option("--name", help="Composition to export, if FILE has several [default: the last].")
def export(file: Path, to: str, resource: str | None, name: str | None) -> None:  # noqa: ARG001  there is one
    """Convert the composition in FILE to another language.

    The result is printed; nothing is deployed. If the language lacks a counterpart for some parts, the
    command lists all these parts and exits with 1.
    """
    composition = files.composition(file, name)
    if resource is None:
        output.document(asl.export(composition))
        return
    if PLACE not in resource:
        raise click.UsageError(
            f"--resource: the pattern {resource!r} must contain {PLACE}, the place of an action's name"
        )
    output.document(asl.export(composition, resource=partial(_resource, resource)))


def _resource(pattern: str, action: str) -> str:
    return pattern.replace(PLACE, Name.parse(action).name)
