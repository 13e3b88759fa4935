"""Packages of actions: which set of requirements code needs, and the installers that install it.

Installers never run code of a package: wheels only for Python, no scripts for Node.js. So users who may create
actions get no code to run outside of a worker.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ..kinds import NODE, PYTHON
from ..requirements import HASH, shown_requirements
from .environments import Environment, InstallError, Recipe, inventory
from .languages import INTERPRETER
from .offered import imports_offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..coded import Code
    from .environments import Environments, Lease

HERE = Path(__file__).resolve().parent
OFFERED_FILES = {
    PYTHON: (HERE / "python", ("requirements.txt",)),
    NODE: (HERE / "node", ("package.json", "package-lock.json")),
}
FOLDERS = {PYTHON: "packages", NODE: "node_modules"}
EDITION = "1"  # goes up when the same requirements are installed in another way
TITLE_CHARS = 200
KNOWN = 10_000  # pieces of code whose recipe is remembered
AT_ONCE_CHARS = 64 << 10  # of code that is searched for imports on the event loop
REQUIREMENTS = "requirements.txt"
_WHEELS_ONLY = ("--only-binary", ":all:")
_NPM = (
    "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error",
    "--fetch-retries=1", "--allow-git=none", "--git=false",
)  # fmt: skip


# --- recipes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cook:
    """Makes recipes.

    Args:
        wheels: the only directory to take Python packages from; None for the installer's own index.
    """

    wheels: Path | None = None

    def recipe(self, code: Code) -> Recipe | None:
        """The recipe for the packages that code needs; None if it needs none."""
        if code.requirements:
            return self._required(code.kind, code.requirements)
        return self.offered(code.kind) if imports_offered(code) else None

    def offered(self, kind: str) -> Recipe:
        """The recipe for the packages that every code of a kind may import."""
        folder, names = OFFERED_FILES[kind]
        files = {name: (folder / name).read_bytes() for name in names}
        title = f"the packages that {kind} offers"
        command = self._pip(hashed=True) if kind == PYTHON else _npm("ci")
        return _recipe(kind, title, files, command, required=False)

    def _required(self, kind: str, requirements: tuple[str, ...]) -> Recipe:
        title = ", ".join(line.partition(HASH)[0].strip() for line in requirements)
        if len(title) > TITLE_CHARS:
            title = f"{title[:TITLE_CHARS]}... ({len(requirements)} packages)"
        if kind == PYTHON:
            text = "".join(f"{line}\n" for line in sorted(requirements))
            command = self._pip(hashed=HASH in text)
            return _recipe(kind, title, {REQUIREMENTS: text.encode()}, command)
        package = {"private": True, "dependencies": shown_requirements(kind, requirements)}
        files = {"package.json": json.dumps(package, sort_keys=True).encode()}
        return _recipe(kind, title, files, _npm("install"))

    def _pip(self, *, hashed: bool) -> Callable[[], Sequence[str]]:
        options = [*_WHEELS_ONLY, "--target", FOLDERS[PYTHON]]
        if hashed:
            options.append("--require-hashes")
        if self.wheels is not None:
            options += ["--no-index", "--find-links", str(self.wheels.resolve())]
        return lambda: [*_python_installer().command, *options, "-r", REQUIREMENTS]


def _recipe(
    kind: str,
    title: str,
    files: Mapping[str, bytes],
    command: Callable[[], Sequence[str]],
    *,
    required: bool = True,
) -> Recipe:
    machine = (EDITION, sys.implementation.cache_tag, sysconfig.get_platform())
    content = sha256(repr((machine, sorted(files.items()))).encode()).hexdigest()
    return Recipe(
        name=f"{kind.partition(':')[0]}-{content[:24]}",
        title=title,
        files=files,
        folder=FOLDERS[kind],
        command=command,
        required=required,
    )


# --- installers --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Installer:
    """An installer of this machine: its name, and its command line without the packages."""

    name: str
    command: tuple[str, ...]


_UV = (
    "pip", "install", "--python", INTERPRETER, "--compile-bytecode", "--link-mode", "copy",
    "--quiet", "--no-progress",
)  # fmt: skip
_PIP = (
    "-I", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
    "--no-warn-script-location", "--retries", "2",
)  # fmt: skip


def _python_installer() -> Installer:
    uv = shutil.which("uv")
    if uv is not None:
        return Installer("uv", (uv, *_UV))
    python = next(filter(_has_pip, dict.fromkeys([sys.executable, INTERPRETER])), None)
    if python is None:
        raise InstallError("neither uv nor pip is found: install one of them on the server")
    return Installer("pip", (python, *_PIP))


def _has_pip(python: str) -> bool:
    if python == sys.executable:
        return importlib.util.find_spec("pip") is not None
    tried = subprocess.run(  # noqa: S603  our own interpreter
        [python, "-I", "-c", "import pip"], capture_output=True, check=False
    )
    return tried.returncode == 0


def _node_installer() -> Installer:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError("npm is not found: install it on the server")
    return Installer("npm", (npm,))


def _npm(verb: str) -> Callable[[], Sequence[str]]:
    return lambda: [*_node_installer().command, verb, *_NPM]


INSTALLERS: Mapping[str, Callable[[], Installer]] = {
    PYTHON: _python_installer,
    NODE: _node_installer,
}


@dataclass(frozen=True, slots=True)
class PackagesState:
    """The packages of actions on this machine.

    Args:
        environments: the installed ones, the most recently used first.
        installers: the name of the installer by kind of code; None if there is none.
    """

    environments: Sequence[Environment]
    installers: Mapping[str, str | None]

    @property
    def bytes(self) -> int:
        """The size of all environments."""
        return sum(environment.bytes for environment in self.environments)


def packages_state(home: Path) -> PackagesState:
    """The environments in a directory, and the installers that are found."""
    installers: dict[str, str | None] = {}
    for kind, find in INSTALLERS.items():
        try:
            installers[kind] = find().name
        except InstallError:
            installers[kind] = None
    return PackagesState(inventory(home), installers)


# --- for the workers ---------------------------------------------------------------------------


class Packages:
    """Provides code with its packages.

    Args:
        environments: hold the packages.
        cook: makes the recipes.
    """

    def __init__(self, environments: Environments, cook: Cook) -> None:
        self._environments, self._cook = environments, cook
        self._known: OrderedDict[str, Recipe | None] = OrderedDict()  # by the hash of the code

    def settled(self, code: Code) -> bool:
        """True if code can run at once: it needs no packages, or they are installed."""
        if code.hash not in self._known:
            size = len(code.text) + sum(len(str(each)) for each in code.functions.values())
            if code.binary or size > AT_ONCE_CHARS:
                return False
            self._learn(code, self._cook.recipe(code))
        recipe = self._known[code.hash]
        return recipe is None or self._environments.has(recipe)

    def recipe(self, code: Code) -> Recipe | None:
        """The recipe of code that is settled or was prepared."""
        return self._known.get(code.hash)

    async def prepare(self, code: Code, told: Callable[[str], None]) -> bool:
        """Installs the packages that code needs. Returns False if they are missing and code may run without.

        Args:
            code: the code.
            told: gets lines for the log of the activation.

        Raises:
            InstallError: packages that the code requires cannot be installed.
        """
        if code.hash not in self._known:
            self._learn(code, await asyncio.to_thread(self._cook.recipe, code))
        recipe = self._known[code.hash]
        if recipe is None or await self._environments.ready(recipe):
            return True
        told(f"installing {recipe.title}")
        try:
            await self._environments.install(recipe)
        except InstallError as error:
            if recipe.required:
                raise
            told(str(error))
            return False
        return True

    async def lease(self, code: Code) -> Lease | None:
        """The packages of code, for a worker; None if it needs none.

        Raises:
            InstallError: they cannot be installed.
        """
        recipe = self._known.get(code.hash)
        return None if recipe is None else await self._environments.lease(recipe)

    def _learn(self, code: Code, recipe: Recipe | None) -> None:
        self._known[code.hash] = recipe
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
