"""`xingqiao key ...`: the keys that a server's store is sealed with."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output

if TYPE_CHECKING:
    from ..settings import Settings


@click.group()
def key() -> None:
    """Keys that a server's store is sealed with: new, rotate."""


@key.command()
def new() -> None:
    """Print a new key, for XINGQIAO_PARAMETER_KEYS or a key management service."""
    from ..stores import new_key  # noqa: PLC0415  stores are the server's

    print(new_key())


@key.command()
@click.option("--data", type=click.Path(path_type=Path), help="Directory of the store [.xingqiao].")
def rotate(data: Path | None) -> None:
    """Make a new key and seal the whole store with it. The server must be stopped.

    The new key replaces the one in the file `key` of the directory; the old key opens nothing that is left
    there. Backups made before need the old key: keep it with them.

    If the keys come from XINGQIAO_PARAMETER_KEYS or XINGQIAO_KEY_COMMAND, put a new key before the others
    and restart the server instead; it seals the store anew at its start.
    """
    from ..settings import KEY_FILE, Settings  # noqa: PLC0415  stores are the server's
    from ..stores import FILE, StoreError  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, data=data)
    if settings.data is None or not (settings.data / FILE).exists():
        raise StoreError(f"there is no store in {settings.data}: name its directory with --data")
    count = asyncio.run(_rotated(settings))
    output.done(f"sealed {count} rows with a new key, which is in {settings.data / KEY_FILE}")


async def _rotated(settings: Settings) -> int:
    from ..keys import rotate as rotate_keys  # noqa: PLC0415  see above
    from ..stores import SqliteStore  # noqa: PLC0415

    assert settings.data is not None  # noqa: S101  it was looked at
    async with SqliteStore(settings.data) as store:
        return await rotate_keys(store, settings)
