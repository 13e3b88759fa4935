"""Requirements of a project: the distributions that its actions need besides the standard library."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ...actions import OFFERED as MODULES
from ...actions import PYTHON
from ...composer import Error

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

OURS = "xingqiao"
OFFERED: Collection[str] = frozenset(MODULES[PYTHON])  # that workers offer
ELSEWHERE: Mapping[str, Collection[str]] = {  # modules that a target of bundles offers
    "aws": {"boto3", "botocore", "jmespath", "s3transfer", "urllib3"},
    "openwhisk": {*OFFERED, "netifaces", "scrapy", "twisted", "virtualenv"},
    "azure": (),
    "google": (),
}


class RequirementsError(Error):
    """A file of requirements cannot be used; the text names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements as texts in the form of PEP 508, the file that they come from, and the modules that need none."""

    texts: tuple[str, ...] = ()
    file: str = "requirements.txt"
    offered: Collection[str] = OFFERED

    def missing(self, module: str) -> bool:
        """True if no requirement brings a module. An unclear case counts as brought: see `unclear`."""
        if module in self.offered or self._provided(module):
            return False
        return not self.unclear(module)

    def unclear(self, module: str) -> bool:
        """True if a requirement that is not installed here may bring a module, or may not."""
        if module in self.offered or self._provided(module) or _distributions(module):
            return False
        return any(_installed(name) is None for name in self._names())

    def _names(self) -> frozenset[str]:
        return frozenset(str(canonicalize_name(Requirement(text).name)) for text in self.texts)

    def _provided(self, module: str) -> bool:
        names = {str(canonicalize_name(name)) for name in (*_distributions(module), module)}
        return not names.isdisjoint(_closed(self._names()))


@cache
def _packages() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _distributions(module: str) -> tuple[str, ...]:
    """The installed distributions that have a module."""
    return tuple(_packages().get(module, ()))


def _installed(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


@cache
def _closed(names: frozenset[str]) -> frozenset[str]:
    """Names of distributions, with those that they require here."""
    found, left = set[str](), set(names)
    while left:
        name = left.pop()
        found.add(name)
        distribution = _installed(name)
        for text in (distribution.requires if distribution else None) or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                left |= {str(canonicalize_name(requirement.name))} - found
    return frozenset(found)


# --- files ---------------------------------------------------------------------------------------


def requirements_of(folder: Path) -> Requirements:
    """The requirements in the `requirements.txt` and the `pyproject.toml` of a folder.

    Raises:
        RequirementsError: a line is not a requirement.
    """
    texts, file = dict[str, None](), "requirements.txt"
    listed, project = folder / "requirements.txt", folder / "pyproject.toml"
    if listed.is_file():
        texts.update(dict.fromkeys(_listed(listed)))
    elif project.is_file():
        file = "pyproject.toml"
    for text in project_of(folder).get("dependencies", ()):
        texts[_checked(text, str(project))] = None
    kept = [text for text in texts if canonicalize_name(Requirement(text).name) != OURS]
    return Requirements(tuple(kept), file)


def _listed(file: Path) -> Iterator[str]:
    """The requirements in a `requirements.txt`, also in the files that it names with `-r`."""
    try:
        text = file.read_text("utf-8").replace("\\\n", " ")
    except (OSError, UnicodeDecodeError) as error:
        raise RequirementsError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        kept = re.sub(r"(^|\s)(#.*|--hash=\S+)", "", line).strip()
        if further := re.fullmatch(r"(?:-r|--requirement)[ =](.+)", kept):
            yield from _listed(file.parent / further[1].strip())
        elif kept:
            yield _checked(kept, f"{file}, line {number}")


def project_of(folder: Path) -> dict[str, Any]:
    """The table `[project]` of a folder's `pyproject.toml`; empty if there is none.

    Raises:
        RequirementsError: the file is not valid TOML.
    """
    file = folder / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        table = tomllib.loads(file.read_text("utf-8")).get("project", {})
    except (ValueError, OSError) as error:
        raise RequirementsError(f"{file} cannot be read: {error}") from error
    return table if isinstance(table, dict) else {}


def checked(texts: Iterable[str], place: str) -> Requirements:
    """Requirements that a program gives.

    Raises:
        RequirementsError: one of them is malformed.
    """
    return Requirements(tuple(_checked(text, place) for text in texts), place)


def _checked(text: object, place: str) -> str:
    try:
        return str(Requirement(str(text)))
    except InvalidRequirement as error:
        raise RequirementsError(
            f"{place}: {text!r} is not a requirement such as 'httpx>=0.27': "
            f"{str(error).splitlines()[0]}"
        ) from error


def node_requirements(folder: Path) -> dict[str, str]:
    """The `dependencies` of the `package.json` of a folder; empty if there is none.

    Raises:
        RequirementsError: the file is not valid.
    """
    file = folder / "package.json"
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text("utf-8")).get("dependencies", {})
    except (ValueError, OSError, AttributeError) as error:
        raise RequirementsError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise RequirementsError(f"{file}: 'dependencies' must be an object of names and ranges")
    return dict(sorted(found.items()))
