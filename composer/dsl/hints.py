"""Hints about names that do not exist: the combinator that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ELSEWHERE = {  # names in Composer, Step Functions and Python: the combinator here
    "async_": "asynchronous",
    "catch": "do",
    "chain": "sequence",
    "choice": "switch",
    "dowhile": "doloop",
    "finally_": "ensure",
    "for_each": "map",
    "foreach": "map",
    "fork": "parallel",
    "if_": "when",
    "par": "parallel",
    "pipeline": "sequence",
    "seq": "sequence",
    "sleep": "wait",
    "try_": "do",
    "while_": "loop",
}


def no_attribute(name: str, module: str, known: Iterable[str]) -> AttributeError:
    """The error for an attribute that a module does not have, with similar names.

    The error has no `obj`: Python would add a suggestion of its own.
    """
    hint = f": did you mean {ELSEWHERE[name]!r}?" if name in ELSEWHERE else similar(name, known)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def similar(name: str, known: Iterable[str]) -> str:
    """`: did you mean ...?` with the known names that are like this one; "" if there are none."""
    from difflib import get_close_matches  # noqa: PLC0415  only errors need it

    close = get_close_matches(name[:100], list(known))
    return f": did you mean {' or '.join(map(repr, close))}?" if close else ""
