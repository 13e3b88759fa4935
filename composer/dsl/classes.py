"""Classes: captured as source, by the same rules as inline functions.

Of its decorators only `dataclass` is sent; names that the module `dataclasses` exports are imported
again. Other classes of the user are not sent, so a base class must be a builtin.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dataclasses
import inspect
import re
import typing
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import CaptureError
from .functions import FUTURE, Advice, Scope, definitions, extent, lines_of, nodes
from .references import references

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CellType, CodeType

_ADVICE = Advice(
    assigned="keep it in an attribute of self",
    undefined="Define it in the module or in the class: of a function that a class is defined in, "
    "only methods are known to see variables",
    foreign="move it into the class, define it at the top level of the module, or make it a parameter",
)

# Annotations are strings here. In a worker, which has only this source, `dataclass` cannot look their
# names up in the module, so the source gives it the meanings of the special annotations.
_FIELDS_DECORATOR = '@lambda cls: setattr(cls, "__annotations__", {}) or cls'
_MEANINGS = (
    (typing.ClassVar, '__import__("typing").ClassVar'),
    (dataclasses.InitVar, '__import__("dataclasses").InitVar'),
    (dataclasses.KW_ONLY, '__import__("dataclasses").KW_ONLY'),
)
_ANNOTATION_HEAD = re.compile(
    r"\s*(\w+)\s*(?:\.\s*(\w+))?"
)  # as `dataclasses` itself reads an annotation


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    """The module of a class: its names, its text, and True if its annotations are postponed."""

    scope: Scope
    text: str
    postponed: bool


def capture_class(cls: type[Any]) -> str:
    """Source that defines the class, under its own name, in a worker that has nothing else.

    Raises:
        CaptureError: its source cannot be read, or refers to a name that cannot be sent to a worker.
    """
    methods = list(_methods(cls))
    if not methods:
        raise CaptureError(f"the class {cls.__name__!r} has no method that is written in it")
    code, text = methods[0].__code__, "".join(lines_of(methods[0]))
    title, node = f"the class {cls.__name__!r} ({code.co_filename}", _node(cls, code, text)
    if node is None:
        raise CaptureError(f"the source of {title}) cannot be read: define it in a file")
    title += f":{node.lineno})"
    cells: dict[str, CellType] = {}
    for method in methods:
        cells.update(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
    scope = Scope(title, cls.__name__, methods[0].__globals__, cells, _ADVICE, text)
    place = _Place(scope, text, bool(code.co_flags & __future__.annotations.compiler_flag))
    _check_bases(title, node)
    if "__dataclass_fields__" in vars(cls) and not _dataclass_decorators(place, node):
        raise CaptureError(
            f"{title} is a dataclass, but not by a decorator: write @dataclass above it, and import "
            "that in the module"
        )
    source = _source(place, node)
    return "\n".join([FUTURE, *_preamble(scope, source), source, ""])


def _methods(cls: type[Any]) -> Iterator[FunctionType]:
    """The functions that are written in the class."""
    for member in vars(cls).values():
        parts: tuple[Any, ...] = (member,)
        if isinstance(member, property):
            parts = (member.fget, member.fset, member.fdel)
        for part in parts:
            function = inspect.unwrap(part)
            if isinstance(function, FunctionType) and function.__code__.co_qualname.startswith(
                f"{cls.__qualname__}."
            ):
                yield function


def _node(cls: type[Any], code: CodeType, text: str) -> ast.ClassDef | None:
    """The smallest class of this name that contains the code of this method."""
    found = [
        node
        for node in nodes(text)
        if isinstance(node, ast.ClassDef)
        and node.name == cls.__name__
        and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0)
    ]
    return min(found, key=extent, default=None)


def _check_bases(title: str, node: ast.ClassDef) -> None:
    for base in node.bases:
        if isinstance(base, ast.Name) and not hasattr(builtins, base.id):
            raise CaptureError(
                f"{title} inherits from {base.id!r}, which cannot be sent to a worker: copy the inherited "
                "members into the class itself"
            )


# --- source ------------------------------------------------------------------------------------


def _source(place: _Place, node: ast.ClassDef) -> str:
    lines = place.text.split("\n")
    margin = lines[node.lineno - 1][: node.col_offset]
    segment = (margin + (ast.get_source_segment(place.text, node) or "")).split("\n")
    inside = [part for part in ast.walk(node) if isinstance(part, ast.ClassDef)]
    for part in sorted(inside, key=lambda part: -part.lineno):
        if _dataclass_decorators(place, part):
            line = lines[part.lineno - 1][: part.col_offset] + _fields_decorator(place, part)
            segment.insert(part.lineno - node.lineno, line)
    kept = [f"{margin}@{decorator}" for decorator in _dataclass_decorators(place, node)]
    opened = ["if True:"] if margin else []  # dedenting would change strings
    return "\n".join([*opened, *kept, *segment])


def _dataclass_decorators(place: _Place, node: ast.ClassDef) -> list[str]:
    written = [ast.get_source_segment(place.text, part) or "" for part in node.decorator_list]
    return [text for text in written if _meaning(place.scope, text) is dataclasses.dataclass]


def _fields_decorator(place: _Place, node: ast.ClassDef) -> str:
    """A decorator that keeps of a dataclass's annotations only the names and kinds of its fields."""
    special = []
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        meaning = _meaning(place.scope, _annotation(place, statement.annotation))
        special += [
            f'"{statement.target.id}": {spelled}'
            for known, spelled in _MEANINGS
            if known is meaning
        ]
    fields = "dict.fromkeys(cls.__annotations__)"
    return _FIELDS_DECORATOR.format(f"{fields} | {{{', '.join(special)}}}" if special else fields)


def _annotation(place: _Place, node: ast.expr) -> str:
    """The text of an annotation as `dataclass` reads it; postponing quotes a string once more."""
    if isinstance(node, ast.Constant) and type(node.value) is str and not place.postponed:
        return node.value
    return ast.get_source_segment(place.text, node) or ""


def _meaning(scope: Scope, source: str) -> object:
    """The object that a decorator or an annotation names, without its arguments; None if unknown."""
    found = _ANNOTATION_HEAD.match(source)
    if found is None:
        return None
    value = scope.globals.get(found[1])
    return value if found[2] is None else getattr(value, found[2], None)


# --- references --------------------------------------------------------------------------------


def _preamble(scope: Scope, source: str) -> list[str]:
    try:
        code = compile(f"{FUTURE}\n{source}", scope.title, "exec", dont_inherit=True)
    except SyntaxError as error:  # only `nonlocal` needs the code around the class
        raise CaptureError(
            f"{scope.title} assigns a variable that is defined outside: {error.msg}: {_ADVICE.assigned}"
        ) from None
    found = list(references(code, frozenset()))
    exported = {
        variable: name
        for _, variable in found
        for name in dataclasses.__all__
        if scope.globals.get(variable) is getattr(dataclasses, name)
    }
    imports = [
        f"from dataclasses import {name} as {variable}" for variable, name in exported.items()
    ]
    defined = definitions(scope, [it for it in found if it[1] not in exported])
    return [*sorted(imports), *defined.values, *defined.statements]
