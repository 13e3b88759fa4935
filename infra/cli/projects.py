"""Projects: the modules of a user's own that a function needs, and the archive in which they travel.

The project of a file is its folder: modules there, and packages below it, can be imported. A function that
needs only its own module travels as source; one that needs other modules of the project travels in an
archive that holds the slice of each module.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...composer import Error, outline
from .imports import Import, imports_of
from .requirements import OURS, Requirements, project_of, requirements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...composer import Block, Outline

INSTALLED = {"site-packages", "dist-packages"}
_FIXED = (1980, 1, 1, 0, 0, 0)  # the time of every file, so that the same code is the same archive


class ProjectError(Error):
    """A function cannot be sent with its modules; the text names the file, the line and the remedy."""


@dataclass(frozen=True)
class Project:
    """A folder of modules, with its name and its requirements."""

    folder: Path
    name: str

    @cached_property
    def requirements(self) -> Requirements:
        """The requirements of the project.

        Raises:
            RequirementsError: a file of requirements is malformed.
        """
        return requirements_of(self.folder)

    def origin(self, path: Path) -> str:
        """The name by which the server knows a file of the project."""
        return f"{self.name}/{path.name}"


def project_at(folder: Path) -> Project:
    """The project in a folder. Its name is that in its `pyproject.toml`, or `./` and the folder's.

    Raises:
        RequirementsError: the `pyproject.toml` is not valid.
    """
    folder = folder.resolve()
    name = str(project_of(folder).get("name") or "").replace("/", "-")
    return Project(folder, name or f"./{folder.name or 'root'}")


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a project.

    Args:
        name: its name, as it is imported.
        path: its file; None for a folder without `__init__.py`.
        is_package: true if other modules are below it.
    """

    name: str
    path: Path | None
    is_package: bool

    @property
    def member(self) -> str:
        """The name of its file in an archive."""
        return self.name.replace(".", "/") + ("/__init__.py" if self.is_package else ".py")

    @property
    def package(self) -> str:
        """The package against which its relative imports count."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass(slots=True)
class Need:
    """The names of a module that a function needs; None for all names."""

    module: Module
    names: set[str] | None = field(default_factory=set)

    def add(self, names: frozenset[str] | None) -> bool:
        """Adds names. Returns True if they are new."""
        if self.names is None or (names is not None and names <= self.names):
            return False
        self.names = None if names is None else self.names | names
        return True


class Closure:
    """The modules of a project that a function needs, with the names that it needs of each.

    Args:
        project: the project.
        requirements: those of the function.
        title: the function, for errors.
    """

    def __init__(self, project: Project, requirements: Requirements, title: str) -> None:
        self.project, self.requirements, self._title = project, requirements, title
        self.needs: dict[str, Need] = {}
        self.warnings: list[str] = []
        self.external: set[str] = set()  # modules of distributions that the needed code imports

    def follow(self, module: Module, names: frozenset[str] | None) -> None:
        """Adds names of a module, and all that they need.

        Raises:
            CaptureError: the code composes.
            ProjectError: an import cannot be satisfied in a worker.
        """
        need = self.needs.setdefault(module.name, Need(module))
        for package in _parents(module.name):
            if package not in self.needs and (parent := find_module(self.project, package)):
                self.follow(parent, frozenset())
        if not need.add(names):
            return
        for block in self.blocks(need):
            for each in imports_of(block.nodes):
                self._import(module, each)

    def blocks(self, need: Need) -> tuple[Block, ...]:
        """The statements that a need takes of its module.

        Raises:
            CaptureError: the code composes.
            ProjectError: the file cannot be read.
        """
        found = outline_of(need.module)
        bound = bound_in(found)
        names = found.names if need.names is None else need.names
        if "*" not in bound:
            names &= bound
        return found.needed(names | (bound & {"__getattr__"}), f"{self._title}: {need.module.path}")

    def _import(self, module: Module, each: Import) -> None:
        name = _absolute(module, each)
        place = f"{module.path}, line {each.line}"
        top = name.partition(".")[0]
        if not each.level and top in sys.stdlib_module_names:
            return
        found = find_module(self.project, name)
        if found is not None:
            self._follow_import(found, each.names)
        elif find_module(self.project, top) is not None:
            if not each.optional:
                raise ProjectError(
                    f"{place}: the module {name!r} is not in the project {self.project.folder}: "
                    "check its name"
                )
        elif not each.optional:
            self.warnings += external(top, place, self.requirements)
            self.external.add(top)
        elif not self.requirements.missing(top):
            self.external.add(top)

    def _follow_import(self, module: Module, names: frozenset[str] | None) -> None:
        """Follows names of a module, of which some may be modules below it."""
        own = names
        if names is not None and module.is_package:
            below = {
                name: find_module(self.project, f"{module.name}.{name}")
                for name in names
                if name not in bound_in(outline_of(module))
            }
            own = names - {name for name, found in below.items() if found}
            for found in below.values():
                if found is not None:
                    self.follow(found, None)
        self.follow(module, own)

    def archive(self, main: str, module: Module) -> str:
        """The archive of all modules, whose `__main__.py` has the function `main`, in base64."""
        files = {"__main__.py": f"from {module.name} import {main}\n"}
        for need in self.needs.values():
            if need.module.path is not None:
                text = outline_of(need.module).blanked(self.blocks(need))
                files[need.module.member] = text
        return packed({name: text.encode() for name, text in files.items()})


def packed(files: dict[str, bytes]) -> str:
    """An archive of files in base64; the same files make the same archive, on every machine."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, _FIXED)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content)
    return base64.b64encode(made.getvalue()).decode()


def external(top: str, place: str, requirements: Requirements) -> list[str]:
    """Warnings about a module that is neither of the project nor of the standard library.

    Raises:
        ProjectError: the module will not be there in a worker.
    """
    if top == OURS:
        raise ProjectError(
            f"{place}: the composing library {OURS!r} is not in a worker: move the import out of the "
            "code of the function"
        )
    if requirements.missing(top):
        raise ProjectError(
            f"{place}: the module {top!r} will not be there at run time: it is not in the standard "
            "library, in the project or in its requirements: add its distribution to "
            f"{requirements.file}, or to @composer.action(requirements=[...])"
        )
    if requirements.unclear(top):
        text = f"{place}: no requirement is known to bring the module {top!r}: install the "
        return [f"{text}requirements here to have it checked"]
    return []


# --- modules ---------------------------------------------------------------------------------------


def module_of(project: Project, path: Path) -> Module:
    """The module in a file. A name that no import can name, or that is a standard module's, is changed."""
    path = path.resolve()
    parts = [path.stem]
    if path.is_relative_to(project.folder):
        parts = list(path.relative_to(project.folder).with_suffix("").parts)
    is_package = parts[-1] == "__init__" and len(parts) > 1
    name = ".".join(parts[:-1] if is_package else parts)
    if not all(part.isidentifier() for part in name.split(".")) or parts[0] in (
        "__main__",
        *sys.stdlib_module_names,
    ):
        name = re.sub(r"\W", "_", name) + "_"
    return Module(name, path, is_package)


def find_module(project: Project, name: str) -> Module | None:
    """The module of the user's own with this name: in the project, or in a folder that is not installed."""
    parts = name.split(".")
    found = _in(project.folder, name, parts)
    if found is not None or parts[0] == OURS:
        return found
    try:
        spec = find_spec(parts[0])
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or [spec.origin or ""]) if spec else []
    for place in places:
        path = Path(place)
        if not INSTALLED.intersection(path.parts) and path.exists():
            return _in(path.parent, name, parts)
    return None


def _in(folder: Path, name: str, parts: list[str]) -> Module | None:
    path = folder.joinpath(*parts)
    if (path / "__init__.py").is_file():
        return Module(name, path / "__init__.py", is_package=True)
    if path.with_name(f"{path.name}.py").is_file():
        return Module(name, path.with_name(f"{path.name}.py"), is_package=False)
    if path.is_dir() and path != folder and any(path.rglob("*.py")):
        return Module(name, None, is_package=True)
    return None


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _absolute(module: Module, each: Import) -> str:
    if not each.level:
        return each.module
    parts = module.package.split(".")
    kept = parts[: len(parts) - each.level + 1]
    return ".".join([*kept, *([each.module] if each.module else [])])


def outline_of(module: Module) -> Outline:
    """The outline of a module.

    Raises:
        ProjectError: the file cannot be read.
    """
    if module.path is None:
        return outline("")
    try:
        return outline(module.path.read_text("utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise ProjectError(f"{module.path} cannot be read: {error}") from error


def bound_in(found: Outline) -> frozenset[str]:
    """The names that a module binds; "*" among them for those of another module."""
    return frozenset[str]().union(*(block.binds for block in found.blocks))
