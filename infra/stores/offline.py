"""A SQLite store that no server has open: checks its files, and reads its rows."""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack, ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from . import marker
from .commit_count import accept, counted, missing
from .errors import StoreError
from .journal import floor
from .locking import lock
from .records import Records
from .sqlite import FILE, SqliteStore, schemas
from .views import Owner

if TYPE_CHECKING:
    from pathlib import Path

FAULTS_SHOWN = 20  # of a file's pages


@dataclass(slots=True)
class Files:
    """The condition of a store's files.

    Args:
        commits, missing: number of commits that the database has, and that it lacks.
        schema: number of the schema; `older` says what to do if it is not the newest, else it is "".
        faults: one text for each.
        readable: the rows can be read.
    """

    commits: int = 0
    missing: int = 0
    schema: int = 0
    older: str = ""
    faults: list[str] = field(default_factory=list)
    readable: bool = False


class OfflineStore(SqliteStore):
    """A store that no server has open, and `files`, the condition of its files.

    It is read-only, changes no file, and also opens files that a server refuses.
    """

    files: Files

    async def __aenter__(self) -> Self:
        """Opens the store.

        Raises:
            StoreError: if there is none, or a server is using it.
        """
        path = self._directory / FILE
        if not path.exists() and marker.read(self._directory) is None:
            raise StoreError(f"there is no store in {self._directory}: {FILE} is missing")
        async with AsyncExitStack() as opening:
            files = opening.enter_context(ExitStack())
            await lock(self._directory, files)
            self.files = Files()
            try:
                self._look(path, files)
                if self.files.readable:
                    self._records = await opening.enter_async_context(self._own_records(path))
            except sqlite3.Error as error:
                self.files.faults.append(f"{path} cannot be read: {error}. Restore a backup")
                self.files.readable = False
            self._opened = opening.pop_all()
        return self

    def _own_records(self, path: Path) -> Records:
        """Views of this object's own: those beside the store may be missing, or older."""
        number, database = counted(self._reader)
        owner = Owner(_uri(path), database, number, floor(self._reader, number))
        return Records(owner, None)

    def _look(self, path: Path, opening: ExitStack) -> None:
        files = self.files
        if not path.exists() or not path.stat().st_size:
            files.missing = getattr(marker.read(self._directory), "number", 0)
            what = "empty" if path.exists() else "missing"
            files.faults.append(f"{path} is {what}; {files.missing} commits are lost with it")
            return
        reading = closing(sqlite3.connect(_uri(path), uri=True))
        db = self._reader = opening.enter_context(reading)
        db.isolation_level = None
        found = [row[0] for row in db.execute(f"PRAGMA integrity_check({FAULTS_SHOWN})")]
        files.faults += [f"{path}: {text}" for text in found if text != "ok"]
        files.commits, files.missing = missing(db, self._directory)
        if files.missing:
            files.faults.append(
                f"{path} lacks the last {files.missing} of {files.commits + files.missing} commits: "
                f"its write-ahead log {path.name}-wal is missing or damaged, or it is an older copy"
            )
        files.schema, known = db.execute("PRAGMA user_version").fetchone()[0], schemas()
        files.readable = files.schema == known
        if files.schema > known:
            files.faults.append(
                f"{path} was written by a newer version of this program: use that version"
            )
        elif files.schema < known and (files.schema or not files.missing):
            files.older = (
                f"{path} has schema {files.schema} of {known}, and its rows were not looked at: start "
                "the server once, which brings it up to date"
            )

    def accept_loss(self) -> None:
        """Gives up missing commits: the count restarts at the number that the database holds."""
        accept(self._directory, self._reader if self.files.schema else None)


def _uri(path: Path) -> str:
    """Without a log no other file is needed, and with this none is made."""
    how = "mode=ro" if path.with_name(f"{FILE}-wal").exists() else "mode=ro&immutable=1"
    return f"{path.resolve().as_uri()}?{how}"
