"""The error for a name that `composer` does not have: names the combinator that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def no_attribute(name: str, module: str, known: Sequence[str]) -> AttributeError:
    """The error for an attribute that a module does not have, with similar names.

    The error has no `obj`: Python would add a suggestion of its own.
    """
    from difflib import get_close_matches  # noqa: PLC0415  only errors need it

    close = [ELSEWHERE[name]] if name in ELSEWHERE else get_close_matches(name, known)
    hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)
