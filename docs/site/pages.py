"""The pages of the site: those of docs/, the references, and the files that pages link to.

Links in docs/ lead to files of the repository, so that they work there, too. On the site each of these
files is a page: a document as it is, other files as a listing.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from . import commands, modules, requests

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[2]
BUILT: Final = ROOT / "build" / "docs"
SITE: Final = ROOT / "build" / "site"
REFERENCES: Final[dict[str, Callable[[], str]]] = {
    "commands": commands.page,
    "http": requests.page,
    **{name: lambda name=name: modules.page(name) for name in modules.PUBLIC},  # type: ignore[misc]
}
"""The pages that are made of the code itself: `reference/<name>.md`."""

_BLOCK = re.compile(r"^( *```.*?^ *```$)", flags=re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)")
_MARK = re.compile(r"^ *<!-- fragment: .* -->\n", flags=re.MULTILINE)
_LANGUAGES = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".json": "json", ".js": "js"}


def write(folder: Path) -> None:
    """Writes all pages into a folder, in place of all that the folder has."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, page in REFERENCES.items():
        _put(folder / "reference" / f"{name}.md", page())
    left, seen = sorted((ROOT / "docs").rglob("*.md")), set()
    while left:
        file = left.pop()
        if file in seen or file.is_relative_to(folder):
            continue
        seen.add(file)
        source = PurePosixPath(file.relative_to(ROOT).as_posix())
        text = file.read_text("utf-8")
        if file.suffix != ".md":
            _put(folder / place(source), listing(source, text))
            continue
        _put(folder / place(source), linked(text, source))
        left += [ROOT / target for target in sorted(targets(text, source))]


def place(source: PurePosixPath) -> PurePosixPath:
    """The place of a file of the repository among the pages."""
    if source.parts[0] == "docs":
        return source.relative_to("docs")
    if source.suffix == ".md":
        return source
    return PurePosixPath("source", f"{source}.md")


def targets(text: str, source: PurePosixPath) -> set[PurePosixPath]:
    """The files of the repository that a document links to."""
    found = (target for part in _BLOCK.split(text)[::2] for target in _TARGET.findall(part))
    return {_repository(target, source) for target in found if not _is_reference(target)}


def linked(text: str, source: PurePosixPath) -> str:
    """A document as the site has it: links lead from page to page, and marks for tests are left out."""
    here = place(source).parent

    def moved(match: re.Match[str]) -> str:
        if _is_reference(match[1]):
            return match[1]
        return posixpath.relpath(place(_repository(match[1], source)), here)

    parts = _BLOCK.split(_MARK.sub("", text))
    parts[::2] = [_TARGET.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


def listing(source: PurePosixPath, text: str) -> str:
    """The page of a file that is not a document."""
    return f"# {source}\n\n```{_LANGUAGES.get(source.suffix, 'text')}\n{text.rstrip()}\n```\n"


def _repository(target: str, source: PurePosixPath) -> PurePosixPath:
    """The file that a link leads to; a folder stands for its README."""
    found = PurePosixPath(posixpath.normpath(source.parent / target))
    return found / "README.md" if (ROOT / found).is_dir() else found


def _is_reference(target: str) -> bool:
    """True for a page that exists on the site only."""
    return PurePosixPath(target).parent.name == "reference"


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
