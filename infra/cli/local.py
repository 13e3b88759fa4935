"""`xingqiao run` and `xingqiao show`: what needs no server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import composer
from ...actions import MACHINE
from ...composer import CompositionError, Failure
from . import files, output
from .client import connect
from .options import FILE, as_json, parameters, proving

if TYPE_CHECKING:
    from ...composer import Composition


@click.command()
@click.argument("file", type=FILE)
@parameters
@click.option("--name", help="Composition of the file to take, if it has several [the last].")
@as_json
def run(file: Path, params: dict[str, Any], name: str | None, *, as_json: bool) -> int:
    """Run the composition in FILE here, without a server; show its result and its history.

    Its actions run in workers, as they would on a server.
    """
    outcome, entries = asyncio.run(_run(file, name, params))
    failed = isinstance(outcome, Failure)
    if as_json:
        output.write_json({"success": not failed, "result": outcome.value, "history": entries})
    else:
        output.history(entries)
        output.document(outcome.value)
    return 1 if failed else 0


async def _run(
    file: Path, name: str | None, params: dict[str, Any]
) -> tuple[composer.Outcome, list[dict[str, Any]]]:
    from ..embedded import embedded  # noqa: PLC0415  the other commands need no engine

    contents = files.read(file)
    name, _ = contents.main(file, name)
    async with embedded() as service:
        for title, document in contents.documents().items():
            await service.put(title, document)
        with output.waiting(f"{name} ..."):
            id, outcome = await service.run(name, params)
        return outcome, await service.history(id)


@click.command()
@click.argument("what", metavar="FILE|NAME")
@click.option("--name", help="Composition of the file to take, if it has several [the last].")
@click.option("--dot", "form", flag_value="dot", help="Graphviz' language.")
@click.option("--mermaid", "form", flag_value="mermaid", default=True, help="Mermaid's [default].")
@click.option("--url", help="URL of the server.")
@proving
def show(what: str, name: str | None, form: str, **server: str | None) -> None:
    """Draw the composition or the state machine in FILE, or the deployed one called NAME."""
    path = Path(what)
    drawn: Composition | str
    if files.is_machine(path):
        drawn = files.definition(path)
    elif path.suffix in (".py", ".json"):
        drawn = files.composition(path, name)
    else:
        drawn = _deployed(what, **server)
    try:
        print(composer.dot(drawn) if form == "dot" else composer.mermaid(drawn))
    except CompositionError as error:
        raise files.FileError(f"{what}: {error}") from error


def _deployed(name: str, **server: str | None) -> Composition | str:
    with connect(**server) as client:
        runtime = client.ask_action("GET", name)["exec"]
    if "components" in runtime:
        return composer.sequence(*runtime["components"])
    if runtime["kind"] == MACHINE:
        return str(runtime["definition"])
    if "composition" not in runtime:
        raise files.FileError(f"{name} is no composition: it is of kind {runtime['kind']}")
    return composer.parse(runtime["composition"])
