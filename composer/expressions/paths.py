"""JSONPath (RFC 9535): compiled once, evaluated within bounds.

A singular path (`$.a[0].b`) is evaluated here. A path with wildcards, slices, filters or `..` is evaluated
in `queries`, which also parses every path that is not plainly singular, with `python-jsonpath`. That module is
imported when the first such path is compiled, so that a program without one needs only the standard library.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import ExpressionError
from ..values import flaw
from .bounds import (
    MAX_PATH,
    BudgetExceededError,
    UncomparableError,
    too_many_nodes,
    unevaluable,
)
from .nodes import Missing, Steps, node_at

if TYPE_CHECKING:
    from ..values import JSON, Failure
    from .queries import Query

# A path that needs no parser, such as `$.a[0]["b c"]`, and its steps: a name in double quotes is JSON.
_QUOTED = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*"'
_PLAIN = re.compile(rf"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[(?:0|-?[1-9][0-9]{{0,14}}|{_QUOTED})\])*")
_STEP = re.compile(rf"\.([A-Za-z0-9_]+)|\[(-?[0-9]+|{_QUOTED})\]")


class Path:
    """One compiled path. `Path.compile` caches: equal texts share one."""

    __slots__ = ("_query", "steps", "text")

    def __init__(self, text: str) -> None:
        if len(text) > MAX_PATH:
            raise ExpressionError(
                f"path {text[:40]!r}...: it must be of at most {MAX_PATH} characters, not {len(text)}"
            )
        if not text.startswith("$"):
            raise ExpressionError(f"path {text!r}: it must start with '$', the whole document")
        if why := flaw(text):
            raise ExpressionError(f"path {text!r}: {why}")
        self.text = text
        self._query: Query | None = None if _PLAIN.fullmatch(text) else _query(text)
        # Names and indexes of a singular path; None when it may select several nodes.
        self.steps = _plain_steps(text) if self._query is None else self._query.steps

    def __repr__(self) -> str:
        return f"Path({self.text!r})"

    @staticmethod
    def compile(text: str) -> Path:
        """Returns the path for `text`.

        Raises:
            ExpressionError: naming the error and its place in the text.
        """
        if not isinstance(text, str):
            raise ExpressionError(f"a path must be a string such as '$.name', not {text!r}")
        return _compiled(text)

    @property
    def singular(self) -> bool:
        """True if it selects at most one node: then `select` returns that node, else a list."""
        return self.steps is not None

    def select(self, document: JSON) -> JSON | Missing | Failure:
        """Selects nodes of `document`.

        Returns:
            For a singular path the node, or MISSING; else the list of nodes, in document order.
            A Failure when a bound of `bounds` is exceeded.
        """
        if self.steps is not None:
            return node_at(self.steps, document)
        try:
            return self._query.select(document)  # type: ignore[union-attr]
        except BudgetExceededError:
            return too_many_nodes(self.text)
        except UncomparableError:
            return unevaluable(self.text, "a filter cannot compare arrays or objects")


_compiled = lru_cache(maxsize=4096)(Path)


def _query(text: str) -> Query:
    from .queries import Query  # noqa: PLC0415  see the module's docstring

    return Query(text)


def _plain_steps(text: str) -> Steps:
    return tuple(name or json.loads(inside) for name, inside in _STEP.findall(text))
