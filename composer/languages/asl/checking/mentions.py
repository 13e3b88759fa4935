"""The variables that each state of a machine uses, as AWS lists them for a definition.

A name that is assigned nowhere is not a variable: in JSONata a `$name` may be a function, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .graph import nested
from .jsontext import read_checked
from .structures import language_of
from .variables import assigned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..documents import Definition, StateDoc
    from .diagnostic import Language

_OUTSIDE = frozenset({"Branches", "States"})  # nested states are listed by themselves
_NAME = re.compile(r"(?<![\w$])\$(\w+)")
_QUOTED = {
    "JSONPath": re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL),
    "JSONata": re.compile(
        r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | `[^`]*` | /\*.*?\*/ """, re.DOTALL | re.VERBOSE
    ),
}


def variables_used(definition: str) -> dict[str, list[str]]:
    """The names of the variables that each state uses, where it uses any.

    Args:
        definition: the text of a definition that has no errors.
    """
    machine = read_checked(definition)
    language = language_of(machine, "JSONPath")
    states = list(_states(machine, language))
    known = {
        field.removesuffix(".$") if spoken == "JSONPath" else field
        for _, state, spoken in states
        for field, _ in assigned(state, "")
    }
    used: dict[str, set[str]] = {}
    for name, state, spoken in states:
        texts = _paths(state, "") if spoken == "JSONPath" else _expressions(state)
        for text in texts:
            names = set(_NAME.findall(_QUOTED[spoken].sub("''", text)))
            used.setdefault(name, set()).update(names & known)
    return {name: sorted(names) for name, names in used.items() if names}


def _states(machine: Definition, language: Language) -> Iterator[tuple[str, StateDoc, Language]]:
    for name, state in machine["States"].items():
        yield name, state, language_of(state, language)
        for inner, _ in nested(state, ""):
            yield from _states(inner, language)


def _paths(value: Any, field: str) -> Iterator[str]:
    """The paths and the calls of intrinsic functions in a state; a Pass' `Result` is as it is."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in _OUTSIDE and (name != "Result" or field):
                yield from _paths(member, name)
    elif isinstance(value, list):
        for member in value:
            yield from _paths(member, field)
    elif isinstance(value, str) and _is_path(field):
        yield value


def _is_path(field: str) -> bool:
    if field.endswith(".$") or field == "Variable":
        return True
    return field.endswith("Path") and field != "ResultPath"


def _expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name not in _OUTSIDE:
                yield from _expressions(member)
    elif isinstance(value, list):
        for member in value:
            yield from _expressions(member)
    elif isinstance(value, str) and value.startswith("{%"):
        yield value
