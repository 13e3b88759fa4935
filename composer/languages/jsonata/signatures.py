"""Arguments checked against a function's signature (docs.jsonata.org, "Function signature syntax")."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from .bounds import FEW, MANY, Budget
from .library import Signature
from .messages import fault
from .values import symbol

MEMBERS: Final = {
    "a": "arrays", "b": "booleans", "f": "functions", "n": "numbers", "o": "objects", "s": "strings",
}  # fmt: skip


@cache
def signature(text: str) -> Any:
    """Parses a signature by the library, whose own check knows fewer errors."""
    return Signature(text, "")


def parameters(parsed: Any) -> list[Any]:
    return list(parsed._params)  # noqa: SLF001 - the library parses signatures, and has no door to them


def checked(parsed: Any, arguments: list[Any], focus: Any, name: Any, budget: Budget) -> list[Any]:
    """The arguments of a call: the context for a missing one, lists for singles.

    Raises:
        QueryError: T0410, T0411, T0412, with the function's `name`.
    """
    params = parameters(parsed)
    supplied = "".join(map(symbol, arguments))
    found = re.fullmatch("".join(f"({param.regex})" for param in params), supplied)
    if found is None:
        raise fault("T0410", _bad(params, supplied) + 1, name)
    taken: list[Any] = []
    at = 0
    for param, match in zip(params, found.groups(), strict=True):
        if not match and param.context:
            if not re.fullmatch(param.regex, symbol(focus)):
                raise fault("T0411", at + 1, name)
            taken.append(focus)
            continue
        for letter in match or "m":
            argument = arguments[at] if at < len(arguments) else None
            at += 1
            if param.type == "a" and letter != "m":
                argument = _list(param, argument, (letter, match), (at, name), budget)
            taken.append(argument)
    return taken


def _bad(params: list[Any], supplied: str) -> int:
    """The number of the first argument that does not fit."""
    pattern, good = "", 0
    for param in params:
        pattern += param.regex
        match = re.match(pattern, supplied)
        if match is None:
            return good
        good = match.end()
    return good


def _list(param: Any, argument: Any, found: Any, place: Any, budget: Budget) -> Any:
    letter, match = found
    wanted = param.subtype
    if letter != "a":
        if wanted is not None and match != wanted:
            raise fault("T0412", *place, MEMBERS.get(wanted))
        return [argument]
    budget.spend(len(argument) // (MANY if wanted is None else FEW))
    if wanted is not None and not all(symbol(item) == wanted[0] for item in argument):
        raise fault("T0412", *place, MEMBERS.get(wanted))
    return argument
