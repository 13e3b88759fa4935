"""JSONPath (RFC 9535): compiled once, evaluated within bounds.

The library `python-jsonpath` parses every path and evaluates those with wildcards, slices, filters
and `..`; a singular path (`$.a[0].b`) is walked here, without it. It is imported when the first path
is compiled, so that a program without paths runs where only the standard library is at hand.

Two things of the standard are refused, because a document could make them slow: `match()` and
`search()` (regular expressions backtrack), and queries inside a filter that select more than one node.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..errors import ExpressionError
from .bounds import (
    MAX_DOCUMENT_DEPTH,
    Budget,
    BudgetExceededError,
    too_many_nodes,
    unevaluable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values import JSON, Failure


class Missing:
    """What a singular path selects where there is nothing: RFC 9535 calls it Nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class Path:
    """One compiled path. `Path.compile` caches: equal texts share one."""

    __slots__ = ("segments", "steps", "text")

    def __init__(self, text: str) -> None:
        query = _parse(text)
        self.text = text
        self.segments: tuple[Any, ...] = query.segments
        # Names and indexes of a singular path; None when it may select several nodes.
        self.steps = _steps(query) if query.singular_query() else None

    def __repr__(self) -> str:
        return f"Path({self.text!r})"

    @staticmethod
    @lru_cache(maxsize=4096)
    def compile(text: str) -> Path:
        """The path that `text` spells.

        Raises:
            ExpressionError: with the place in the text and what is wrong there.
        """
        if not isinstance(text, str):
            raise ExpressionError(f"a path must be a string such as '$.name', not {text!r}")
        return Path(text)

    @property
    def singular(self) -> bool:
        """Whether it selects at most one node: then `select` gives that node, else a list."""
        return self.steps is not None

    def select(self, document: JSON) -> JSON | Missing | Failure:
        """What the path selects in `document`.

        Returns:
            For a singular path the node, or MISSING; else the list of nodes, in document order.
            A Failure when a bound of `bounds` is exceeded.
        """
        if self.steps is None:
            return self._select_all(document)
        node = document
        for step in self.steps:
            if isinstance(step, str):
                if type(node) is not dict or step not in node:
                    return MISSING
            elif type(node) is not list or not -len(node) <= step < len(node):
                return MISSING
            node = node[step]
        return node

    def _select_all(self, document: JSON) -> list[JSON] | Failure:
        if not isinstance(document, (dict, list)):
            return []  # every segment of a plural path but `$` alone asks for children
        _, errors, visits = _library()
        nodes: Iterable[Any] = [visits(document, Budget())]
        try:
            for segment in self.segments:
                nodes = segment.resolve(nodes)
            return [node.obj for node in nodes]
        except BudgetExceededError:
            return too_many_nodes(self.text)
        except errors as error:  # nests deeper than MAX_DOCUMENT_DEPTH, or compares containers
            return unevaluable(self.text, error.args[0])


def _parse(text: str) -> Any:
    environment, errors, _ = _library()
    if not text.startswith("$"):
        raise ExpressionError(f"path {text!r}: it must start with '$', the whole document")
    try:
        query = environment.compile(text)
        _refuse_plural_filters(query)
    except errors as error:
        raise ExpressionError(f"path {text!r}: {error.args[0]}") from error
    return query


def _steps(query: Any) -> tuple[str | int, ...]:
    selectors = (segment.selectors[0] for segment in query.segments)
    return tuple(s.name if hasattr(s, "name") else s.index for s in selectors)


def _refuse_plural_filters(query: Any) -> None:
    from jsonpath import JSONPathSyntaxError  # noqa: PLC0415  see the module's docstring
    from jsonpath.filter import FilterQuery, walk  # noqa: PLC0415

    for segment in query.segments:
        for selector in segment.selectors:
            for node in walk(selector.expression) if hasattr(selector, "expression") else ():
                if isinstance(node, FilterQuery) and not node.path.singular_query():
                    raise JSONPathSyntaxError(
                        f"a filter may only use singular queries, not '{node}'; "
                        "use an inline function",
                        token=selector.token,
                    )


@lru_cache(maxsize=1)
def _library() -> tuple[Any, Any, Any]:
    """The configured environment, its error types, and the root of a counted visit."""
    from jsonpath import JSONPathEnvironment, JSONPathError  # noqa: PLC0415
    from jsonpath.exceptions import JSONPathTypeError  # noqa: PLC0415
    from jsonpath.match import JSONPathMatch  # noqa: PLC0415

    class Bounded(JSONPathEnvironment):
        max_recursion_depth = MAX_DOCUMENT_DEPTH

        def setup_function_extensions(self) -> None:
            super().setup_function_extensions()
            for slow in ("match", "search"):
                del self.function_extensions[slow]

        def getitem(self, obj: Any, key: Any) -> Any:
            return () if isinstance(obj, str) else obj[key]  # a slice of a string selects nothing

        def compare(self, left: object, operator: str, right: object) -> bool:
            if isinstance(left, (dict, list)) and isinstance(right, (dict, list)):
                raise JSONPathTypeError("a filter cannot compare arrays or objects", token=None)
            return bool(super().compare(left, operator, right))

    class Visit(JSONPathMatch):
        __slots__ = ("budget",)

        def __init__(self, obj: object, root: Any, budget: Budget) -> None:
            super().__init__(filter_context={}, obj=obj, parent=None, path="", parts=(), root=root)
            self.budget = budget

        def new_child(self, obj: object, key: int | str) -> Visit:  # noqa: ARG002  paths are not asked for
            self.budget.spend()
            return Visit(obj, self.root, self.budget)

        def add_child(self, *children: JSONPathMatch) -> None:
            """Remembers nothing: only the nodes themselves are wanted."""

    def visit(document: JSON, budget: Budget) -> Visit:
        return Visit(document, document, budget)

    return Bounded(strict=True), JSONPathError, visit
