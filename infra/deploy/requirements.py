"""Installs the requirements of actions for the machine that will run them.

Python: `pip`, or `uv` where there is no pip, with wheels for the target's processor and Python. Node.js:
`npm`, without the scripts of packages. Equal requirements are installed once for a bundle, and the installers
keep their downloads in their own caches.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from .errors import BundleError
from .options import ARM, X86

if TYPE_CHECKING:
    from collections.abc import Sequence

Requirements: TypeAlias = "list[str] | dict[str, str]"
"""Python: PEP 508 texts. Node.js: ranges of versions by the name of a package."""

DEADLINE_S = 600
LINES = 6  # of an installer's output, in an error
_MACHINES = {X86: "x86_64", ARM: "aarch64"}
_CPUS = {X86: "x64", ARM: "arm64"}
_GLIBC = ("manylinux2014", "manylinux_2_28")  # that the runtimes of all targets have
_PYTHON = re.compile(r"[A-Za-z0-9][^\r\n]*")
_NODE = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*")


def requirements_of(name: str, exec: dict[str, Any]) -> Requirements:
    """The requirements in an action's `exec`; empty if there are none.

    Raises:
        BundleError: they are malformed.
    """
    given = exec.get("requirements")
    if str(exec.get("kind")).startswith("nodejs"):
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise BundleError(
                f"action {name}: 'exec.requirements' must be an object of packages and versions, such as "
                '{"left-pad": "^1.3.0"}'
            )
        for package, version in given.items():
            if not _NODE.fullmatch(package) or not isinstance(version, str):
                raise BundleError(
                    f"action {name}: 'exec.requirements': {package!r:.100} must be the name of a package, with a "
                    "version as its text"
                )
        return given
    if given is None:
        return []
    if not isinstance(given, list):
        raise BundleError(
            f"action {name}: 'exec.requirements' must be a list of requirements, such as [\"requests==2.32.5\"]"
        )
    for requirement in given:
        if not isinstance(requirement, str) or not _PYTHON.fullmatch(requirement):
            raise BundleError(
                f"action {name}: 'exec.requirements': {requirement!r:.100} is not a requirement such as "
                "'requests==2.32.5'"
            )
    return given


@dataclass
class Installer:
    """Installs requirements for one target; use it with `with`.

    Args:
        platform: the processor, one of `options.PLATFORMS`.
        python: the version of Python there.
        wheels: a folder with all wheels; None for the package index.
    """

    platform: str
    python: str
    wheels: Path | None = None
    _made: dict[str, Path] = field(default_factory=dict)
    _folders: list[tempfile.TemporaryDirectory[str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for folder in self._folders:
            folder.cleanup()

    def install(self, name: str, requirements: Requirements, to: Path) -> None:
        """Installs the requirements of an action into a folder, beside the files that the folder has.

        Raises:
            BundleError: the installer failed. The text has its last lines.
        """
        key = json.dumps(requirements, sort_keys=True)
        if key not in self._made:
            folder = tempfile.TemporaryDirectory(prefix="xingqiao-requirements-")
            self._folders.append(folder)
            if isinstance(requirements, dict):
                self._made[key] = self._npm(name, requirements, Path(folder.name))
            else:
                self._made[key] = self._pip(name, requirements, Path(folder.name))
        shutil.copytree(self._made[key], to, dirs_exist_ok=True, symlinks=True)

    def _pip(self, name: str, requirements: Sequence[str], folder: Path) -> Path:
        listed, site = folder / "requirements.txt", folder / "site"
        listed.write_text("\n".join(requirements) + "\n", "utf-8")
        machine = _MACHINES[self.platform]
        source = [] if self.wheels is None else ["--no-index", "--find-links", str(self.wheels)]
        wanted = ["--only-binary=:all:", "--python-version", self.python, "--target", str(site)]
        if importlib.util.find_spec("pip") is not None:
            platforms = [f"--platform={glibc}_{machine}" for glibc in _GLIBC]
            command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile",
                       "--quiet", "--implementation=cp", *platforms]  # fmt: skip
        elif (uv := shutil.which("uv")) is not None:
            command = [uv, "pip", "install", "--quiet", f"--python-platform={machine}-{_GLIBC[0]}"]
        else:
            raise BundleError(
                f"action {name}: the requirements cannot be installed: install pip or uv beside xingqiao"
            )
        _run(name, [*command, *wanted, *source, "-r", str(listed)], folder)
        site.mkdir(exist_ok=True)
        shutil.rmtree(site / "bin", ignore_errors=True)  # commands for this machine
        return site

    def _npm(self, name: str, requirements: dict[str, str], folder: Path) -> Path:
        if self.wheels is not None:
            raise BundleError(
                f"action {name}: --wheels has packages for Python only: put 'node_modules' into the action's archive, "
                "and leave 'requirements' out"
            )
        npm = shutil.which("npm")
        if npm is None:
            raise BundleError(f"action {name}: the requirements cannot be installed: install npm")
        listed = {"private": True, "dependencies": requirements}
        (folder / "package.json").write_text(json.dumps(listed), "utf-8")
        command = [npm, "install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
                   "--os=linux", f"--cpu={_CPUS[self.platform]}"]  # fmt: skip
        _run(name, command, folder)
        made = folder / "made"
        made.mkdir()
        if (folder / "node_modules").exists():
            (folder / "node_modules").rename(made / "node_modules")
        return made


def _run(name: str, command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603  an installer, with requirements in a file
            command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BundleError(
            f"action {name}: the requirements were not installed within {DEADLINE_S} seconds"
        ) from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        told = "\n  ".join(lines[-LINES:])
        raise BundleError(f"action {name}: the requirements cannot be installed:\n  {told}")


def check_size(what: str, folder: Path, most_bytes: int, target: str) -> None:
    """Checks the files of a folder against the limit of a target.

    Raises:
        BundleError: they are larger.
    """
    size = sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
    if size > most_bytes:
        raise BundleError(
            f"{what}: the code and its requirements have {size:,} bytes unpacked, and {target} allows {most_bytes:,}: "
            "leave out packages, or split the action"
        )
