"""The packages that code may import without naming them: those of OpenWhisk's own runtimes.

They are installed when code first imports one of them, so code that imports none never waits. The imports are
found by reading the code, not by running it: an import that is computed is not seen, and needs `requirements`.
"""

from __future__ import annotations

import base64
import io
import re
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

from ..kinds import NODE, PYTHON
from ..requirements import OFFERED
from .functions import TASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..coded import Code

FILE_BYTES = 1 << 20  # read of each file of an archive
MAX_FILES = 5000  # of an archive
ARCHIVE_BYTES = 256 << 20  # of a tar archive, unpacked: its files come one after the other
_NAMES = {kind: "|".join(map(re.escape, names)) for kind, names in OFFERED.items()}
# Patterns begin with fixed text and have bounded parts: they take linear time on any code.
_IMPORTS = {
    PYTHON: re.compile(
        r"^[ \t]{0,200}(?:\w{1,20}[ \t]?:[ \t]?)?(?:import|from)[ \t]+([^\n]{1,500})"
        rf"|(?:import_module|__import__)\(\s{{0,9}}['\"](?=(?:{_NAMES[PYTHON]})\b)([\w.]{{1,99}})",
        re.MULTILINE,
    ),
    NODE: re.compile(
        r"(?:\brequire|\bimport|\bfrom)\b\s{0,9}\(?\s{0,9}['\"`]((?:"
        + _NAMES[NODE]
        + r")(?=['\"`/]))"
    ),
}
_OFFERED = {kind: re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])") for kind, names in _NAMES.items()}
RECORD = ".dist-info/RECORD"  # lists the files of a package that is in the archive
_SOURCES = {PYTHON: (".py", RECORD), NODE: (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")}
_BROUGHT = {
    PYTHON: re.compile(r"(?:virtualenv/[Ll]ib/(?:[^/]+/)?site-packages/)?([^/]+?)(?:\.py|/.*)"),
    NODE: re.compile(r"node_modules/([^/]+)/.*"),
}


def imports_offered(code: Code) -> bool:
    """True if code imports a package that its kind offers, and does not bring that package along."""
    if code.functions:
        return any(_imported(code.kind, str(each["code"])) for each in code.functions.values())
    if not code.binary:
        return bool(_imported(code.kind, code.text))
    imported: dict[str, set[str]] = {}
    brought: set[str] = set()
    others: set[str] = set()
    for path, text in _files(code):
        name = path.removeprefix(TASK)
        if found := _BROUGHT[code.kind].fullmatch(name):
            brought.add(found[1])
        if text is not None and name.endswith(RECORD):
            others.update(line.partition("/")[0] for line in text.splitlines())
        elif text is not None and "/site-packages/" not in name and "node_modules/" not in name:
            imported[name] = _imported(code.kind, text)
    # A package that is brought along may import another one if that is there: requests does so with simplejson.
    wanted = (found for name, found in imported.items() if name.partition("/")[0] not in others)
    return bool(set[str]().union(*wanted) - brought)


def _imported(kind: str, text: str) -> set[str]:
    """The offered names that a source imports."""
    found = set()
    for match in _IMPORTS[kind].finditer(text):
        for part in match.groups():
            found.update(_OFFERED[kind].findall(part or ""))
    return found


def _files(code: Code) -> Iterator[tuple[str, str | None]]:
    """The names of an archive's files, and the beginning of those that are sources."""
    try:
        raw = base64.b64decode(code.text)
        opened = _zipped(raw, code.kind) if raw[:2] == b"PK" else _tarred(raw, code.kind)
        for name, content in opened:
            yield name, None if content is None else content.decode("utf-8", "replace")
    except (ValueError, OSError, EOFError, RuntimeError, NotImplementedError, zlib.error,
            zipfile.BadZipFile, tarfile.TarError):  # fmt: skip
        return  # the worker reports it


def _zipped(raw: bytes, kind: str) -> Iterable[tuple[str, bytes | None]]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        for name in archive.namelist()[:MAX_FILES]:
            if not name.endswith(_SOURCES[kind]):
                yield name, None
                continue
            with archive.open(name) as file:
                yield name, file.read(FILE_BYTES)


def _tarred(raw: bytes, kind: str) -> Iterable[tuple[str, bytes | None]]:
    left = ARCHIVE_BYTES
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r|gz") as archive:
        for count, member in enumerate(archive):
            left -= member.size
            if count >= MAX_FILES or left < 0:
                return
            file = archive.extractfile(member) if member.name.endswith(_SOURCES[kind]) else None
            yield member.name, None if file is None else file.read(FILE_BYTES)
