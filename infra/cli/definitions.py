"""Definitions of a file's functions as they are sent: as source, or with their modules in an archive."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...actions import PYTHON
from ...composer import CaptureError
from .imports import imports_of
from .projects import (
    Closure,
    Module,
    Project,
    ProjectError,
    bound_in,
    external,
    find_module,
    module_of,
    outline_of,
)
from .requirements import OFFERED, OURS, checked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ...composer import ActionFunction, Composition
    from .requirements import Requirements

Document: TypeAlias = "dict[str, Any]"
"""An action as it is deployed (`exec`, and perhaps `limits` and `annotations`), as we or the DSL made it."""


class Sender:
    """Makes the definitions of a project's functions.

    Args:
        project: the project.
        path: the file that is read, for errors.
        offered: modules that need no requirement where the code will run.

    `warnings` collects texts about imports that cannot be checked here.
    """

    def __init__(self, project: Project, path: Path, offered: Collection[str] = OFFERED) -> None:
        self._project, self._path, self._offered = project, path, offered
        self.warnings: list[str] = []

    def function(self, function: ActionFunction[..., Any]) -> Document:
        """The definition of a function marked `@composer.action`.

        Raises:
            CaptureError: its source cannot be sent to a worker.
            ProjectError: an import cannot be satisfied in a worker.
        """
        if function.queue is not None:
            return function.definition()  # its worker has the file
        requirements, place = self._requirements(function), self._place(function)
        captured, refusal = _captured(function)
        closure = Closure(self._project, requirements, f"the action {function.name!r}")
        composes: CaptureError | None = None
        if place is not None:
            try:
                closure.follow(place[0], frozenset({place[1]}))
            except CaptureError as error:
                composes = error
        used = closure.external
        if place is None or composes is not None:
            if captured is None:
                assert refusal is not None  # noqa: S101  it is the reason
                raise composes or refusal
            if composes is not None and OURS in _tops(captured["exec"]["code"]):
                raise composes
            used = self._checked_text(captured["exec"], requirements)
        elif captured is None or closure.needs.keys() != {place[0].name}:
            if refusal is not None and not _takes_params(function):
                raise refusal
            captured = {**_about(function), "exec": _archived(closure, *place)}
        self.warnings += closure.warnings
        needed = bool(function.requirements) or bool(used.difference(self._offered))
        return _with(captured, requirements, needed=needed)

    def module(self, text: str) -> Document:
        """The definition of an action that is a whole file with a function `main`.

        Raises:
            ProjectError: an import cannot be satisfied in a worker.
        """
        module = module_of(self._project, self._path)
        requirements = replace(self._project.requirements, offered=self._offered)
        closure = Closure(self._project, requirements, str(self._path))
        closure.follow(module, None)
        self.warnings += closure.warnings
        runtime: Document = {"kind": PYTHON, "code": text}
        if closure.needs.keys() != {module.name}:
            runtime = _archived(closure, module, "main")
        needed = bool(closure.external.difference(self._offered))
        return _with({"exec": runtime}, requirements, needed=needed)

    def check_inline(self, name: str, composition: Composition) -> None:
        """Checks the imports of the inline functions of a composition.

        Raises:
            ProjectError: an import cannot be satisfied in a worker.
        """
        for node in composition.walk():
            if node.type != "function" or not node.arguments["function"]["exec"]["kind"].startswith(
                "py"
            ):
                continue
            runtime = node.arguments["function"]["exec"]
            for top in _tops(runtime["code"]):
                if find_module(self._project, top) is not None:
                    what = f"imports the module {top!r} of the project"
                elif top not in self._offered:
                    what = f"imports {top!r}, which is neither in the standard library nor in every worker"
                else:
                    continue
                raise ProjectError(
                    f"{self._line_of(top)}: an inline function of the composition {name!r} {what}: make it "
                    "an action with @composer.action, which takes its modules and requirements along"
                )

    def _requirements(self, function: ActionFunction[..., Any]) -> Requirements:
        if function.requirements is None:
            return replace(self._project.requirements, offered=self._offered)
        named = checked(function.requirements, f"the action {function.name!r}, requirements")
        return replace(named, offered=self._offered)

    def _place(self, function: ActionFunction[..., Any]) -> tuple[Module, str] | None:
        """The module that defines a function at its top level, and its name there; None if none does."""
        inner = inspect.unwrap(function.function)
        scope = getattr(inner, "__globals__", {})
        file = scope.get("__file__")
        if file is None or not Path(file).is_file() or Path(file).suffix != ".py":
            return None
        module = module_of(self._project, Path(file))
        found = outline_of(module)
        names = found.names & bound_in(found)
        for name, value in scope.items():
            if (value is function or value is function.function) and name in names:
                return module, name
        return None

    def _checked_text(self, runtime: Document, requirements: Requirements) -> set[str]:
        """The distributions' modules that the source of a function imports, all of which are provided."""
        used = set()
        for top in _tops(runtime["code"]):
            place = self._line_of(top)
            if find_module(self._project, top) is not None:
                raise ProjectError(
                    f"{place}: a function that is not at the top level of its module uses the module "
                    f"{top!r} of the project: define the function at the top level"
                )
            self.warnings += external(top, place, requirements)
            used.add(top)
        return used

    def _line_of(self, top: str) -> str:
        """The place of the first import of a module in the file."""
        nodes = ast.parse(self._path.read_text("utf-8")).body
        lines = [each.line for each in imports_of(nodes) if each.top == top]
        return f"{self._path}, line {min(lines)}" if lines else str(self._path)


def _tops(code: str) -> Iterator[str]:
    """The modules that source imports, without those of the standard library."""
    for each in imports_of(ast.parse(code).body):
        if not each.optional and each.top not in sys.stdlib_module_names:
            yield each.top


def _takes_params(function: ActionFunction[..., Any]) -> bool:
    """True if a worker can call a function with the parameters alone."""
    try:
        inspect.signature(function.function).bind({})
    except TypeError:
        return False
    return True


def _about(function: ActionFunction[..., Any]) -> Document:
    """The limits and annotations of a function, in the form of the API."""
    notes = [{"key": key, "value": value} for key, value in (function.annotations or {}).items()]
    limits = {"limits": function.limits} if function.limits else {}
    return {**limits, **({"annotations": notes} if notes else {})}


def _archived(closure: Closure, module: Module, main: str) -> Document:
    return {"kind": PYTHON, "code": closure.archive(main, module), "binary": True, "main": main}


def _with(document: Document, requirements: Requirements, *, needed: bool) -> Document:
    """The document with the requirements, if its code needs them."""
    runtime = {name: value for name, value in document["exec"].items() if name != "requirements"}
    if needed and requirements.texts:
        runtime["requirements"] = list(requirements.texts)
    return {**document, "exec": runtime}


def _captured(
    function: ActionFunction[..., Any],
) -> tuple[Document, None] | tuple[None, CaptureError]:
    try:
        return function.definition(), None
    except CaptureError as error:
        return None, error
