"""Inline functions: captured as source while composing, run in a worker.

A function is sent to a worker with all that it refers to: a literal is sent as a constant, a module is
imported again in the worker, and for any other name of the function's module the statements that define it
are sent. A name that cannot be sent is refused here, with the remedy.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from ..errors import CaptureError
from ..values import flaw
from .references import names, references
from .slicing import outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import CellType

    from ..values import JSON

KIND = "python:3"
MAX_ARGUMENTS = 2  # the value, and the variables
FUTURE = "from __future__ import annotations"  # the types in annotations are not sent

_Def = ast.FunctionDef | ast.AsyncFunctionDef


Params = ParamSpec("Params")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ActionFunction(Generic[Params, Result]):
    """A function that is an action: it runs in this process when embedded, in a worker when deployed.

    The object can still be called as the function, with the same parameters. With a `queue`, its `exec`, it runs
    in a worker outside that has the file: its source is not sent.
    """

    name: str
    function: Callable[Params, Result]
    limits: dict[str, JSON] | None = None
    annotations: dict[str, JSON] | None = None
    requirements: tuple[str, ...] | None = None
    queue: dict[str, JSON] | None = None

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        return self.function(*args, **kwargs)

    def definition(self) -> dict[str, JSON]:
        """The action as it is deployed to a server.

        Raises:
            CaptureError: its source cannot be sent to a worker.
        """
        doc: dict[str, JSON] = {"exec": self.executed()}
        if self.limits:
            doc["limits"] = self.limits
        if self.annotations:
            doc["annotations"] = [{"key": k, "value": v} for k, v in self.annotations.items()]
        return doc

    def executed(self) -> dict[str, JSON]:
        """Its `exec`: the code that a worker runs, or the queue that its tasks wait in.

        Raises:
            CaptureError: its source cannot be sent to a worker.
        """
        if self.queue is not None:
            return self.queue
        runtime = capture(self.function)
        return {**runtime, "requirements": [*self.requirements]} if self.requirements else runtime


@dataclass(frozen=True, slots=True)
class Advice:
    """Remedies for names that cannot be sent to a worker; `{name!r}` stands for the name."""

    assigned: str
    undefined: str
    foreign: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The meaning of names at the place of a function or a class.

    title: the function or class, for errors.
    own: its own name, by which it may refer to itself.
    text: the source of its module; "" if there is none.
    """

    title: str
    own: str
    globals: Mapping[str, Any]
    cells: Mapping[str, CellType]
    advice: Advice
    text: str = ""


_ADVICE = Advice(
    assigned="declare a variable with composer.let and set it through the second argument",
    undefined="Variables of composer.let come as the second argument: "
    "lambda params, variables: variables[{name!r}]",
    foreign="move it inside the function, define it at the top level of the module, or pass it as a "
    "parameter or a composer.let variable",
)


def capture(function: Callable[..., Any]) -> dict[str, JSON]:
    """The function as an action's `exec`: `{"kind": "python:3", "code": source, "main": name}`.

    Raises:
        CaptureError: its source cannot be read, or refers to a name that cannot be sent to a worker.
    """
    if not isinstance(function, FunctionType):
        raise CaptureError(_no_source(function))
    name, code = _title(function), function.__code__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise CaptureError(f"{name} is a generator: a function of a composition returns its result")
    if function.__defaults__ or function.__kwdefaults__:
        raise CaptureError(
            f"{name} has default values, which are not sent to a worker: put them inside the function, "
            "or declare them with composer.let"
        )
    if code.co_argcount > MAX_ARGUMENTS or code.co_kwonlyargcount:
        raise CaptureError(
            f"{name} takes {', '.join(inspect.signature(function).parameters)}: a function of a "
            "composition takes the value, or the value and the variables, and nothing by name"
        )
    node = _source_node(function)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    text = "".join(lines_of(function))
    scope = Scope(name, code.co_name, function.__globals__, cells, _ADVICE, text)
    loaded = [("load", variable) for variable in code.co_freevars]
    defined = definitions(scope, [*references(code, frozenset(cells)), *loaded])
    preamble = [*defined.values, *defined.statements]
    if isinstance(node, ast.Lambda):
        main = "main" if "main" not in names(code) else "main_"
        source = f"{main} = ({_segment(function, node)})"
    else:
        main, source = node.name, _segment(function, node)
        if node.col_offset:
            preamble.append(
                "if True:"
            )  # the source is indented; dedenting would change its strings
    postponed = bool(code.co_flags & __future__.annotations.compiler_flag)
    if _is_annotated(node) or (defined.statements and postponed):
        preamble.insert(0, FUTURE)
    return {"kind": KIND, "code": "\n".join([*preamble, source, ""]), "main": main}


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
        f"{function!r} is not a plain function: use a def or a lambda "
        "(a method or an object with state cannot be sent to a worker)"
    )


# --- references --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definitions:
    """Code that defines in a worker the names that a function refers to: values, then statements."""

    values: list[str]
    statements: list[str]


def definitions(scope: Scope, found: Iterable[tuple[str, str]]) -> Definitions:
    """The code that defines in a worker the names that a function refers to here.

    Raises:
        CaptureError: a name cannot be sent to a worker; the text gives the name and the remedy.
    """
    values, written = set(), set()
    for verb, variable in found:
        if verb != "load":
            raise CaptureError(
                f"{scope.title} assigns {variable!r}, which is defined outside, and only the worker "
                f"would see the new value: {scope.advice.assigned}"
            )
        if variable == scope.own:
            continue
        if variable in scope.cells:
            values.add(_definition(scope, variable, _content(scope, variable)))
        elif _has_value(scope, variable):
            values.add(_definition(scope, variable, scope.globals[variable]))
        elif outline(scope.text).binds(variable):
            written.add(variable)
        elif variable in scope.globals:
            raise _foreign(scope, variable, scope.globals[variable])
        elif not hasattr(builtins, variable):
            advice = scope.advice.undefined.format(name=variable)
            raise CaptureError(
                f"{scope.title} uses {variable!r}, which is not defined here. {advice}"
            )
    statements, more = _sliced(scope, written)
    return Definitions(sorted(values | more), statements)


def _has_value(scope: Scope, variable: str) -> bool:
    """True for a global name that is sent by its value: a literal or a module."""
    value = scope.globals.get(variable, scope)
    return isinstance(value, ModuleType) or flaw(value) is None


def _sliced(scope: Scope, names: set[str]) -> tuple[list[str], set[str]]:
    """The statements of the module that define names, and the lines for the values that these need."""
    if not names:
        return [], set()
    module = outline(scope.text)

    def known(name: str) -> bool:
        has_value = name not in module.composing and _has_value(scope, name)
        return name == scope.own or has_value

    blocks = module.needed(names, scope.title, known)
    loads = frozenset[str]().union(*(block.loads for block in blocks)) - {scope.own}
    values = {_definition(scope, name, scope.globals[name]) for name in loads if known(name)}
    return [module.text(blocks).rstrip("\n")], values


def _content(scope: Scope, variable: str) -> Any:
    try:
        return scope.cells[variable].cell_contents
    except ValueError:
        raise CaptureError(
            f"{scope.title} closes over {variable!r}, which has no value yet"
        ) from None


def _definition(scope: Scope, variable: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {variable}"
    if flaw(value) is None:
        return f"{variable} = {value!r}"
    raise _foreign(scope, variable, value)


def _foreign(scope: Scope, variable: str, value: Any) -> CaptureError:
    return CaptureError(
        f"{scope.title} refers to {variable!r}, a {type(value).__name__}, which cannot be sent to a "
        f"worker: {scope.advice.foreign}"
    )


# --- source ------------------------------------------------------------------------------------


def lines_of(function: FunctionType) -> list[str]:
    """The lines of the file that contains a function."""
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


def _segment(function: FunctionType, node: ast.Lambda | _Def) -> str:
    lines = lines_of(function)
    segment = ast.get_source_segment("".join(lines), node) or ""
    if isinstance(node, ast.Lambda):
        return segment
    return lines[node.lineno - 1][: node.col_offset] + segment


def _is_annotated(node: ast.Lambda | _Def) -> bool:
    """True if a function, or a function inside it, has annotations."""
    return any(
        getattr(part, "annotation", None) or getattr(part, "returns", None)
        for part in ast.walk(node)
    )


def _source_node(function: FunctionType) -> ast.Lambda | _Def:
    """The node that the function was compiled from: the smallest at its line that encloses it."""
    code = function.__code__
    wanted = ast.Lambda if code.co_name == "<lambda>" else _Def
    found = [
        node
        for node in nodes("".join(lines_of(function)))
        if isinstance(node, wanted) and _first_line(node) == code.co_firstlineno
    ]
    # A position that stands for the whole definition has no extent, or that of its first line.
    places = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (p[1], p[3])]
    if places:
        found = [node for node in found if _encloses(node, places)]
    elif len(found) > 1:  # Python 3.12 gives no position for a constant
        found = [node for node in found if _compiles_to(node, code)]
    if not found:
        raise CaptureError(f"the source of {_title(function)} cannot be read: define it in a file")
    return min(found, key=extent)


@lru_cache(maxsize=8)
def nodes(text: str) -> list[ast.Lambda | _Def | ast.ClassDef]:
    """The functions and classes of a module; none when it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Lambda, _Def, ast.ClassDef))]


def _first_line(node: ast.Lambda | _Def) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def extent(node: Any) -> tuple[int, int]:
    """The size of a node, to compare nodes: a node inside another node is smaller."""
    return node.end_lineno - node.lineno, node.end_col_offset - node.col_offset


def _encloses(node: Any, places: list[Any]) -> bool:
    body = node.body if isinstance(node, ast.Lambda) else node
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return all(
        start <= (line, column) and (end_line, end_column) <= end
        for line, end_line, column, end_column in places
    )


def _compiles_to(node: Any, code: CodeType) -> bool:
    """True if a lambda compiles to this code, with the same names free."""
    names = [ast.arg(name) for name in code.co_freevars]
    arguments = ast.arguments([], names, None, [], [], None, [])
    whole = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, node)))
    (outer,) = _codes(compile(whole, "", "eval", dont_inherit=True))
    (inner,) = _codes(outer)
    members = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars")
    return all(getattr(inner, member) == getattr(code, member) for member in members)


def _codes(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]
