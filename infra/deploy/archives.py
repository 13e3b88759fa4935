"""The files of an action: the one file or the archive of its code."""

from __future__ import annotations

import base64
import binascii
import io
import json
import shutil
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

from .errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...actions import Code

MAX_BYTES = 262_144_000  # of unpacked files: AWS' own limit, and more than other targets take
_UNREADABLE = (zipfile.BadZipFile, tarfile.TarError, binascii.Error, zlib.error, NotImplementedError,
               RuntimeError, OSError, EOFError)  # fmt: skip


def is_node(code: Code) -> bool:
    """True for JavaScript."""
    return code.kind.startswith("nodejs")


def write_files(name: str, code: Code, folder: Path, most: int = MAX_BYTES) -> None:
    """Writes the files of an action: those of its archive, or the one file as the file that an archive starts with.

    Args:
        name: name of the action.
        code: its code.
        folder: folder that is written, and emptied before.
        most: maximum size of the files of an archive, in bytes.

    Raises:
        BundleError: the archive is broken, or lacks the file that is run.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = "index.js" if is_node(code) else "__main__.py"
    if not code.binary:
        (folder / start).write_text(code.text, "utf-8")
        return
    try:
        for path, content in _members(base64.b64decode(code.text), most):
            _place(name, folder, path, content)
    except _UNREADABLE as error:
        raise BundleError(f"action {name}: the archive cannot be unpacked: {error}") from error
    if is_node(code) and (folder / "package.json").is_file():
        start = _started(name, folder / "package.json") or start
    if not (folder / start).exists() and not (folder / f"{start}.js").exists():
        raise BundleError(
            f"action {name}: the archive has no {start} at its top level: zip the files, not their folder"
        )


def _started(name: str, package: Path) -> str | None:
    """The file that `package.json` names."""
    try:
        doc = json.loads(package.read_text("utf-8"))
    except ValueError as error:
        raise BundleError(f"action {name}: its package.json is not JSON: {error}") from error
    main = doc.get("main") if isinstance(doc, dict) else None
    return main if isinstance(main, str) and main else None


def _members(raw: bytes, most: int) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, a zip or a tar.gz."""
    left = most
    if raw[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for info in archive.infolist():
                left = _less(left, info.file_size, most)
                if not info.is_dir():
                    yield info.filename, archive.read(info)
        return
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as tar:
        for member in tar:
            left = _less(left, member.size, most)
            if member.isfile() and (file := tar.extractfile(member)) is not None:
                yield member.name, file.read()


def _less(left: int, size: int, most: int) -> int:
    if size > left:
        raise OSError(f"its files have more than {most:,} bytes")
    return left - size


def _place(name: str, folder: Path, path: str, content: bytes) -> None:
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise BundleError(f"action {name}: the archive has {path!r}, which lies outside it")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
