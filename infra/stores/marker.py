"""A file beside a SQLite database that holds the number of its commits, to detect lost ones.

SQLite cannot tell a database whose write-ahead log is missing or damaged from one that never had those
commits, nor an empty file from a new one. So each commit is numbered, in its own transaction, and the
number is written here once the commit is durable. A database with fewer commits has lost some. A database
with more is whole: the server stopped between the commit and this file.

With `synchronous=NORMAL` SQLite may lose the last commits in a power failure, and the marker may have
reached the disk before them. This is expected if the machine has restarted since, and an error if only
the process has.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from types import TracebackType

FILE = "xingqiao.commits"
ID_BYTES = 16
_BODY = struct.Struct(f"<4sB3xQ8s{ID_BYTES}s")  # magic, synchronous, number, boot, database
_SUM = struct.Struct("<I")
_MAGIC = b"XQC1"
_FULL, _NORMAL = 0, 1
_BOOT = Path("/proc/sys/kernel/random/boot_id")  # Linux: changes at each boot


class Mark(NamedTuple):
    """The content of a marker: the number of commits, the database, the mode, and the boot."""

    number: int
    database: bytes
    full: bool
    boot: bytes

    @property
    def may_be_ahead(self) -> bool:
        """True if a power failure may have lost commits that the marker counts."""
        return not self.full and self.boot != boot()


def boot() -> bytes:
    """Returns an id of this boot of the machine; zeros if there is none."""
    with suppress(OSError):
        return blake2b(_BOOT.read_bytes(), digest_size=8).digest()
    return bytes(8)


def read(directory: Path) -> Mark | None:
    """Reads the marker of a directory; None if it is missing or damaged."""
    try:
        text = (directory / FILE).read_bytes()[: _BODY.size + _SUM.size]
    except FileNotFoundError:
        return None
    if len(text) < _BODY.size + _SUM.size:
        return None
    body, (told,) = text[: _BODY.size], _SUM.unpack(text[_BODY.size :])
    magic, how, number, boot_id, database = _BODY.unpack(body)
    if magic != _MAGIC or zlib.crc32(body) != told:
        return None
    return Mark(number, database, how == _FULL, boot_id)


class Marker:
    """The marker of a database that is open. Use it with `with`.

    Args:
        directory: of the database.
        database: its own id, 16 bytes.
        full: if each commit is on the disk when it returns.
    """

    def __init__(self, directory: Path, database: bytes, *, full: bool) -> None:
        self._path = directory / FILE
        self._how, self._boot, self._database = _FULL if full else _NORMAL, boot(), database
        self._fd = -1

    def __enter__(self) -> Self:
        """Opens the file, or creates it."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._fd)

    def write(self, number: int) -> None:
        """Writes the number of durable commits, without a wait for the disk: about a microsecond."""
        body = _BODY.pack(_MAGIC, self._how, number, self._boot, self._database)
        with suppress(OSError):  # an older number is true, too
            os.pwrite(self._fd, body + _SUM.pack(zlib.crc32(body)), 0)

    def sync(self) -> None:
        """Waits until the file is on the disk."""
        with suppress(OSError):
            os.fsync(self._fd)
