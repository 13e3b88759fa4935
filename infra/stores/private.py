"""Makes files private to their owner, whatever the mode of their folder and the umask are."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

OWNERS = 0o600
OTHERS = 0o077
NAMES = (
    "xingqiao.db",
    "xingqiao.db-wal",
    "xingqiao.db-shm",
    "views.db",
    "views.db-wal",
    "views.db-shm",
    "lock",
    "operator",
    "key",
    "xingqiao.commits",
)


def make_private(directory: Path) -> None:
    """Removes the permissions of others from the service's files in a directory."""
    for name in NAMES:
        file = directory / name
        if file.exists() and file.stat().st_mode & OTHERS:
            log.warning(
                "%s was open to other users: its mode was %o, and is 600 now", file, _mode(file)
            )
            file.chmod(OWNERS)


def _mode(file: Path) -> int:
    return file.stat().st_mode & 0o777
