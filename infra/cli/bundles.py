"""`xingqiao bundle`: what a cloud deploys and runs without this server."""

from __future__ import annotations

from pathlib import Path

import click

from ..deploy import TARGETS, Source
from ..deploy import bundle as write
from . import files, output
from .options import FILE


@click.command()
@click.argument("file", type=FILE)
@click.option("--target", type=click.Choice(TARGETS), required=True, help="The cloud.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="The folder to write.")  # fmt: skip
@click.option("--name", help="Name of the bundle [FILE's].")
def bundle(file: Path, target: str, out: Path, name: str | None) -> None:
    """Write the folder that deploys the compositions in FILE to a cloud, with their actions.

    There the cloud's own functions conduct them; no server of ours is asked. Nothing is deployed yet:
    the last lines say how.
    """
    contents = files.read(file)
    actions = contents.documents()
    for composition in contents.compositions:
        del actions[composition]
    source = Source(compositions=contents.compositions, actions=actions)
    for line in write(name or file.stem, source, target, out):
        output.done(line)
