"""The outer names that compiled code refers to."""

from __future__ import annotations

import dis
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOADS = {"LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


def references(code: CodeType, free: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The outer names that code, with all code inside it, loads or assigns; `free` are its cells."""
    bound = {"__name__", "__annotations__"}  # and, in a class body, the names that it has assigned
    for instruction in dis.get_instructions(code):
        verb, _, where = instruction.opname.partition("_")
        variable = instruction.argval
        if instruction.opname == "STORE_NAME":
            bound.add(variable)
        elif instruction.opname in _LOADS or (
            instruction.opname == "LOAD_NAME" and variable not in bound
        ):
            yield "load", variable
        elif verb in ("STORE", "DELETE") and (
            where == "GLOBAL" or (where == "DEREF" and variable in free)
        ):
            yield "assign", variable
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            outer = free.intersection(constant.co_freevars).difference(code.co_cellvars)
            yield from references(constant, outer)


def names(code: CodeType) -> set[str]:
    """The outer names that code refers to."""
    return {variable for _, variable in references(code, frozenset())} | set(code.co_freevars)
