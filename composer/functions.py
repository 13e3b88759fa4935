"""Inline functions: captured as source while composing, run in a worker.

A function travels alone. What it refers to must be a literal (carried along as a constant), a module
(imported again where it runs) or a builtin name; anything else is refused here, with what to do.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from .errors import CaptureError
from .values import flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .values import JSON

KIND = "python:3"

_Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ActionFunction:
    """A function that is an action: in-process where it is embedded, captured when deployed.

    It is still a function: calling it runs it.
    """

    name: str
    function: Callable[..., Any]
    limits: dict[str, JSON] | None = None
    annotations: dict[str, JSON] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def definition(self) -> dict[str, JSON]:
        """The action as it is deployed to a server.

        Raises:
            CaptureError: when its source cannot travel.
        """
        doc: dict[str, JSON] = {"exec": capture(self.function)}
        if self.limits:
            doc["limits"] = self.limits
        if self.annotations:
            doc["annotations"] = [{"key": k, "value": v} for k, v in self.annotations.items()]
        return doc


def capture(function: Callable[..., Any]) -> dict[str, JSON]:
    """The function as an action's `exec`: `{"kind": "python:3", "code": source, "main": name}`.

    Raises:
        CaptureError: when its source cannot be read, or refers to what cannot travel.
    """
    if not isinstance(function, FunctionType):
        raise CaptureError(_no_source(function))
    name = _title(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise CaptureError(f"{name} is a generator: a function of a composition returns its result")
    if function.__defaults__ or function.__kwdefaults__:
        raise CaptureError(
            f"{name} has default values, which do not travel: put them inside the function, "
            "or declare them with composer.let"
        )
    source, main = _source(function)
    preamble = "".join(f"{line}\n" for line in sorted(_preamble(function, name)))
    return {"kind": KIND, "code": preamble + source, "main": main}


def _title(function: FunctionType) -> str:
    code = function.__code__
    return f"the function {function.__name__!r} ({code.co_filename}:{code.co_firstlineno})"


def _no_source(function: object) -> str:
    if inspect.isbuiltin(function) or inspect.ismethoddescriptor(function):
        return (
            f"{getattr(function, '__name__', function)!r} is built in and has no Python source: "
            "wrap it, as in lambda params: ..."
        )
    return (
        f"{function!r} is no plain function: use a def or a lambda "
        "(a method or an object with state cannot travel to a worker)"
    )


# --- what it refers to -------------------------------------------------------------------------


def _preamble(function: FunctionType, name: str) -> Iterator[str]:
    """Lines that define, where the function runs, what it refers to here."""
    seen = set()
    for kind, variable in _references(function.__code__):
        if kind == "STORE_GLOBAL":
            raise CaptureError(
                f"{name} assigns the global {variable!r}, which only its worker would see: "
                "declare a variable with composer.let and set it through the second argument"
            )
        if variable in seen or variable == function.__name__:
            continue
        seen.add(variable)
        if variable in function.__globals__:
            yield _definition(name, variable, function.__globals__[variable])
        elif not hasattr(builtins, variable):
            raise CaptureError(
                f"{name} uses {variable!r}, which is not defined here. Variables of composer.let "
                f"come as the second argument: lambda params, variables: variables[{variable!r}]"
            )
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for variable, cell in cells:
        try:
            yield _definition(name, variable, cell.cell_contents)
        except ValueError:
            raise CaptureError(f"{name} closes over {variable!r}, which has no value yet") from None


def _references(code: CodeType) -> Iterator[tuple[str, str]]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "STORE_GLOBAL"):
            yield instruction.opname, instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _references(constant)


def _definition(name: str, variable: str, value: object) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {variable}"
    if flaw(value) is None:
        return f"{variable} = {value!r}"
    raise CaptureError(
        f"{name} refers to {variable!r}, a {type(value).__name__}, which cannot travel to a worker: "
        "move it inside the function, pass it as a parameter or a composer.let variable, "
        "or deploy the whole module as an action"
    )


# --- its source --------------------------------------------------------------------------------


def _source(function: FunctionType) -> tuple[str, str]:
    """Source text that defines it, and the name it defines."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    node = _node(text, code) if text else None
    if node is None:
        raise CaptureError(f"the source of {_title(function)} cannot be read: define it in a file")
    if isinstance(node, ast.Lambda):
        return f"main = ({ast.get_source_segment(text, node)})\n", "main"
    node = _undecorated(node)
    segment = ast.get_source_segment(text, node, padded=True) or ""
    return textwrap.dedent(segment) + "\n", node.name


def _undecorated(node: _Def) -> _Def:
    node.decorator_list = []
    return node


def _node(text: str, code: CodeType) -> ast.Lambda | _Def | None:
    """The node that `code` was compiled from: the smallest at its line that encloses it."""
    wanted = ast.Lambda if code.co_name == "<lambda>" else _Def
    # What stands for the definition as a whole has no extent, or that of its first line.
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    found = []
    for node in _functions(text):
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if isinstance(node, wanted) and first == code.co_firstlineno and _encloses(node, places):
            found.append(node)
    return min(found, key=_extent, default=None)


@lru_cache(maxsize=8)
def _functions(text: str) -> list[ast.Lambda | _Def]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, _Def))]


def _extent(node: Any) -> tuple[int, int]:
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def _encloses(node: Any, places: list[Any]) -> bool:
    body = node.body if isinstance(node, ast.Lambda) else node
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return all(
        start <= (line, column) and (end_line, end_column) <= end
        for line, end_line, column, end_column in places
    )
