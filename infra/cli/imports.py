"""The imports in Python code: the modules that the code needs when it is loaded or run."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MISSING = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_CALLS = {"importlib.import_module", "import_module", "__import__"}


@dataclass(frozen=True, slots=True)
class Import:
    """One module that code imports.

    Args:
        module: its name; "" for `from . import x`.
        names: the names that are imported from it; None if the module itself is, or all its names.
        level: the dots of a relative import.
        line: the line of the import.
        optional: true if the code catches the error of a missing module.
    """

    module: str
    names: frozenset[str] | None
    level: int
    line: int
    optional: bool

    @property
    def top(self) -> str:
        """The first part of the module's name."""
        return self.module.partition(".")[0]


def imports_of(nodes: Iterable[ast.AST], *, optional: bool = False) -> Iterator[Import]:
    """The imports in statements, also in functions; not those that only a type checker sees."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, 0, node.lineno, optional)
        elif isinstance(node, ast.ImportFrom):
            names = frozenset(alias.name for alias in node.names)
            yield Import(
                node.module or "",
                None if "*" in names else names,
                node.level,
                node.lineno,
                optional,
            )
        elif isinstance(node, ast.Try) and any(map(_catches_missing, node.handlers)):
            yield from imports_of(node.body, optional=True)
            others = (*node.handlers, *node.orelse, *node.finalbody)
            yield from imports_of(others, optional=optional)
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from imports_of(node.orelse, optional=optional)
        else:
            if (name := _called(node)) is not None:
                yield Import(name, None, 0, node.lineno, optional)  # type: ignore[attr-defined]
            yield from imports_of(ast.iter_child_nodes(node), optional=optional)


def _catches_missing(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    return any(
        isinstance(part, ast.Name) and part.id in _MISSING for part in ast.walk(handler.type)
    )


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "t.TYPE_CHECKING")


def _called(node: ast.AST) -> str | None:
    """The module that a call such as `importlib.import_module("x")` imports, if the text names it."""
    if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in _CALLS:
        name = node.args[0]
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value[:1] != ".":
            return name.value
    return None
