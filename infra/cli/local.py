"""`xingqiao run` and `xingqiao show`: commands that need no server."""

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
from .explaining import explained
from .options import FILE, as_json, authenticated, parameters

if TYPE_CHECKING:
    from ...composer import Composition


@click.command(
    epilog="\b\nExamples:\n  xingqiao run pipeline.py -p build 7\n  xingqiao run order.asl.json -P input.json"
)
@click.argument("file", type=FILE)
@parameters
@click.option("--name", help="Composition to run, if FILE has several [default: the last].")
@as_json
def run(file: Path, params: dict[str, Any], name: str | None, *, as_json: bool) -> int:
    """Run the composition or state machine in FILE here.

    FILE is a .py, .json or .asl.json (a state machine) file. No server is needed.

    The command prints the history and the result. Actions run in worker processes, as on a server. The
    exit code is 1 if the run fails.
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
    from ..service import embedded  # noqa: PLC0415  the other commands need no engine

    contents = files.read(file)
    name = _title(file, contents, name)
    async with embedded() as service:
        for title, document in contents.documents().items():
            await service.put(title, document)
        with output.waiting(f"{name} ..."):
            id, outcome = await service.run(name, params)
        return outcome, await service.history(id)


def _title(file: Path, contents: files.Contents, name: str | None) -> str:
    """The name of the composition to run, or of the state machine that is the whole file."""
    if files.is_machine(file):
        if name is not None:
            raise click.UsageError(f"--name: {file} defines one state machine: leave --name out")
        return next(iter(contents.actions))
    return contents.main(file, name)[0]


@click.command(
    epilog="\b\nExamples:\n  xingqiao show pipeline.py --dot | dot -Tsvg\n  xingqiao show pipeline"
)
@click.argument("what", metavar="FILE|NAME")
@click.option("--name", help="Composition to draw, if FILE has several [default: the last].")
@click.option("--dot", "form", flag_value="dot", help="Draw in the language of Graphviz.")
@click.option(
    "--mermaid", "form", flag_value="mermaid", default=True, help="Draw in Mermaid [default]."
)
@click.option(
    "--url",
    help="URL of the server, for NAME "
    "[default: XINGQIAO_URL, then .wskprops, then http://127.0.0.1:3233].",
)
@authenticated
def show(what: str, name: str | None, form: str, **server: str | None) -> None:
    """Draw a composition or a state machine.

    FILE is a .py, .json or .asl.json file; any other argument is the NAME of a deployed action.
    """
    path = Path(what)
    drawn: Composition | str
    if files.is_machine(path):
        drawn = files.definition(path)
    elif path.suffix in (".py", ".json"):
        drawn = files.composition(path, name)
    else:
        drawn = _fetch(what, **server)
    try:
        print(composer.dot(drawn) if form == "dot" else composer.mermaid(drawn))
    except CompositionError as error:
        raise files.FileError(f"{what}: {error}") from error


def _fetch(name: str, **server: Any) -> Composition | str:
    with connect(**server) as client, explained(client):
        runtime = client.ask_action("GET", name)["exec"]
    if "components" in runtime:
        return composer.sequence(*runtime["components"])
    if runtime["kind"] == MACHINE:
        return str(runtime["definition"])
    if "composition" not in runtime:
        raise files.FileError(f"{name} is not a composition: its kind is {runtime['kind']}")
    return composer.parse(runtime["composition"])
