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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...actions import PYTHON, Action, Code, Remote, define_action
from ...composer import CompositionError, Error, Name, compile
from .archives import is_node
from .doors import lazy_door
from .elsewhere import AMBIENT
from .errors import BundleError
from .options import Options
from .requirements import requirements_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...composer import JSON, Composition, Program
    from .requirements import Requirements

Definition: TypeAlias = "dict[str, Any]"
"""The definition of an action in the form of the HTTP API, as the DSL or the command line made it."""

PACKAGE = Path(__file__).parents[2]  # xingqiao: in a bundle its parts stand as they do here
HOSTED = Path(__file__).parent / "hosted"
ELSEWHERE = Path(__file__).parent / "elsewhere"
EARLIER = ("composer", "hosted")  # folders of bundles made before there was one package
OF_AWS = (
    "botocore>=1.40,<2"  # signs the requests to functions of AWS, where the runtime has no botocore
)
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of zipped files: equal files give equal archives

_NAME = re.compile(r"[A-Za-z0-9_-]+")

# Instructions that no target conducts without a server.
_REFUSED = {
    "Hear": "only a server keeps messages until a composition receives them",
    "Restart": "only a server begins the next run of a chain",
    "Acquire": "only a server keeps the line of a limit",
    "Tell": "only a server knows the executions that can be told a message",
    "Annotate": "only a server finds executions by attributes: leave annotate out",
    "Emit": "only a server takes the CloudEvents that a composition emits",
    "Adopt": "only a server keeps executions with ids and parents",
    "Operate": "only a server keeps entities",
    "Open": "transactions need entities, which only a server keeps",
    "Coordinate": "transactions need entities, which only a server keeps",
    "Enter": "a stuck saga waits for an operator, and only a server can notify one",
}
_UNBOUND = {
    "heartbeat": "only a server takes heartbeats: use 'to_end'",
    "to_start": "its steps wait in no queue of ours: use 'to_end'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source of a bundle: compositions, and definitions of actions, by name; and how to bundle them."""

    compositions: Mapping[str, Composition]
    actions: Mapping[str, Definition]
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takes:
    """The actions that a target takes, besides one file of Python without requirements.

    node: JavaScript.
    archives: archives, and code with requirements.
    elsewhere: kinds of functions on other clouds.
    """

    node: bool = False
    archives: bool = False
    elsewhere: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A source, checked: programs, actions and their requirements by their full names (`/_/name`)."""

    programs: dict[str, Program]
    actions: dict[str, Action]
    requirements: dict[str, Requirements] = field(default_factory=dict)

    def deployed(self) -> dict[str, JSON]:
        """The document that `hosted.Deployed.from_json` reads."""
        return {
            "programs": {name: program.to_json() for name, program in self.programs.items()},
            "actions": {name: _settings(action) for name, action in self.actions.items()},
        }


def _settings(action: Action) -> dict[str, JSON]:
    settings: dict[str, JSON] = {"timeout_ms": action.limits.timeout_ms}
    if action.lost_on_crash:
        settings["at_most_once"] = True
    if action.answers_later:
        settings["answers_later"] = True
    if action.parameters:
        settings["parameters"] = action.parameters
    return settings


def defined(action: Action) -> dict[str, JSON]:
    """The document of a function on another cloud that `elsewhere.remote` reads."""
    assert isinstance(action.exec, Remote)  # noqa: S101  the caller says so
    return {"exec": action.exec.to_json(), "repeatable": action.repeatable}


def secret_of(action: Action) -> str | None:
    """The name of the secret with which a function on another cloud is invoked; None if it needs none."""
    if not isinstance(action.exec, Remote):
        return None
    name = action.exec.option("credentials")
    return None if name is None or name == AMBIENT else str(name)


def checked(source: Source, target: str, takes: Takes | None = None) -> Parts:
    """The parts of a source for a hosted conductor: nothing that it names is missing.

    Args:
        source: the compositions and actions.
        target: the name of the target in errors.
        takes: the actions that the target takes; by default one file of Python each.

    Raises:
        BundleError: the target cannot run a part, which the text names.
    """
    if not source.compositions:
        raise BundleError(
            "the source has no composition: define one; an action alone needs no bundle"
        )
    parts = Parts(
        programs={_full(name): _program(name, c) for name, c in source.compositions.items()},
        actions={_full(name): parsed(name, document) for name, document in source.actions.items()},
        requirements={
            _full(name): wanted
            for name, document in source.actions.items()
            if (wanted := requirements_of(name, document["exec"]))
        },
    )
    for name in source.options.actions:
        if _full(name) not in parts.actions:
            raise BundleError(f"--config: action {name} is not in the source: correct its name")
    for name, program in parts.programs.items():
        _check_program(name.removeprefix("/_/"), program, parts, target)
    for name, action in parts.actions.items():
        _check_action(name.removeprefix("/_/"), action, target, takes or Takes())
        if name in parts.requirements and not (takes and takes.archives):
            raise BundleError(
                f"action {name.removeprefix('/_/')}: a bundle for {target} installs no requirements"
            )
    return parts


def _full(name: str) -> str:
    return str(Name.parse(name))


def _program(name: str, composition: Composition) -> Program:
    try:
        return compile(composition)
    except CompositionError as error:
        raise BundleError(f"composition {name}: {error}") from error


def parsed(name: str, document: Definition) -> Action:
    """The action that a document defines.

    Raises:
        BundleError: the document is malformed.
    """
    try:
        # Requirements are installed here; the definition is without them.
        execution = {key: v for key, v in document["exec"].items() if key != "requirements"}
        return define_action(Name.parse(name), {**document, "exec": execution}, None, 0)
    except Error as error:
        raise BundleError(f"action {name}: {error}") from error


def _check_program(name: str, program: Program, parts: Parts, target: str) -> None:
    if not _NAME.fullmatch(name):
        raise BundleError(
            f"composition {name!r}: the name becomes part of a URL: "
            "use only letters, digits, '_' and '-'"
        )
    if program.queries:
        raise BundleError(
            f"composition {name}, queries: {target} cannot run it: only a server answers queries: "
            "remove the queries, or run the composition on a server"
        )
    compiled: dict[str, Any] = program.to_json()
    for step in compiled["instructions"]:
        where = f"composition {name}, {step.get('path') or step['op'].lower()}"
        if why := _REFUSED.get(step["op"]):
            raise BundleError(f"{where}: {target} cannot run it: {why}")
        if step["op"] == "Limit" and (why := _UNBOUND.get(step.get("bound", ""))):
            raise BundleError(f"{where}: {target} cannot limit '{step['bound']}': {why}")
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


def _check_action(name: str, action: Action, target: str, takes: Takes) -> None:
    if isinstance(action.exec, Remote):
        check_elsewhere(name, action, target, takes)
        return
    if not isinstance(action.exec, Code):
        raise BundleError(f"action {name}: the kind is {action.kind}, and a bundle takes only code")
    if action.annotations.get("entity"):
        raise BundleError(
            f"action {name}: the action is an entity, and only a server keeps entities"
        )
    if not (takes.node and is_node(action.exec)):
        _check_code(f"action {name}", action.exec.kind, target)
    if action.exec.binary and not takes.archives:
        raise BundleError(
            f"action {name}: the code is an archive, and a bundle takes one source file: "
            f"deploy the action to {target} separately, or put its code into one file"
        )


def check_elsewhere(name: str, action: Action, target: str, takes: Takes) -> None:
    """Checks a function on another cloud.

    Raises:
        BundleError: the target cannot invoke it; the text says why.
    """
    remote = action.exec
    assert isinstance(remote, Remote)  # noqa: S101  the caller says so
    if remote.kind not in takes.elsewhere:
        known = ", ".join(takes.elsewhere)
        raise BundleError(
            f"action {name}: the kind is {remote.kind}, and a bundle for {target} "
            + (f"invokes {known}" if known else "takes only code")
        )
    if remote.option("credentials") == AMBIENT and not remote.kind.startswith("aws:"):
        raise BundleError(
            f"action {name}: 'credentials': 'ambient' works for functions of AWS only in a bundle: name a secret"
        )
    if action.answers_later:
        raise BundleError(
            f"action {name}: the function answers later, by a callback, and a bundle has no public address to "
            "receive the callback: use a function that is waited for or polled"
        )


def check_region(name: str, action: Action) -> None:
    """Checks that a function of AWS names its region: a host outside AWS has none of its own.

    Raises:
        BundleError: it does not.
    """
    remote = action.exec
    if isinstance(remote, Remote) and remote.kind.startswith("aws:") and not remote.region:
        raise BundleError(
            f"action {name}: 'exec.region' is missing: outside AWS, a function needs its region or its ARN"
        )


def check_program_size(full: str, size: int, most: int, place: str) -> None:
    """Checks that a compiled program fits where the target keeps it.

    Args:
        full: full name of the composition.
        size: bytes of the program.
        most: bytes that the place holds.
        place: place, for the error: `an item of a DynamoDB table`.

    Raises:
        BundleError: it does not.
    """
    if size > most:
        raise BundleError(
            f"composition {full.removeprefix('/_/')}: the compiled program has {size} bytes, and {place} "
            f"holds at most {most}: make a part of it a composition of its own"
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
    write_package(folder, "composer")
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
    _make_package(package, hosted)
    for name in _closed(modules):
        shutil.copyfile(HOSTED / f"{name}.py", hosted / f"{name}.py")


def write_package(folder: Path, name: str, *, without: str = "") -> None:
    """Writes one of our packages, with a lazy door."""
    package = folder / "xingqiao"
    _make_package(package, package)
    _copy(PACKAGE / name, package / name, without)
    for door in (package / name).rglob("__init__.py"):
        if door.parent.name == name:
            door.write_text(lazy_door(door.read_text("utf-8")), "utf-8")


def write_elsewhere(folder: Path) -> None:
    """Writes the code that invokes functions on other clouds: the adapters, and the packages that they need."""
    write_package(folder, "composer")
    write_package(folder, "actions", without="runtimes")
    write_package(folder, "adapters")
    elsewhere = folder / "xingqiao" / ELSEWHERE.relative_to(PACKAGE)
    _copy(ELSEWHERE, elsewhere)


def _make_package(package: Path, inner: Path) -> None:
    inner.mkdir(parents=True, exist_ok=True)
    for parent in (inner, *inner.parents):
        (parent / "__init__.py").write_text('"""See https://pypi.org/project/xingqiao."""\n')
        if parent == package:
            break


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


def _copy(package: Path, to: Path, *without: str) -> None:
    shutil.rmtree(to, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "py.typed", *without)
    shutil.copytree(package, to, ignore=ignored)


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
