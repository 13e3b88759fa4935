"""`xingqiao check`."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output
from .options import as_json

if TYPE_CHECKING:
    from ..engine import Findings
    from ..settings import Settings
    from ..stores import Files

FAULTY = 1
SHOWN = 50  # faults in the output for people


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Data directory of the server [default: XINGQIAO_DATA, then .xingqiao].",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Give up missing commits, so that the server starts again without them.",
)
@as_json
def check(data: Path | None, *, accept_loss: bool, as_json: bool) -> int:
    """Check the store of a stopped server.

    The command reads the whole data directory: the pages of the database, the sequence of commits, and
    every execution, activation and entity. It changes nothing unless --accept-loss is given. The exit
    code is 1 if it finds a fault.
    """
    from ..settings import Settings  # noqa: PLC0415  no other command needs it

    settings = Settings.from_environment(os.environ, data=data)
    directory = settings.data or Path()
    files, found = asyncio.run(_checked(directory, settings, accept_loss=accept_loss))
    faults = _faults(files, found)
    if as_json:
        output.write_json(
            {
                "data": str(directory),
                "ok": not faults,
                "commits": files.commits,
                "missing": files.missing,
                "counts": dict(sorted(found.counts.items())),
                "faults": faults,
                "accepted": accept_loss,
            }
        )
    else:
        _show(directory, files, found)
    return FAULTY if faults and not (accept_loss and len(faults) == bool(files.missing)) else 0


async def _checked(
    directory: Path, settings: Settings, *, accept_loss: bool
) -> tuple[Files, Findings]:
    from ..engine import Findings, check  # noqa: PLC0415  no other command needs them
    from ..service import readable  # noqa: PLC0415
    from ..stores import OfflineStore  # noqa: PLC0415

    async with OfflineStore(directory) as store:
        found = Findings()
        if store.files.readable:
            found = await check(await readable(store, settings))
        if accept_loss and store.files.missing:
            store.accept_loss()
        return store.files, found


def _faults(files: Files, found: Findings) -> list[str]:
    return [*files.faults, *([files.older] if files.older else []), *found.faults]


def _show(directory: Path, files: Files, found: Findings) -> None:
    rows = [("commits", files.commits), *sorted(found.counts.items())]
    output.table(("", ""), rows, "")
    faults = _faults(files, found)
    for fault in faults[:SHOWN]:
        output.failed(fault)
    if len(faults) > SHOWN:
        output.failed(f"{len(faults) - SHOWN} more faults: --json lists all")
    if not faults:
        output.done(f"no faults in {directory}")
