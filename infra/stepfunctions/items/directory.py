"""Buckets that are directories of this machine.

A bucket is a directory in the configured one, and an object is a file in it. Each part of a path is opened
relative to its parent and must not be a link, so that neither a key nor a changed link leads out of the bucket.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from ....actions import INVALID_REQUEST, NOT_FOUND, PERMISSION, UNAVAILABLE
from ....adapters import Fault, ObjectEntry, ObjectPart, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    T = TypeVar("T")

MAX_PARTS = 64  # parts of a key
NEW = ".xingqiao-new"  # the end of a file's name until it is written
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe does not block
_NOWHERE = (
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG,
)  # fmt: skip


class DirectoryObjects:
    """Objects in a directory. `Objects`.

    Args:
        root: the directory.
        max_files: files that one listing may visit.
    """

    def __init__(self, root: Path, max_files: int = 1_000_000) -> None:
        self._root, self._max_files = root, max_files

    def has(self, bucket: object) -> bool:
        """True if a bucket has this name."""
        try:
            with self._folder(_parts(str(bucket), None)):
                return isinstance(bucket, str)
        except (OSError, ValueError):
            return False

    async def read(
        self, bucket: str, key: str, version: str | None, span: tuple[int, int], etag: str
    ) -> ObjectPart | Fault:
        if version is not None:
            return Fault.saying(INVALID_REQUEST, "Objects in directories have no versions.", "no")
        return await _told(bucket, key, partial(self._read, bucket, key, span, etag))

    async def page(self, bucket: str, prefix: str, after: str, most: int) -> Page | Fault:
        return await _told(bucket, prefix, partial(self._page, bucket, prefix, after, most))

    async def write(self, bucket: str, key: str, body: bytes) -> Fault | None:
        return await _told(bucket, key, partial(self._write, bucket, key, body))

    # --- blocking calls ----------------------------------------------------------------------

    def _read(self, bucket: str, key: str, span: tuple[int, int], etag: str) -> ObjectPart | Fault:
        *folders, name = _parts(bucket, key)
        with self._folder(folders) as folder, _opened(name, os.O_RDONLY, folder) as file:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.ENOENT, "not a file")
            if etag not in ("", _etag(about)):
                text = "The object changed while it was read."
                return Fault.saying(UNAVAILABLE, text, "no")
            at, end = span[0], min(span[1], about.st_size)
            body = bytearray()
            while at < end and (piece := os.pread(file, end - at, at)):
                body += piece
                at += len(piece)
            return ObjectPart(bytes(body), about.st_size, _etag(about))

    def _page(self, bucket: str, prefix: str, after: str, most: int) -> Page:
        """The files whose keys begin with the prefix, in the folder that the prefix names."""
        begin = prefix.rpartition("/")[0]
        folders = _parts(bucket, begin or None)
        found: list[ObjectEntry] = []
        try:
            with self._folder(folders) as folder:
                for key, about in _files(folder, f"{begin}/" if begin else "", self._max_files):
                    if key.startswith(prefix) and key > after:
                        entry = ObjectEntry(key, _etag(about), int(about.st_mtime), about.st_size)
                        found.append(entry)
        except OSError as error:
            if error.errno not in _NOWHERE or not self.has(bucket):
                raise
        found.sort(key=lambda entry: entry.key.encode())
        return Page(found[:most], found[most - 1].key if len(found) > most else "")

    def _write(self, bucket: str, key: str, body: bytes) -> None:
        """Writes a file under a temporary name, and renames it when it is on the disk."""
        *folders, name = _parts(bucket, key)
        new = f".{sha256(name.encode()).hexdigest()[:32]}{NEW}"
        with self._folder(folders, make=True) as folder:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with _opened(new, flags, folder) as file:
                left = memoryview(body)
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)

    @contextmanager
    def _folder(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        """A folder in a bucket, each on the way to it opened in the one above; only the first may be a link.

        Raises:
            OSError: the folder does not exist.
        """
        opened = os.open(self._root, _FOLDER)
        try:
            for depth, part in enumerate(parts):
                if make and depth:
                    _make(part, opened)
                within, opened = (
                    opened,
                    os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=opened),
                )
                os.close(within)
            yield opened
        finally:
            os.close(opened)


async def _told(bucket: str, key: str, work: Callable[[], T | Fault]) -> T | Fault:
    """Runs a blocking call in a thread; returns a Fault if it fails."""
    try:
        return await asyncio.to_thread(work)
    except ValueError:
        text = f"'{key:.200}' is not a valid key for an object in a directory: use names without '.', '..' and empty parts."
        return Fault.saying(INVALID_REQUEST, text, "no")
    except OSError as error:
        what = f"'{key:.200}' in the bucket '{bucket:.100}'"
        if error.errno in _NOWHERE:
            return Fault.saying(NOT_FOUND, f"There is no object {what}.", "no")
        code = PERMISSION if isinstance(error, PermissionError) else UNAVAILABLE
        return Fault.saying(code, f"{error.strerror}: {what}", "no")


def _parts(bucket: str, path: str | None) -> list[str]:
    """The parts of an object's path; none of them leads out of its folder.

    Raises:
        ValueError: a part is not permitted.
    """
    parts = [bucket] if path is None else [bucket, *path.split("/")]
    for part in parts:
        if part in ("", ".", "..") or "/" in part or "\0" in part or part.endswith(NEW):
            raise ValueError(part)
        part.encode()
    if len(parts) > MAX_PARTS:
        raise ValueError(path)
    return parts


def _make(part: str, folder: int) -> None:
    try:
        os.mkdir(part, dir_fd=folder)
        os.fsync(folder)
    except FileExistsError:
        pass


@contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    file = os.open(name, flags | _FILE, 0o666, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)


def _files(folder: int, begin: str, most: int) -> Iterator[tuple[str, os.stat_result]]:
    """The files in a folder and below it, with their keys, and no links."""
    looked_at = 0
    for path, folders, names, within in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
        if path.count("/") >= MAX_PARTS:
            folders.clear()
        for name in names:
            looked_at += 1
            if looked_at > most:
                raise OSError(errno.EFBIG, f"There are more than {most} files")
            about = os.stat(name, dir_fd=within, follow_symlinks=False)
            if stat.S_ISREG(about.st_mode) and not name.endswith(NEW) and _is_text(name):
                yield f"{begin}{path[2:]}{'/' if path != '.' else ''}{name}", about


def _is_text(name: str) -> bool:
    """True if a file's name is UTF-8, as keys are."""
    return name.encode(errors="replace") == os.fsencode(name)


def _etag(about: os.stat_result) -> str:
    return f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
