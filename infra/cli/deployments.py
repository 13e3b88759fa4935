"""Deployments: the files and folders of a user, compared with the server and deployed in one commit.

found = plan(client, [Path("shop")])
found.steps, found.warnings    # what would change
apply(client, found)           # changes all of it, or nothing
"""

from __future__ import annotations

import ast
import linecache
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...actions import NODE, PYTHON
from . import files
from .client import ApiError
from .imports import imports_of
from .projects import packed, project_at
from .requirements import OURS, node_requirements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .client import Client
    from .definitions import Document

ROUTE = "deployments"
SCHEDULE = "schedule"  # the kind of a step that is no action's
UNKNOWN = (404, 405)
STARTS = {"package.json": NODE, "__main__.py": PYTHON}  # a folder with one of them is an action
CODE = (".py", ".js", ".mjs", ".zip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a deployment.

    Args:
        name: the name to deploy under, if there is one definition.
        type: `STANDARD` or `EXPRESS`, for state machines; None if the files say it.
        prune: remove the actions and schedules that earlier deployments of the same files made, and that are in them no
            more.
        replace: take names that belong to something else.
    """

    name: str | None = None
    type: str | None = None
    prune: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A deployment, and the server's answer of what it would change.

    `steps` are objects with `name`, `change` (`new`, `changed`, `unchanged`, `removed` or `orphaned`), `kind`,
    `version`, `fields` and `usedBy`: those of actions, then those of schedules, of the kind `schedule`, which have
    no version.
    """

    body: dict[str, Any]
    steps: list[dict[str, Any]]
    warnings: list[str]

    def shown(self) -> dict[str, Any]:
        """The plan as an object: `actions`, `schedules` and `warnings`."""
        scheduled = [step for step in self.steps if step["kind"] == SCHEDULE]
        actions = [step for step in self.steps if step not in scheduled]
        return {"actions": actions, "schedules": scheduled, "warnings": self.warnings}

    @property
    def changes(self) -> bool:
        """True if the deployment changes anything."""
        return any(step["change"] in ("new", "changed", "removed") for step in self.steps)


def plan(client: Client, paths: Sequence[Path], options: Options | None = None) -> Plan:
    """Reads files and folders, and asks the server what their deployment would change.

    Raises:
        FileError, CaptureError, ProjectError, RequirementsError, ScheduleError: a file cannot be deployed.
        ApiError: the server refuses the deployment.
    """
    options = options or Options()
    found = _Found()
    with _modules_of(paths):
        for path in paths:
            found.read(path, options)
    if options.name is not None:
        found.check_named(options.name)
    body: dict[str, Any] = {
        "actions": [*found.actions.values()],
        "origins": [] if options.name is not None else found.origins,  # it may have other names
        "prune": options.prune,
        "replace": options.replace,
    }
    if found.schedules:  # a server of an earlier version does not know the field
        body["schedules"] = [*found.schedules.values()]
    return _planned(client, body, found.warnings)


def removal(client: Client, paths: Sequence[Path]) -> Plan:
    """Asks the server what would be removed that was deployed from files and folders.

    Raises:
        ApiError: the server refuses.
    """
    origins = [_origin(path) for path in paths]
    return _planned(client, {"actions": [], "origins": origins, "prune": True}, [])


def apply(client: Client, plan: Plan) -> Plan:
    """Deploys what was planned: all of it or, if the server refuses, nothing.

    Raises:
        ApiError: the server refuses the deployment.
    """
    return _asked(client, plan.body, plan.warnings, dry_run=False)


def _planned(client: Client, body: dict[str, Any], warnings: list[str]) -> Plan:
    return _asked(client, body, warnings, dry_run=True)


def _asked(client: Client, body: dict[str, Any], warnings: list[str], *, dry_run: bool) -> Plan:
    try:
        answer = client.ask("PUT", ROUTE, body=body, **{"dry-run": dry_run})
    except ApiError as error:
        if error.status in UNKNOWN:
            raise ApiError(
                f"the server at {client.url} cannot deploy projects: update the server"
            ) from error
        raise
    told = [text for text in answer["warnings"] if text not in warnings]
    steps = [*answer["actions"], *answer.get("schedules", [])]
    return Plan(body, steps, [*warnings, *told])


# --- reading -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Found:
    """The definitions in files and folders, by name."""

    actions: dict[str, dict[str, Any]] = field(default_factory=dict)
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    origins: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _files: dict[tuple[str, str], Path] = field(default_factory=dict)

    def read(self, path: Path, options: Options) -> None:
        """Adds the definitions of a file or a folder."""
        self.origins.append(_origin(path))
        if not path.is_dir():
            self._file(path, options)
            return
        if start := next((name for name in STARTS if (path / name).is_file()), None):
            document = _folder_action(path, STARTS[start])
            self._add(options.name or path.resolve().name, document, path / start)
            return
        parts = [file for file in sorted(path.iterdir()) if _is_part(file)]
        if not parts:
            raise files.FileError(
                f"{path} has nothing to deploy: add a .py file with a composition or an "
                "@composer.action, or a .js, .zip, .asl.json or .schedule.json file"
            )
        for file in parts:
            self._file(file, options)

    def _file(self, path: Path, options: Options) -> None:
        contents = files.read(path, options.name)
        documents = contents.documents()
        if options.type is not None:
            _set_type(path, documents, options.type)
        if contents.sender is not None:
            for name, composition in contents.compositions.items():
                contents.sender.check_inline(name, composition)
            self.warnings += contents.sender.warnings
        if path.suffix in (".js", ".mjs"):
            for document in documents.values():
                _add_node_requirements(path, document["exec"])
        for name, document in documents.items():
            self._add(name, document, path)
        for name, document in contents.schedules.items():
            self._put(self.schedules, {"name": name, "document": document}, path)

    def _add(self, name: str, document: Document, path: Path) -> None:
        self._put(self.actions, {"name": name, "definition": document}, path)

    def _put(self, found: dict[str, dict[str, Any]], made: dict[str, Any], path: Path) -> None:
        name, kind = made["name"], "name" if found is self.actions else "schedule"
        before = found.get(name)
        if before is None:
            found[name] = {**made, "origin": project_at(path.parent).origin(path)}
            self._files[kind, name] = path
        elif any(before[key] != value for key, value in made.items()):
            raise files.FileError(
                f"{path}: the {kind} {name!r} is also defined in {self._files[kind, name]}, in another "
                "way: rename one of them"
            )

    def check_named(self, name: str) -> None:
        """Refuses `--name` for several files that would all have the name."""
        if len({*self._files.values()}) > 1:
            raise files.FileError(
                f"--name {name} names one definition, and the files define several: leave it out"
            )


def _origin(path: Path) -> str:
    if path.is_dir():
        return f"{project_at(path).name}/"
    return project_at(path.parent).origin(path)


def _set_type(path: Path, documents: dict[str, Document], type: str) -> None:
    if not files.is_machine(path):
        raise files.FileError(
            f"--type applies only to state machines, and {path} is not an .asl.json file"
        )
    for document in documents.values():
        document["exec"]["type"] = type


def _is_part(path: Path) -> bool:
    """True if a file of a folder may define something to deploy. No file is run to find that out."""
    if not path.is_file() or path.name.startswith("."):
        return False
    if path.suffix != ".py":
        return files.is_machine(path) or files.is_schedule(path) or path.suffix in CODE
    if path.name.startswith("test_") or path.name in ("conftest.py", "setup.py", "__init__.py"):
        return False
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return True  # it is read, and the error is told
    if any(each.top == OURS for each in imports_of(tree.body)):
        return any(map(_defines, tree.body))
    return any(map(_is_main, tree.body))


def _is_main(node: ast.stmt) -> bool:
    """True for a function `main` that takes the parameters of an action."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != "main":
        return False
    needed = len(node.args.args) - len(node.args.defaults)
    return len(node.args.args) > 0 and needed <= 1


def _defines(node: ast.stmt) -> bool:
    """True for a statement that may define an action or a composition: a decorated function or a variable."""
    return bool(getattr(node, "decorator_list", ())) or isinstance(
        node, (ast.Assign, ast.AnnAssign, ast.For, ast.With, ast.If, ast.Try)
    )


def _add_node_requirements(path: Path, runtime: dict[str, Any]) -> None:
    """Adds the dependencies of the folder's `package.json`, if the code names one of them."""
    found, text = node_requirements(path.parent), path.read_text("utf-8")
    if any(f"{quote}{name}" in text for name in found for quote in "'\"`"):
        runtime["requirements"] = found


def _folder_action(path: Path, kind: str) -> Document:
    """The action that is a whole folder: an archive of its files, as OpenWhisk's users make one."""
    kept = {
        file.relative_to(path).as_posix(): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not _is_left_out(file.relative_to(path))
    }
    runtime: dict[str, Any] = {"kind": kind, "code": packed(kept), "binary": True}
    found: dict[str, str] | list[str] = {}
    if kind == NODE and not (path / "node_modules").is_dir():
        found = node_requirements(path)
    elif kind == PYTHON and not (path / "virtualenv").is_dir():
        found = [*project_at(path).requirements.texts]
    return {"exec": {**runtime, **({"requirements": found} if found else {})}}


def _is_left_out(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


@contextmanager
def _modules_of(paths: Sequence[Path]) -> Iterator[None]:
    """Forgets afterwards the modules of the project that were imported: the next plan reads them again."""
    linecache.checkcache()
    before, searched = set(sys.modules), list(sys.path)
    folders = [(path if path.is_dir() else path.parent).resolve() for path in paths]
    try:
        yield
    finally:
        sys.path[:] = searched
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and any(Path(file).is_relative_to(folder) for folder in folders):
                del sys.modules[name]
