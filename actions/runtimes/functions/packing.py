"""Archives of Lambda functions as actions: the uploaded files, and the code that finds and calls the handler."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ....composer import Error
from ...kinds import NODE, PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
STARTS = {PYTHON: ("__main__.py", "handler.py"), NODE: ("index.js", "handler.js")}
TASK = "task/"  # the folder of the uploaded files
MAX_BYTES = 262_144_000  # of the unpacked files: AWS' own limit


class ArchiveError(Error):
    """The upload is not an archive, or is too large."""


def packed(uploaded: bytes, kind: str, handler: str, environment: dict[str, str]) -> bytes:
    """Packs an uploaded archive as the archive of an action of this kind, which calls the handler.

    Raises:
        ArchiveError: the upload is not a zip file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(uploaded)) as archive:
            members = [(f"{TASK}{name}", data) for name, data in _members(archive)]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise ArchiveError(f"the upload is not a zip file: {error}") from error
    return _written(members, kind, handler, environment)


def repacked(archive: bytes, kind: str, handler: str, environment: dict[str, str]) -> bytes:
    """Repacks the archive of an action that `packed` has made, for another handler or environment."""
    with zipfile.ZipFile(io.BytesIO(archive)) as made:
        members = [(name, data) for name, data in _members(made) if name.startswith(TASK)]
    return _written(members, kind, handler, environment)


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise ArchiveError(f"unpacked, it must be smaller than {MAX_BYTES} bytes")
    for info in infos:
        if info.filename.startswith("/") or ".." in info.filename.split("/"):
            raise ArchiveError(f"it has {info.filename!r}, which lies outside it")
        yield info.filename, archive.read(info)


def _written(
    members: list[tuple[str, bytes]], kind: str, handler: str, environment: dict[str, str]
) -> bytes:
    name, source = STARTS[kind]
    made = io.BytesIO()
    about = json.dumps({"handler": handler, "environment": environment}, sort_keys=True)
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in (
            (name, (HERE / source).read_bytes()),
            ("function.json", about.encode()),
            *members,
        ):
            archive.writestr(_info(member), data)
    return made.getvalue()


def _info(name: str) -> zipfile.ZipInfo:
    """The metadata of a member, always the same, so that the same function has the same workers."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info
