"""`xingqiao backup` and `xingqiao restore`."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output
from .options import as_json

if TYPE_CHECKING:
    from ..service import Backup
    from ..settings import Settings

NO_KEY = (
    "the backup does not contain the key of the store: without a copy of {key}, kept in another place, nobody "
    "can read the backup"
)
GIVEN_KEYS = (
    "the backup does not contain the keys of the store: without the keys of XINGQIAO_PARAMETER_KEYS or "
    "XINGQIAO_KEY_COMMAND, kept in another place, nobody can read the backup"
)


@click.command(epilog="\b\nExample:\n  xingqiao backup /backups/$(date +%F).backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Data directory of the server [default: XINGQIAO_DATA, then .xingqiao].",
)
@as_json
def backup(file: Path, data: Path | None, *, as_json: bool) -> None:
    """Write a checked backup of a server's store to FILE.

    The server may be running or stopped. The backup is one moment of the store, and includes everything
    that the server had accepted before. FILE must not exist; it appears when the backup is complete.

    The backup does not contain the key that decrypts it. Keep a copy of the file `key` of the data
    directory, or of the keys that you give the server, in another place. The credentials in the file
    `operator` are not in the backup either: a restored server makes new ones.
    """
    from ..service import back_up  # noqa: PLC0415  no other command needs the engine
    from ..settings import KEY_FILE  # noqa: PLC0415

    settings = _settings(data)
    with output.waiting(f"backing up {settings.data}"):
        made = asyncio.run(back_up(settings, file, int(time.time() * 1000)))
    if as_json:
        output.write_json({"file": str(file), **_document(made)})
        return
    output.done(f"backed up {settings.data} to {file}: {_summary(made)}")
    _counts(made)
    key = (settings.data or Path()) / KEY_FILE
    output.warned(NO_KEY.format(key=key) if key.exists() else GIVEN_KEYS)


@click.command(
    epilog="\b\nExample:\n  xingqiao restore 2026-11-22.backup --data /var/lib/xingqiao --key key.copy"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="New or empty directory [default: XINGQIAO_DATA, then .xingqiao].",
)
@click.option(
    "--key",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Copy of the file `key` of the server; the command puts it into the directory.",
)
@as_json
def restore(file: Path, data: Path | None, key: Path | None, *, as_json: bool) -> None:
    """Restore FILE, a backup, into an empty directory.

    The directory must be new or empty. The command checks the backup, and its records if the key is given.
    All changes since the backup are lost. A server that you start on the directory continues the executions
    of the backup, and steps that ended after the backup run again with the same idempotency key. Stop the
    server that was backed up first, or both run the same executions. `xingqiao serve --paused` lets
    you look at the executions before they continue.
    """
    from ..service import restore as bring_back  # noqa: PLC0415  no other command needs the engine

    settings = _settings(data)
    with output.waiting(f"restoring {file}"):
        made = asyncio.run(bring_back(settings, file, key))
    if as_json:
        output.write_json({"data": str(settings.data), **_document(made)})
        return
    output.done(f"restored {file} to {settings.data}: {_summary(made)}")
    output.done(
        f"the store is as it was at {output.instant(made.at_ms)}; all later changes are lost"
    )
    _counts(made)
    if made.unread and not (settings.parameter_keys or settings.key_command or key):
        output.warned(
            f"a server starts on {settings.data} only with the key of the backup: copy the file `key` of "
            "the old server there, or set XINGQIAO_PARAMETER_KEYS"
        )


def _settings(data: Path | None) -> Settings:
    from ..settings import Settings  # noqa: PLC0415

    return Settings.from_environment(os.environ, data=data)


def _document(made: Backup) -> dict[str, object]:
    doc = asdict(made)
    return {**doc, "checked": "records" if not doc.pop("unread") else "pages"} | {
        "unread": made.unread
    }


def _summary(made: Backup) -> str:
    return f"{made.commits} commits, {made.size} bytes, version {made.version}"


def _counts(made: Backup) -> None:
    if made.unread:
        output.warned(
            f"the pages of the backup are whole, but its records were not checked: {made.unread}"
        )
    else:
        output.table(("", ""), made.counts.items(), "the backup contains no records")
