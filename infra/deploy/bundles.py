"""The parts of every target's bundle: programs, actions, and the code that conducts them there."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...actions import PYTHON, Action, Code, define_action
from ...composer import CompositionError, Error, Name, compile
from .doors import lazy_door

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...composer import JSON, Composition, Program

Definition: TypeAlias = "dict[str, Any]"
"""The definition of an action in the form of the HTTP API, as the DSL or the command line made it."""

PACKAGE = Path(__file__).parents[2]  # xingqiao: in a bundle its parts stand as they do here
HOSTED = Path(__file__).parent / "hosted"
EARLIER = ("composer", "hosted")  # folders of bundles made before there was one package
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of zipped files: equal files give equal archives

_NAME = re.compile(r"[A-Za-z0-9_-]+")

# Instructions that no target conducts without a server.
_REFUSED = {
    "Operate": "only a server keeps entities",
    "Open": "transactions need entities, which only a server keeps",
    "Coordinate": "transactions need entities, which only a server keeps",
    "Enter": "a stuck saga waits for an operator, and only a server can notify one",
}


class BundleError(Error):
    """A part that cannot be bundled; the text names the part and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source of a bundle: compositions, and definitions of actions, by name."""

    compositions: Mapping[str, Composition]
    actions: Mapping[str, Definition]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A source, checked: programs and actions by their full names (`/_/name`)."""

    programs: dict[str, Program]
    actions: dict[str, Action]

    def deployed(self) -> dict[str, JSON]:
        """The document that `hosted.Deployed.from_json` reads."""
        return {
            "programs": {name: program.to_json() for name, program in self.programs.items()},
            "actions": {name: _settings(action) for name, action in self.actions.items()},
        }


def _settings(action: Action) -> dict[str, JSON]:
    settings: dict[str, JSON] = {"timeout_ms": action.limits.timeout_ms}
    if action.at_most_once:
        settings["at_most_once"] = True
    if action.parameters:
        settings["parameters"] = action.parameters
    return settings


def checked(source: Source, target: str) -> Parts:
    """The parts of a source for a hosted conductor: nothing that it names is missing.

    Raises:
        BundleError: the target cannot run a part, which the text names.
    """
    if not source.compositions:
        raise BundleError(
            "the source has no composition: define one; an action alone needs no bundle"
        )
    parts = Parts(
        programs={_full(name): _program(name, c) for name, c in source.compositions.items()},
        actions={_full(name): _action(name, document) for name, document in source.actions.items()},
    )
    for name, program in parts.programs.items():
        _check_program(name.removeprefix("/_/"), program, parts, target)
    for name, action in parts.actions.items():
        _check_action(name.removeprefix("/_/"), action, target)
    return parts


def _full(name: str) -> str:
    return str(Name.parse(name))


def _program(name: str, composition: Composition) -> Program:
    try:
        return compile(composition)
    except CompositionError as error:
        raise BundleError(f"composition {name}: {error}") from error


def _action(name: str, document: Definition) -> Action:
    try:
        return define_action(Name.parse(name), document, None, 0)
    except Error as error:
        raise BundleError(f"action {name}: {error}") from error


def _check_program(name: str, program: Program, parts: Parts, target: str) -> None:
    if not _NAME.fullmatch(name):
        raise BundleError(
            f"composition {name!r}: the name becomes part of a URL: "
            "use only letters, digits, '_' and '-'"
        )
    compiled: dict[str, Any] = program.to_json()
    for step in compiled["instructions"]:
        where = f"composition {name}, {step.get('path') or step['op'].lower()}"
        if why := _REFUSED.get(step["op"]):
            raise BundleError(f"{where}: {target} cannot run it: {why}")
        if step["op"] == "Attempt" and step["policy"]["pause"]:
            raise BundleError(
                f"{where}: retry with on_exhausted='pause' waits for an operator, and only a "
                "server can notify one: handle the failure instead"
            )
    for action in program.actions:
        if action not in parts.actions and action not in parts.programs:
            raise BundleError(
                f"composition {name}: the code of {action} is missing: define the action in the file"
            )
    for function in program.functions.values():
        _check_code(f"composition {name}, an inline function", str(function["kind"]), target)


def _check_action(name: str, action: Action, target: str) -> None:
    if not isinstance(action.exec, Code):
        raise BundleError(f"action {name}: the kind is {action.kind}, and a bundle takes only code")
    if action.annotations.get("entity"):
        raise BundleError(
            f"action {name}: the action is an entity, and only a server keeps entities"
        )
    _check_code(f"action {name}", action.exec.kind, target)
    if action.exec.binary:
        raise BundleError(
            f"action {name}: the code is an archive, and a bundle takes one source file: "
            f"deploy the action to {target} separately, or put its code into one file"
        )


def _check_code(what: str, kind: str, target: str) -> None:
    if not kind.startswith(PYTHON.partition(":")[0]):
        raise BundleError(f"{what}: the kind is {kind}, and a bundle for {target} runs only Python")


# --- files -------------------------------------------------------------------------------------


def write_core(folder: Path, deployed: Mapping[str, object], modules: Collection[str]) -> None:
    """Writes the code around the programs, `xingqiao`, and `deployed.json`.

    The package `xingqiao` of a bundle has `composer`, the named modules of `hosted`, and those that they
    import, all under the names that they have here.

    The library for paths with wildcards and filters is added if a program has such a path: loading the
    programs there, with nothing else, shows that.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*EARLIER, "xingqiao"):
        shutil.rmtree(folder / name, ignore_errors=True)
    write_hosted(folder, modules)
    package = folder / "xingqiao"
    _copy(PACKAGE / "composer", package / "composer")
    door = package / "composer" / "__init__.py"
    door.write_text(lazy_door(door.read_text("utf-8")), "utf-8")
    (folder / "deployed.json").write_text(json.dumps(deployed, indent=1, sort_keys=True) + "\n")
    shutil.rmtree(folder / "jsonpath", ignore_errors=True)
    error = _load_error(folder)
    if "jsonpath" in error:
        _bring("jsonpath", "python-jsonpath", folder)
        error = _load_error(folder)
    if error:
        raise BundleError(f"{folder}: the written bundle does not load: {error.splitlines()[-1]}")


def write_hosted(folder: Path, modules: Collection[str]) -> None:
    """Writes modules of `hosted`, and those that they import, without `composer`."""
    package = folder / "xingqiao"
    hosted = package / HOSTED.relative_to(PACKAGE)
    hosted.mkdir(parents=True)
    for parent in (hosted, *hosted.parents):
        (parent / "__init__.py").write_text('"""See https://pypi.org/project/xingqiao."""\n')
        if parent == package:
            break
    for name in _closed(modules):
        shutil.copyfile(HOSTED / f"{name}.py", hosted / f"{name}.py")


def _closed(modules: Collection[str]) -> list[str]:
    """Modules of `hosted`, and those that they import."""
    found: set[str] = set()
    left = [*modules]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            tree = ast.parse((HOSTED / f"{name}.py").read_text("utf-8"))
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            left += [node.module for node in imports if node.level == 1 and node.module]
    return sorted(found)


def write_zip(folder: Path, archive: Path) -> None:
    """Writes all files of a folder into one archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            made.writestr(entry, path.read_bytes())


def _copy(package: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(package, to, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "py.typed"))


def _bring(package: str, distribution: str, folder: Path) -> None:
    """Copies a library that we depend on, with its license."""
    found = importlib.util.find_spec(package)
    assert found is not None  # noqa: S101  we depend on it
    assert found.origin is not None  # noqa: S101  it is a package of files
    _copy(Path(found.origin).parent, folder / package)
    for file in importlib.metadata.files(distribution) or ():
        if file.name.upper().startswith("LICENSE"):
            shutil.copyfile(file.locate(), folder / package / file.name)


_LOAD = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from xingqiao.infra.deploy.hosted.ports import Deployed; "
    "Deployed.from_json(json.load(open(sys.argv[1] + '/deployed.json', encoding='utf-8')))"
)


def _load_error(folder: Path) -> str:
    """The error of loading the programs with nothing but the standard library; "" if there is none."""
    command = [sys.executable, "-I", "-S", "-B", "-c", _LOAD, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  ours
    return done.stderr
