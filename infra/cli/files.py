"""A user's files: what there is to deploy or to run in them."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ... import composer
from ...actions import MACHINE, NODE, PYTHON
from ...composer import ActionFunction, Composition, CompositionError, Error

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from ...composer import JSON


MACHINE_SUFFIX = ".asl.json"


class FileError(Error):
    """A file that cannot be used; the text names it and says why."""


@dataclass(slots=True)
class Contents:
    """What a file defines.

    actions: documents of actions, by name.
    functions: functions marked `@composer.action`, by name.
    compositions: by name; the last is the file's own.
    """

    actions: dict[str, dict[str, JSON]] = field(default_factory=dict)
    functions: dict[str, ActionFunction] = field(default_factory=dict)
    compositions: dict[str, Composition] = field(default_factory=dict)

    def documents(self) -> dict[str, dict[str, JSON]]:
        """Documents of everything, to be deployed in this order.

        Raises:
            CaptureError: when a function's source cannot travel.
        """
        functions = {name: function.definition() for name, function in self.functions.items()}
        compositions = {
            name: {"exec": {"kind": "composition", "composition": composition.to_json()}}
            for name, composition in self.compositions.items()
        }
        return {**self.actions, **functions, **compositions}

    def main(self, path: Path, name: str | None) -> tuple[str, Composition]:
        """The composition of this name, or the last one, with its name.

        Raises:
            FileError: when there is none.
        """
        if name is None and self.compositions:
            name = list(self.compositions)[-1]
        if name not in self.compositions:
            wanted = "composition" if name is None else f"composition {name!r}"
            has = f"; it has {', '.join(self.compositions)}" if self.compositions else ""
            raise FileError(f"{path}: it has no {wanted}{has}")
        return name, self.compositions[name]


def composition(path: Path, name: str | None) -> Composition:
    """The composition of this name in a file, or its last one.

    Raises:
        FileError: when there is none.
    """
    return read(path).main(path, name)[1]


def content(runtime: dict[str, JSON]) -> bytes:
    """What the file of an action held, from its `exec`."""
    if runtime["kind"] == MACHINE:
        return str(runtime["definition"]).encode()
    if "code" not in runtime:
        document = runtime.get("composition", runtime)
        return json.dumps(document, indent=2, ensure_ascii=False).encode()
    code: str = runtime["code"]
    return base64.b64decode(code) if runtime.get("binary") else code.encode()


def executed(path: Path, kind: str | None, main: str | None) -> dict[str, JSON]:
    """The `exec` of an action made of one file, whose code is not run here.

    Raises:
        FileError: when it cannot be read.
    """
    if path.suffix == ".json":
        (document,) = read(path, "it").documents().values()
        return dict(document["exec"])
    try:
        content = path.read_bytes()
        binary = path.suffix == ".zip"
        code = base64.b64encode(content).decode() if binary else content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: {error}") from error
    made: dict[str, JSON] = {"kind": kind or _kind(path), "code": code, "binary": binary}
    return made if main is None else {**made, "main": main}


def _kind(path: Path) -> str:
    """The kind of code in a file: by its name, or by what is in an archive."""
    if path.suffix == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except zipfile.BadZipFile as error:
            raise FileError(f"{path}: {error}") from error
        return NODE if {"package.json", "index.js"} & set(names) else PYTHON
    return NODE if path.suffix in (".js", ".mjs", ".cjs") else PYTHON


def read(path: Path, name: str | None = None) -> Contents:
    """What a file defines: `.py`, `.json` (a composition), `.asl.json` (a state machine), `.js` or `.zip`.

    Args:
        path: of the file.
        name: of what it defines, when that is one thing; else names stand in it, or its own is taken.

    Raises:
        FileError: when it defines nothing, or cannot be read.
    """
    if not path.is_file():
        raise FileError(f"{path}: there is no such file")
    if path.suffix in (".zip", ".js"):
        return Contents(actions={name or path.stem: {"exec": executed(path, None, None)}})
    if is_machine(path):
        document = {"exec": {"kind": MACHINE, "definition": definition(path)}}
        return Contents(actions={name or path.name.removesuffix(MACHINE_SUFFIX): document})
    if path.suffix == ".json":
        return Contents(compositions={name or path.stem: _composition(path)})
    if path.suffix != ".py":
        raise FileError(f"{path}: only .py, .js, .zip, .json and .asl.json files can be used")
    return _python(path, name)


def is_machine(path: Path) -> bool:
    """Whether a file is of a state machine, by its name."""
    return path.name.endswith(MACHINE_SUFFIX)


def definition(path: Path) -> str:
    """The text of a state machine, as it is.

    Raises:
        FileError: when it cannot be read.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: {error}") from error


def _composition(path: Path) -> Composition:
    try:
        document = json.loads(path.read_text("utf-8"))
        if isinstance(document, dict) and "StartAt" in document:
            raise FileError(f"{path}: a state machine's file must be called *{MACHINE_SUFFIX}")
        return composer.parse(document)
    except (ValueError, CompositionError) as error:
        raise FileError(f"{path}: {error}") from error


def _python(path: Path, name: str | None) -> Contents:
    module = _loaded(path)
    contents = Contents()
    for variable, value in vars(module).items():
        if isinstance(value, ActionFunction):
            contents.functions[value.name] = value
        elif isinstance(value, Composition) and variable[0] != "_":
            if value.type == "action" and value.arguments["action"] is not None:
                _collect(value, contents)  # it says what an action is, and nothing else
            elif value.type != "step":
                contents.compositions[variable] = value
    if name is not None and contents.compositions:
        last = list(contents.compositions)[-1]
        contents.compositions = {name: contents.compositions[last]}
    for composition in contents.compositions.values():
        _collect(composition, contents)
    _check_names(path, contents)
    if not (contents.functions or contents.compositions or contents.actions):
        if not callable(getattr(module, "main", None)):
            raise FileError(
                f"{path}: it has no composition, no @composer.action and no function 'main'"
            )
        document = {"exec": {"kind": "python:3", "code": path.read_text("utf-8")}}
        contents.actions[name or path.stem] = document
    return contents


def _check_names(path: Path, contents: Contents) -> None:
    """A composition that is called as an action of its file would take its place, and call itself."""
    for twice in contents.compositions.keys() & {*contents.functions, *contents.actions}:
        raise FileError(
            f"{path}: two things are called {twice!r}, a composition and an action: rename the "
            "variable or the action"
        )


def _collect(composition: Composition, contents: Contents) -> None:
    """Takes the actions in that a composition defines where it names them."""
    for name, definition in composition.definitions():
        if isinstance(definition, ActionFunction):
            contents.functions[definition.name] = definition
        else:
            contents.actions[name.removeprefix("/_/")] = definition


def _loaded(path: Path) -> ModuleType:
    # A file may be called as a module that is loaded, ours included: that module keeps its name.
    name = f"{path.stem} of {path.parent}" if path.stem in sys.modules else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101  it is a .py file
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent.resolve()))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Error:
        raise
    except Exception as error:
        raise FileError(f"{path}: {type(error).__name__}: {error}") from error
    return module
