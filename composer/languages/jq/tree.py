"""The syntax tree of a jq program. `at` is a position in the text, in characters from 0."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Identity:
    """`.`."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that the text states."""

    value: Any


@dataclass(frozen=True, slots=True)
class Text:
    r"""A string with `\\(...)` inside: its parts are texts and trees; `format` is such as `@json`."""

    parts: tuple[Any, ...]
    format: str


@dataclass(frozen=True, slots=True)
class Format:
    """`@json` and its like, without a string."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """`target[key]`."""

    target: Tree
    key: Tree


@dataclass(frozen=True, slots=True)
class Slice:
    """`target[low:high]`."""

    target: Tree
    low: Tree | None
    high: Tree | None


@dataclass(frozen=True, slots=True)
class Iterate:
    """`target[]`."""

    target: Tree


@dataclass(frozen=True, slots=True)
class Array:
    """`[body]`."""

    body: Tree | None


@dataclass(frozen=True, slots=True)
class Object:
    """`{key: value}`."""

    entries: tuple[tuple[Tree, Tree], ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """`-body`."""

    body: Tree


@dataclass(frozen=True, slots=True)
class Pipe:
    """`left | right`."""

    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Comma:
    """`a, b, c`."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic and comparisons."""

    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Logic:
    """`and`, `or`."""

    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Alternative:
    """`left // right`."""

    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class Update:
    """`=`, `|=`, `+=` and the other assignments."""

    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True, slots=True)
class If:
    """`if condition then body else otherwise end`."""

    condition: Tree
    body: Tree
    otherwise: Tree


@dataclass(frozen=True, slots=True)
class Try:
    """`try body catch handler`; `body?` has no handler."""

    body: Tree
    handler: Tree | None


@dataclass(frozen=True, slots=True)
class VariablePattern:
    """`$name`."""

    name: str


@dataclass(frozen=True, slots=True)
class ArrayPattern:
    """`[pattern, ...]`."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class ObjectPattern:
    """`{key: pattern}`: a variable (or None), the key, and a pattern (or None)."""

    entries: tuple[tuple[str | None, Tree, Pattern | None], ...]


Pattern: TypeAlias = VariablePattern | ArrayPattern | ObjectPattern


@dataclass(frozen=True, slots=True)
class Bind:
    """`source as pattern ?// pattern | body`."""

    source: Tree
    patterns: tuple[Pattern, ...]
    body: Tree


@dataclass(frozen=True, slots=True)
class Fold:
    """`reduce` (extract is None) and `foreach`."""

    source: Tree
    patterns: tuple[Pattern, ...]
    start: Tree
    update: Tree
    extract: Tree | None


@dataclass(frozen=True, slots=True)
class Function:
    """A definition; a parameter `$name` is there as `$name`."""

    name: str
    parameters: tuple[str, ...]
    body: Tree


@dataclass(frozen=True, slots=True)
class Define:
    """`def function; body`."""

    function: Function
    body: Tree


@dataclass(frozen=True, slots=True)
class Call:
    """`name(argument; ...)`."""

    name: str
    arguments: tuple[Tree, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name`."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Label:
    """`label $name | body`."""

    name: str
    body: Tree


@dataclass(frozen=True, slots=True)
class Break:
    """`break $name`."""

    name: str
    at: int


Tree: TypeAlias = (
    Identity
    | Literal
    | Text
    | Format
    | Index
    | Slice
    | Iterate
    | Array
    | Object
    | Negate
    | Pipe
    | Comma
    | Binary
    | Logic
    | Alternative
    | Update
    | If
    | Try
    | Bind
    | Fold
    | Define
    | Call
    | Variable
    | Label
    | Break
)


def higher(program: Tree, levels: int) -> bool:
    """True if a tree has more levels, which functions that call each other walk."""
    level: list[Any] = [program]
    for _ in range(levels):
        level = [part for node in level for part in _parts(node)]
        if not level:
            return False
    return True


def _parts(node: Any) -> list[Any]:
    found = []
    waiting = [getattr(node, field.name) for field in fields(node)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part):
            found.append(part)
    return found
