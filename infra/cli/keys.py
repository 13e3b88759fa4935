"""`xingqiao key ...`: the keys that encrypt a server's store."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import output
from .options import as_json

if TYPE_CHECKING:
    from ..settings import Settings


@click.group()
def key() -> None:
    """Manage the keys that encrypt a server's store: new, rotate."""


@key.command()
@as_json
def new(*, as_json: bool) -> None:
    """Print a new key.

    Use the key in XINGQIAO_PARAMETER_KEYS or in a key management service. Nothing is stored.
    """
    from ..stores import new_key  # noqa: PLC0415  stores are the server's

    made = new_key()
    output.write_json({"key": made}) if as_json else print(made)


@key.command()
@click.option(
    "--data", type=click.Path(path_type=Path), help="Directory of the store [default: .xingqiao]."
)
@as_json
def rotate(data: Path | None, *, as_json: bool) -> None:
    """Replace the key of a stopped server's store.

    The whole store is encrypted again with a new key, which replaces the key in the file `key` of the
    directory. The old key then opens nothing in the store. Older backups still need the old key: keep
    it with them.

    If the keys come from XINGQIAO_PARAMETER_KEYS or XINGQIAO_KEY_COMMAND, put a new key before the others
    and restart the server instead; it encrypts the store again when it starts.
    """
    from ..settings import KEY_FILE, Settings  # noqa: PLC0415  stores are the server's
    from ..stores import FILE, StoreError  # noqa: PLC0415

    settings = Settings.from_environment(os.environ, data=data)
    if settings.data is None or not (settings.data / FILE).exists():
        raise StoreError(f"{settings.data} contains no store: name its directory with --data")
    count = asyncio.run(_rotated(settings))
    file = settings.data / KEY_FILE
    if as_json:
        output.write_json({"encrypted": count, "file": str(file)})
    else:
        output.done(f"encrypted {count} rows with the new key in {file}")


async def _rotated(settings: Settings) -> int:
    from ..service import rotate as rotate_keys  # noqa: PLC0415  see above
    from ..stores import SqliteStore  # noqa: PLC0415

    assert settings.data is not None  # noqa: S101  it was looked at
    async with SqliteStore(settings.data) as store:
        return await rotate_keys(store, settings)
