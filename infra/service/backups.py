"""Backups of a server's store: made while it runs, checked, and brought back into a new directory."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..engine import Findings, check
from ..settings import KEY_FILE, SettingsError, write_secret
from ..stores import (
    FILE,
    MARKER,
    Label,
    OfflineStore,
    SealError,
    StoreError,
    copy_store,
    label_of,
    lock,
    settle,
)
from .keys import given_keys, kept_keys, readable

if TYPE_CHECKING:
    from pathlib import Path

    from ..settings import Settings

STAGING = "restoring"  # a folder in the directory, until all of the backup is there
EMPTY = {"lock", "lost+found"}  # a start that failed, and a new file system, leave these
FAULTS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was written or restored.

    Args:
        at_ms: the instant of the backup, in milliseconds since the epoch.
        version: the version of this program that made it.
        commits: number of commits in it.
        size: its bytes.
        counts: number of records by kind; {} if its rows were not read.
        unread: reason why its rows were not read; "" if they were.
    """

    at_ms: int
    version: str
    commits: int
    size: int
    counts: dict[str, int]
    unread: str


async def back_up(settings: Settings, file: Path, at_ms: int) -> Backup:
    """Writes a backup of the store in `settings.data`, which a server may be using, and checks it.

    The file appears under its name when it is whole and on the disk.

    Raises:
        StoreError: there is no store, it lacks commits or is damaged, or the file cannot be written.
        SettingsError: the file exists, or the store is a table.
    """
    directory = _directory(settings)
    if file.exists():  # noqa: ASYNC240  nothing else runs
        raise SettingsError(f"{file} exists already: give another name, or remove it first")
    try:
        with TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as folder:
            staged = file.parent / folder
            label = Label(at_ms, version("xingqiao"))
            await asyncio.to_thread(copy_store, directory, staged / FILE, label)
            made = await _examined(staged, settings, label)
            _sync(staged / FILE)
            (staged / FILE).rename(file)
        _sync(file.parent)
    except OSError as error:
        raise StoreError(f"the backup {file} cannot be written: {error.strerror}") from error
    return made


async def restore(settings: Settings, file: Path, key: Path | None = None) -> Backup:
    """Brings a backup into `settings.data`, which must be empty or missing.

    Args:
        settings: their directory becomes the store's; their keys open it for the check.
        file: written by `back_up`.
        key: copy of the key file of the backed-up server; it is put into the directory, too.

    Raises:
        StoreError: the directory is not empty, or a server uses it; or the backup is damaged.
        SealError: none of the given keys opens the backup.
        SettingsError: the store is a table.
    """
    directory = _directory(settings)
    label_of(file)
    if _entries(directory):
        await _refuse(directory)
    with ExitStack() as opening:
        await lock(directory, opening)
        if _entries(directory):
            await _refuse(directory)
        try:
            return await _restored(
                directory, file, key, replace(settings, data=directory / STAGING)
            )
        except OSError as error:
            raise StoreError(f"{directory} cannot be restored: {error.strerror}") from error
        finally:
            shutil.rmtree(directory / STAGING, ignore_errors=True)


async def _restored(directory: Path, file: Path, key: Path | None, settings: Settings) -> Backup:
    """Brings a backup into a locked directory by way of the directory of these settings."""
    staged = _directory(settings)
    await asyncio.to_thread(_stage, staged, file, key)
    made = await _examined(staged, settings, label_of(file), keyed=True)
    await asyncio.to_thread(settle, staged)
    for name in (MARKER, KEY_FILE, FILE):  # the database last: it makes a store
        if (staged / name).exists():
            _sync(staged / name)
            (staged / name).rename(directory / name)
    _sync(directory)
    return made


def _stage(staged: Path, file: Path, key: Path | None) -> None:
    staged.mkdir(mode=0o700)
    (staged / FILE).touch(mode=0o600)
    shutil.copyfile(file, staged / FILE)
    if key is not None:
        write_secret(staged / KEY_FILE, key.read_text("ascii", "replace").strip())


async def _examined(
    directory: Path, settings: Settings, label: Label, *, keyed: bool = False
) -> Backup:
    """Reads a copy, and its rows if a key is there. `keyed`: a key that does not open it is an error."""
    async with OfflineStore(directory) as store:
        files, found, unread = store.files, Findings(), ""
        if files.readable:
            try:
                found = await check(await readable(store, settings))
            except SealError as error:
                keys = await _keys(settings)
                if keyed and keys:
                    raise SealError(
                        "none of the given keys opens the backup: give the key that the server had when "
                        "the backup was made, with --key or XINGQIAO_PARAMETER_KEYS"
                    ) from error
                unread = "its key is not here" if not keys else "no key that is here opens it"
        elif files.older:
            unread = "an older version wrote it; the first start of a server brings it up to date"
    faults = [*files.faults, *found.faults]
    if faults:
        more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        told = "; ".join(faults[:FAULTS_SHOWN]).replace(f"{directory}{os.sep}", "")
        raise StoreError(f"the store that was copied has faults: {told}{more}")
    return Backup(
        at_ms=label.at_ms,
        version=label.version,
        commits=files.commits,
        size=(directory / FILE).stat().st_size,
        counts=dict(sorted(found.counts.items())),
        unread=unread,
    )


async def _keys(settings: Settings) -> list[str]:
    return [*await asyncio.to_thread(given_keys, settings), *kept_keys(settings.data)]


def _directory(settings: Settings) -> Path:
    if settings.dynamodb is not None or settings.data is None:
        raise SettingsError(
            "backup and restore work on a directory, and XINGQIAO_DYNAMODB names a table: use the backups "
            "of DynamoDB, or unset the variable"
        )
    return settings.data


def _entries(directory: Path) -> set[str]:
    try:
        return {path.name for path in directory.iterdir()} - EMPTY
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise StoreError(f"{directory} cannot be used: {error.strerror}") from error


async def _refuse(directory: Path) -> None:
    with ExitStack() as opening:
        if (directory / "lock").exists():
            await lock(directory, opening)  # a server that uses it is the better reason
    raise StoreError(
        f"{directory} is not empty, so nothing is restored into it: give a new directory with --data, or "
        "move this one away"
    )


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
