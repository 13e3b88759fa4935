"""Reading of a user's files: the compositions, actions and state machines that they define."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import zipfile
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import composer
from ...actions import MACHINE, NODE, PYTHON
from ...composer import ActionFunction, Composition, CompositionError, Error
from . import schedule_files
from .definitions import Document, Sender
from .locating import located
from .projects import packed, project_at
from .requirements import OFFERED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from types import ModuleType

MACHINE_SUFFIX = ".asl.json"
SCHEDULE_SUFFIX = ".schedule.json"
_KINDS = {".py": PYTHON, ".js": NODE, ".mjs": NODE, ".cjs": NODE}
Exec: TypeAlias = "dict[str, Any]"
"""The `exec` of such a document."""


class FileError(Error):
    """A file cannot be used; the text names the file and the reason."""


@dataclass(slots=True)
class Contents:
    """Definitions in a file.

    actions: documents of actions, by name.
    functions: functions marked `@composer.action`, by name.
    compositions: compositions, by name; the last is the main one.
    schedules: schedules, by name.
    sender: makes the definitions of functions; None if there are none.
    """

    actions: dict[str, Document] = field(default_factory=dict)
    functions: dict[str, ActionFunction[..., Any]] = field(default_factory=dict)
    compositions: dict[str, Composition] = field(default_factory=dict)
    schedules: dict[str, Document] = field(default_factory=dict)
    sender: Sender | None = None

    def documents(self) -> dict[str, Document]:
        """Documents of all definitions by name, in the order of deployment.

        Raises:
            CaptureError: the source of a function cannot be captured.
        """
        compositions: dict[str, Document] = {
            name: {"exec": {"kind": "composition", "composition": composition.to_json()}}
            for name, composition in self.compositions.items()
        }
        return {**self.actions_alone(), **compositions}

    def actions_alone(self) -> dict[str, Document]:
        """Documents of the actions by name, without the compositions.

        Raises:
            CaptureError: the source of a function cannot be captured.
            ProjectError: a function imports a module that a worker cannot have.
        """
        return {
            **self.actions,
            **{name: self._definition(function) for name, function in self.functions.items()},
        }

    def _definition(self, function: ActionFunction[..., Any]) -> Document:
        return function.definition() if self.sender is None else self.sender.function(function)

    def main(self, path: Path, name: str | None) -> tuple[str, Composition]:
        """Name and composition: the one of this name, or the last one.

        Raises:
            FileError: the file has no such composition.
        """
        if name is None and self.compositions:
            name = list(self.compositions)[-1]
        if name not in self.compositions:
            wanted = "composition" if name is None else f"composition {name!r}"
            has = f"; it defines {', '.join(self.compositions)}" if self.compositions else ""
            raise FileError(f"{path} defines no {wanted}{has}")
        return name, self.compositions[name]


def composition(path: Path, name: str | None) -> Composition:
    """The composition of this name in a file, or the file's last one.

    Raises:
        FileError: the file has no such composition, or cannot be read.
    """
    return read(path).main(path, name)[1]


def content(runtime: Exec) -> bytes:
    """Content of the file that an action was made from, restored from its `exec`."""
    if runtime["kind"] == MACHINE:
        return str(runtime["definition"]).encode()
    if "code" not in runtime:
        document = runtime.get("composition", runtime)
        return json.dumps(document, indent=2, ensure_ascii=False).encode()
    code: str = runtime["code"]
    return base64.b64decode(code) if runtime.get("binary") else code.encode()


def exec_of(path: Path, kind: str | None, main: str | None) -> Exec:
    """The `exec` of an action made from one file. The file's code is not run.

    Raises:
        FileError: the file cannot be read.
    """
    if path.suffix == ".json":
        (document,) = read(path, "it").documents().values()
        return dict(document["exec"])
    try:
        content = path.read_bytes()
        binary = path.suffix in (".zip", ".mjs")
        code = content.decode() if not binary else base64.b64encode(content).decode()
        if path.suffix == ".mjs":  # a worker loads ES modules from archives only
            about = json.dumps({"main": path.name})
            code = packed({"package.json": about.encode(), path.name: content})
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {_why(error)}") from error
    made: Exec = {"kind": kind or _kind(path), "code": code, "binary": binary}
    return made if main is None else {**made, "main": main}


def _kind(path: Path) -> str:
    """Kind of the code in a file, from its name or from the files in an archive."""
    if path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except zipfile.BadZipFile as error:
            raise FileError(f"{path} is not a valid zip archive: {error}") from error
        return NODE if {"package.json", "index.js"} & set(names) else PYTHON
    if path.suffix not in _KINDS:
        raise FileError(
            f"{path} has an unknown file type: give a {', '.join(_KINDS)}, .zip or .json file, or name the "
            "kind with --kind"
        )
    return _KINDS[path.suffix]


def read(path: Path, name: str | None = None, offered: Collection[str] = OFFERED) -> Contents:
    """Reads a file: `.py`, `.json` (a composition), `.asl.json` (a state machine), `.schedule.json`, `.js` or `.zip`.

    Args:
        path: the file.
        name: name of the definition, if there is one; None for the name in the file, or of the file.
        offered: modules that need no requirement where the code will run.

    Raises:
        FileError: the file defines nothing, or cannot be read.
    """
    if not path.is_file():
        raise FileError(f"{path} does not exist or is not a file: check the path")
    if path.suffix in (".zip", ".js", ".mjs"):
        return Contents(actions={name or path.stem: {"exec": exec_of(path, None, None)}})
    if is_machine(path):
        document: Document = {"exec": {"kind": MACHINE, "definition": definition(path)}}
        return Contents(actions={name or path.name.removesuffix(MACHINE_SUFFIX): document})
    if is_schedule(path):
        return Contents(
            schedules=schedule_files.of_file(path, name or path.name.removesuffix(SCHEDULE_SUFFIX))
        )
    if path.suffix == ".json":
        return Contents(compositions={name or path.stem: _composition(path)})
    if path.suffix != ".py":
        raise FileError(
            f"{path} has an unknown file type: give a .py, .js, .mjs, .zip, .json, .asl.json or "
            ".schedule.json file"
        )
    return _python(path, name, offered)


def is_machine(path: Path) -> bool:
    """True if the name of a file is that of a state machine."""
    return path.name.endswith(MACHINE_SUFFIX)


def is_schedule(path: Path) -> bool:
    """True if the name of a file is that of a schedule."""
    return path.name.endswith(SCHEDULE_SUFFIX)


def definition(path: Path) -> str:
    """The unchanged text of a state machine.

    Raises:
        FileError: the file cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {_why(error)}") from error


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _composition(path: Path) -> Composition:
    try:
        document = json.loads(path.read_text("utf-8"))
        if isinstance(document, dict) and "StartAt" in document:
            raise FileError(
                f"{path} contains a state machine: rename the file so that it ends in {MACHINE_SUFFIX}"
            )
        return composer.parse(document)
    except CompositionError as error:
        raise FileError(f"{path}: {error}") from error
    except ValueError as error:
        raise FileError(f"{path} is not valid JSON: {error}") from error


def _python(path: Path, name: str | None, offered: Collection[str]) -> Contents:
    module = _load_module(path)
    contents = Contents(sender=Sender(project_at(path.parent), path, offered))
    for variable, value in vars(module).items():
        if isinstance(value, ActionFunction):
            contents.functions[value.name] = value
        elif isinstance(value, Composition) and variable[0] != "_":
            if value.type == "action" and value.arguments["action"] is not None:
                _collect(value, contents)  # it only defines an action
            elif value.type != "step":
                contents.compositions[variable] = value
    if name is not None and contents.compositions:
        last = list(contents.compositions)[-1]
        contents.compositions = {name: contents.compositions[last]}
    for composition in contents.compositions.values():
        _collect(composition, contents)
    _check_names(path, contents)
    contents.schedules = schedule_files.of_module(path, module)
    if not (contents.functions or contents.compositions or contents.actions or contents.schedules):
        if not callable(getattr(module, "main", None)):
            raise FileError(
                f"{path} defines nothing to deploy: add a composition, an @composer.action, a "
                "schedule or a function 'main'"
            )
        code = path.read_text("utf-8")
        assert contents.sender is not None  # noqa: S101  it is made above
        contents.actions[name or path.stem] = contents.sender.module(code)
    return contents


def _check_names(path: Path, contents: Contents) -> None:
    """Refuses a composition with the name of an action: it would replace the action and call itself."""
    for twice in contents.compositions.keys() & {*contents.functions, *contents.actions}:
        raise FileError(
            f"{path}: a composition and an action have the same name {twice!r}: rename the variable or "
            "the action"
        )


def _collect(composition: Composition, contents: Contents) -> None:
    """Adds the actions that a composition defines inline."""
    for name, definition in composition.definitions():
        if isinstance(definition, ActionFunction):
            contents.functions[definition.name] = definition
        else:
            contents.actions[name.removeprefix("/_/")] = definition


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """Writes no bytecode of modules: it would be taken for a file that is edited within the same second."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _load_module(path: Path) -> ModuleType:
    # A file may be called as a module that is loaded, ours included: that module keeps its name.
    name = f"{path.stem} of {path.parent}" if path.stem in sys.modules else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101  it is a .py file
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent.resolve()))
    sys.modules[name] = module
    try:
        # Standard output is the command's, perhaps a document.
        with redirect_stdout(sys.stderr), _no_bytecode():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise FileError(located(path, error)) from error
    return module
