"""`xingqiao bundle`: writes a folder that a cloud deploys and runs without a Xingqiao server."""

from __future__ import annotations

from pathlib import Path

import click

from ..deploy import TARGETS, Source
from ..deploy import bundle as write
from . import files, output
from .options import FILE, as_json


@click.command(epilog="\b\nExample:\n  xingqiao bundle pipeline.py --target aws --out bundle")
@click.argument("file", type=FILE)
@click.option("--target", type=click.Choice(TARGETS), required=True, help="Target cloud.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="Folder to write.")  # fmt: skip
@click.option("--name", help="Name of the bundle [default: the name of FILE].")
@as_json
def bundle(file: Path, target: str, out: Path, name: str | None, *, as_json: bool) -> None:
    """Write a folder that deploys FILE to a cloud.

    The folder contains the compositions in FILE and their actions. Functions of the cloud run the compositions;
    no Xingqiao server is needed. The command deploys nothing; its last lines show how to deploy.
    """
    contents = files.read(file)
    actions = contents.documents()
    for composition in contents.compositions:
        del actions[composition]
    source = Source(compositions=contents.compositions, actions=actions)
    steps = write(name or file.stem, source, target, out)
    if as_json:
        output.write_json({"target": target, "out": str(out), "next": steps})
        return
    for line in steps:
        output.done(line)
