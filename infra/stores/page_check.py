"""Checks the pages of a SQLite file in the background, after a stop that was not in order."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

STOPPING_S = 0.05  # between two interruptions


def stopped_in_order(path: Path) -> bool:
    """True if whoever had the database open closed it, which removes its write-ahead log."""
    try:
        return not path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return True


class PageCheck:
    """Checks a database, and logs the first fault. Use it with `async with`: at the end the check stops.

    The whole file is read, in a thread: that may take a while, during which the write-ahead log cannot start
    over.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "page-check")
        self._db: sqlite3.Connection
        self.fault: asyncio.Future[str]  # the first; "" if there is none, or the check was stopped

    async def __aenter__(self) -> Self:
        self._db = sqlite3.connect(self._path, check_same_thread=False)
        self.fault = asyncio.get_running_loop().run_in_executor(self._thread, self._check)
        return self

    async def __aexit__(self, *exc: object) -> None:
        while not self.fault.done():
            self._db.interrupt()  # it has no effect before the check begins
            await asyncio.wait([self.fault], timeout=STOPPING_S)
        self._thread.shutdown()
        self._db.close()

    def _check(self) -> str:
        try:
            found = str(self._db.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.OperationalError:  # it was stopped
            return ""
        except sqlite3.DatabaseError as error:
            found = str(error)
        if found == "ok":
            log.info("%s has no damaged page, although it was not closed in order", self._path)
            return ""
        log.error(
            "%s is damaged: %s. Stop the server, run xingqiao check, and restore a backup with "
            "xingqiao restore", self._path, found,
        )  # fmt: skip
        return found
