"""`xingqiao export`: a composition in another language, for who runs that."""

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


@click.command()
@click.argument("file", type=FILE)
@click.option("--to", type=click.Choice(["asl"]), required=True,
              help="The language: asl, the States Language of AWS Step Functions.")  # fmt: skip
@click.option("--resource", metavar="PATTERN",
              help="What an action is there, with {name} for its own name: "
              "arn:aws:lambda:us-east-1:111111111111:function:{name} [its name, for a server of ours].")  # fmt: skip
@click.option("--name", help="Composition of the file to take, if it has several [the last].")
def export(file: Path, to: str, resource: str | None, name: str | None) -> None:  # noqa: ARG001  there is one
    """Write the composition in FILE in another language; nothing is deployed.

    When a part of it has no counterpart there, all such parts are listed and the command exits with 1.
    """
    composition = files.composition(file, name)
    if resource is None:
        output.document(asl.export(composition))
        return
    if PLACE not in resource:
        raise click.UsageError(f"--resource must have {PLACE} in it, for the name of an action")
    output.document(asl.export(composition, resource=partial(_named, resource)))


def _named(pattern: str, action: str) -> str:
    return pattern.replace(PLACE, Name.parse(action).name)
