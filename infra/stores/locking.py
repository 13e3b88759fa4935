"""The lock of a directory: one server at a time uses it."""

from __future__ import annotations

import asyncio
import fcntl
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from .errors import StoreError
from .private import OWNERS, make_private

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

LOCK_FILE = "lock"
LOCK_LOOKS, LOCK_LOOK_S = 25, 0.02  # attempts to lock the directory, and the time between them


async def lock(directory: Path, opening: ExitStack) -> None:
    """Locks a directory until `opening` closes; creates the directory if it is missing.

    It waits a moment: a worker that a killed server was about to start holds the lock until it starts.

    Raises:
        StoreError: if a server is using the directory, or the directory cannot be used.
    """
    opened = opening.enter_context(_opened(directory))
    for _ in range(LOCK_LOOKS):
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        await asyncio.sleep(LOCK_LOOK_S)  # noqa: TID251  there is no event when the lock is released
    raise StoreError(
        f"a server is using {directory}: stop it first, or give another directory with --data"
    )


def _opened(directory: Path) -> TextIO:
    file = directory / LOCK_FILE
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds keys
        make_private(directory)
        opened = file.open("w")
        file.chmod(OWNERS)
    except OSError as error:
        raise StoreError(f"{directory} cannot be used: {error.strerror}") from error
    return opened
