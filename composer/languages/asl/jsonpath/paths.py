"""JSONPath as AWS evaluates it: compiled once, evaluated within bounds.

`$.a` is of the state's input, `$$.a` of the context object, `$name.a` of the variable `name`.

A path is *definite* if it can lead to one value only. Then no match is an error; else its value is a
list, which is empty if nothing matches, even if the parent is absent (recorded on AWS). Two
quirks of Jayway's library show on AWS and are kept: an index past the end of an array is found, as
null, where the path ends there (as MISSING, which is an error for callers that need a value); and
`[1:-1]`, with ends of both signs, counts from one to the other without counting from the end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, assert_never

from ....errors import Error, ExpressionError
from ....expressions.bounds import Budget, BudgetExceededError
from ....expressions.nodes import MISSING, Missing, Steps, node_at
from ....freezing import frozen
from ..state_errors import RUNTIME, StatesError
from .filters import compared
from .path_parser import parse_segments
from .reading import Reader
from .segments import (
    Compare,
    Exists,
    Filter,
    Fits,
    Indexes,
    Junction,
    Literal,
    Names,
    Negation,
    Query,
    Segment,
    Slice,
    Test,
    Wildcard,
    definite,
)
from .texts import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....values import JSON
    from .segments import Operand, Segments, Selector

Node: TypeAlias = "JSON | Missing"

MAX_PATH = 1024  # characters of a path
MAX_VISITS = 100_000  # values that an evaluation may visit: some 200 ms
NO_INPUT = "Unable to apply Path transformation to null or empty input."

_VARIABLE = re.compile(r"[^\W\d]\w{0,79}")


class PathNotFoundError(Error):
    """A definite path leads nowhere: the text has the place where it ended, in the words of Jayway's library."""


class NoArrayError(Error):
    """An index, slice or filter meets a value that is not an array; the text is that of Jayway's library, as on AWS."""


@frozen
class Scope:
    """The data that paths are evaluated over, and their bound on visits: one for each, or one budget for all."""

    input: JSON
    context: JSON = None
    variables: dict[str, JSON] | None = None
    budget: Budget | None = None


class Path:
    """One compiled path. `Path.compile` caches: equal texts share one."""

    __slots__ = ("definite", "inner", "origin", "segments", "steps", "text")

    def __init__(self, text: str) -> None:
        reader = Reader("path", text)
        if len(text) > MAX_PATH:
            reader.fail(f"a path has at most {MAX_PATH} characters: too many, counted")
        reader.expects("$")
        self.text = text
        # Where its root is: "input", "context" or "variables".
        self.origin = "context" if reader.accepts("$") else "input"
        variable = reader.take(_VARIABLE) if self.origin == "input" else ""
        segments = parse_segments(reader)
        if not reader.ended:
            reader.fail("expected '.', '[' or the end")
        if variable:
            self.origin = "variables"
            segments = (Segment(Names((variable,))), *segments)
        self.segments: Segments = segments
        self.definite = definite(segments)
        # Names and indexes, if it has nothing else: the short way for a path that finds its value.
        steps = tuple(segment.step for segment in segments if segment.step is not None)
        self.steps: Steps | None = steps if len(steps) == len(segments) else None
        # The path as causes name it, which call the context object's root `$` as well.
        self.inner = text[1:] if self.origin == "context" else text

    def __repr__(self) -> str:
        return f"Path({self.text!r})"

    @staticmethod
    def compile(text: JSON) -> Path:
        """The path that `text` spells.

        Raises:
            ExpressionError: the text is not a path; it has the place of the mistake.
        """
        if type(text) is not str:
            raise ExpressionError(f"a path must be a string such as '$.name', not {text!r:.100}")
        return _compiled(text)

    def find(self, scope: Scope) -> JSON | Missing:
        """The value that the path selects.

        Returns:
            For a definite path the value; MISSING for an index past the end, where the path ends.
            Else the list of the values found, in the document's order.

        Raises:
            PathNotFoundError: a definite path leads nowhere.
            NoArrayError: an index, slice or filter meets a value that is not an array.
            StatesError: States.Runtime if the input is null, or a bound is exceeded.
        """
        document = self.document(scope)
        if document is None and self.origin == "input":
            raise StatesError(RUNTIME, NO_INPUT)
        if self.steps is not None and (found := node_at(self.steps, document)) is not MISSING:
            return found
        evaluation = _Evaluation(document, scope.budget or Budget(MAX_VISITS))
        try:
            return evaluation.found(document, self.segments, self.definite)
        except BudgetExceededError as error:
            raise too_much(f"The JSONPath '{self.text}'") from error

    def document(self, scope: Scope) -> JSON:
        """The document in which the path's first segment is looked up."""
        if self.origin == "input":
            return scope.input
        return scope.context if self.origin == "context" else scope.variables or {}


_compiled = lru_cache(maxsize=4096)(Path)


class _Evaluation:
    """One evaluation: the document, and the budget of visits to its values."""

    __slots__ = ("_root", "_spend")

    def __init__(self, root: JSON, budget: Budget) -> None:
        self._root, self._spend = root, budget.spend

    def found(self, node: Node, segments: Segments, single: bool) -> Node:
        """The value or the list that the segments select from this node."""
        walk = self._walk(node, segments, "$", True)
        if single:
            return next(walk)
        try:
            return [None if isinstance(value, Missing) else value for value in walk]
        except PathNotFoundError:
            return []

    def _walk(self, node: Node, segments: Segments, where: str, surely: bool) -> Iterator[Node]:
        """The values that the segments select; `surely` is True while they can select one node only."""
        self._spend(1)
        if not segments:
            yield node
            return
        segment, rest = segments[0], segments[1:]
        if segment.descends:
            for place in self._below(node):
                for child in self._here(place, segment.selector, bool(rest)):
                    yield from self._walk(child, rest, where, False)
            return
        below = surely and segment.step is not None
        inside = f"{where}{segment.selector}" if below else where
        for child in self._children(node, segment.selector, where if surely else None, bool(rest)):
            yield from self._walk(child, rest, inside, below)

    def _below(self, node: Node) -> Iterator[Node]:
        """This node and all below it, each before its members."""
        left = [node]
        while left:
            place = left.pop()
            self._spend(1)
            yield place
            left.extend(reversed(_members(place)))

    def _here(self, node: Node, selector: Selector, goes_on: bool) -> Sequence[Node]:
        """The nodes that a selector after `..` finds at one of the nodes."""
        if isinstance(selector, Filter):
            if type(node) is dict:
                return [node] if self._holds(selector.test, node) else []
            scalars = (item for item in _members(node) if type(item) is not dict)
            return [item for item in scalars if self._holds(selector.test, item)]
        if (
            isinstance(selector, Names)
            and type(node) is dict
            and node.keys().isdisjoint(selector.names)
        ):
            return []
        return self._children(node, selector, None, goes_on)

    def _children(
        self, node: Node, selector: Selector, where: str | None, goes_on: bool
    ) -> Sequence[Node]:
        """The nodes that a selector finds in a node; `where` is its place if a missing node is an error."""
        match selector:
            case Names():
                return _named(node, selector, where, goes_on)
            case Wildcard():
                return _members(node)
            case Filter() if type(node) is dict:
                return [node] if self._holds(selector.test, node) else []
        if type(node) is not list:
            if where is not None:
                raise _no_array(node, selector, where)
            return []
        match selector:
            case Indexes():
                return [_element(node, index) for index in selector.indexes]
            case Slice():
                return _slice(node, selector.start, selector.end)
            case Filter():
                return [item for item in node if self._holds(selector.test, item)]
            case _:
                assert_never(selector)

    def _holds(self, test: Test, node: Node) -> bool:
        self._spend(1)
        match test:
            case Exists():
                found = self._query(test.query, node)
                return found is not MISSING if test.query.definite else bool(found)
            case Compare():
                left, right = self._operand(test.left, node), self._operand(test.right, node)
                self._spend(_cost(left, right))
                return compared(test.operator, left, right)
            case Fits():
                text = self._operand(test.left, node)
                return type(text) is str and test.regex.fits(text, self._spend)
            case Negation():
                return not self._holds(test.test, node)
            case Junction():
                held = (self._holds(part, node) for part in test.tests)
                return all(held) if test.all else any(held)
            case _:
                assert_never(test)

    def _operand(self, operand: Operand, node: Node) -> Node:
        match operand:
            case Literal():
                return operand.value
            case Query():
                return self._query(operand, node)
            case _:
                assert_never(operand)

    def _query(self, query: Query, node: Node) -> Node:
        try:
            return self.found(
                self._root if query.absolute else node, query.segments, query.definite
            )
        except (PathNotFoundError, NoArrayError):
            return MISSING if query.definite else []


def too_much(what: str) -> StatesError:
    return StatesError(RUNTIME, f"{what} visits more than {MAX_VISITS} values.")


def _named(node: Node, selector: Names, where: str | None, goes_on: bool) -> Sequence[Node]:
    names = selector.names
    if type(node) is not dict:
        if where is not None:
            raise PathNotFoundError(f"Property {selector} not found in path {where}")
        return []
    if len(names) > 1:
        present = {name: node[name] for name in names if name in node}
        return list(present.values()) if goes_on else [present]
    if names[0] in node:
        return [node[names[0]]]
    if where is None:
        return []
    missing = "Missing property in path " if goes_on else "No results for path: "
    raise PathNotFoundError(f"{missing}{where}{selector}")


def _members(node: Node) -> list[JSON]:
    if type(node) is dict:
        return list(node.values())
    return node if type(node) is list else []


def _element(items: list[JSON], index: int) -> JSON | Missing:
    return items[index] if -len(items) <= index < len(items) else MISSING


def _slice(items: list[JSON], start: int | None, end: int | None) -> Sequence[Node]:
    if start is None or end is None:
        return items[start:end]
    return [
        _element(items, index) for index in range(max(start, -len(items)), min(end, len(items)))
    ]


def _no_array(node: Node, selector: Selector, where: str) -> Error:
    if isinstance(node, Missing):
        return PathNotFoundError(f"The path {where} is null")
    what = (
        "not be applied to primitives"
        if isinstance(selector, Filter)
        else "only be applied to arrays"
    )
    return NoArrayError(f"Filter: {selector} can {what}. Current context is: {json_text(node)}")


def _cost(left: JSON | Missing, right: JSON | Missing) -> int:
    """The visits that a comparison counts as: a list is searched for each member of the other."""
    many = len(left) if type(left) is list else 1
    return many * len(right) if type(right) is list else many
