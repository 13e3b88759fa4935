"""`xingqiao bundle`: writes a folder that a cloud deploys and runs without a Xingqiao server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..deploy import PLATFORMS, TARGETS, Source, read_options
from ..deploy import bundle as write
from . import files, output
from .options import FILE, as_json
from .requirements import ELSEWHERE


@click.command(epilog="\b\nExample:\n  xingqiao bundle pipeline.py --target aws --out bundle")
@click.argument("file", type=FILE)
@click.option("--target", type=click.Choice(TARGETS), required=True, help="Target cloud.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="Folder to write.")  # fmt: skip
@click.option("--name", help="Name of the bundle [default: the name of FILE].")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="TOML file with the network, the places of secrets, and roles and environments of actions.",
)
@click.option(
    "--platform",
    type=click.Choice(PLATFORMS),
    default=PLATFORMS[0],
    show_default=True,
    help="Processor that runs the actions.",
)
@click.option("--wheels", type=click.Path(path_type=Path, file_okay=False, exists=True),
              help="Folder with wheels of all requirements [default: install from the package index].")  # fmt: skip
@as_json
def bundle(file: Path, target: str, out: Path, name: str | None, **given: Any) -> None:
    """Write a folder that deploys FILE to a cloud.

    The folder contains the compositions in FILE and their actions. Functions of the cloud run the compositions;
    no Xingqiao server is needed. The command deploys nothing; its last lines show how to deploy.
    """
    contents = files.read(file, offered=ELSEWHERE[target])
    actions = contents.documents()
    for composition in contents.compositions:
        del actions[composition]
    wheels = given["wheels"] and given["wheels"].absolute()
    how = read_options(given["config"], platform=given["platform"], wheels=wheels)
    source = Source(compositions=contents.compositions, actions=actions, options=how)
    steps = write(name or file.stem, source, target, out)
    if given["as_json"]:
        output.write_json({"target": target, "out": str(out), "next": steps})
        return
    for line in steps:
        output.done(line)
