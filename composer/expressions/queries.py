"""Paths beyond `$.a[0].b`: parsed by `python-jsonpath`, evaluated here, within bounds (RFC 9535).

The library's tree becomes functions of a node and of the evaluation under way. Evaluation is ours so
that all work is counted before it is done, and so that a filter compares as a predicate does.

Four functions of the standard are refused: `match()` and `search()`, because regular expressions
backtrack; `count()` and `value()`, because they need queries inside a filter that select more than one
node, which are refused, too.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from jsonpath import JSONPathEnvironment, JSONPathError, JSONPathSyntaxError
from jsonpath.filter import (
    BooleanLiteral,
    FilterQuery,
    FloatLiteral,
    FunctionExtension,
    InfixExpression,
    IntegerLiteral,
    Nil,
    PrefixExpression,
    RootFilterQuery,
    StringLiteral,
    walk,
)
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import Filter, IndexSelector, NameSelector, SliceSelector, WildcardSelector

from ..errors import ExpressionError
from .bounds import MAX_FILTER, Budget, UncomparableError
from .nodes import COMPARE, MISSING, Missing, Node, Steps, node_at

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from ..values import JSON

MAX_EXACT_INT = (1 << 53) - 1  # RFC 9535, section 2.1, and what the library reads without rounding


class Evaluation(NamedTuple):
    """One evaluation of a query: the document, and how much of it may still be visited."""

    root: JSON
    budget: Budget


Select: TypeAlias = "Callable[[JSON, Evaluation], Iterable[JSON]]"
Operand: TypeAlias = "Callable[[JSON, Evaluation], Node]"
Holds: TypeAlias = "Callable[[JSON, Evaluation], bool]"


class Query:
    """A parsed path: its steps if it is singular, and the functions that select its nodes."""

    __slots__ = ("_segments", "steps")

    def __init__(self, text: str) -> None:
        try:
            parsed: Any = _ENVIRONMENT.compile(text)
            self._segments = [_segment(segment) for segment in parsed.segments]
        except (JSONPathError, ValueError, ArithmeticError, RecursionError) as error:
            raise ExpressionError(f"path {text!r}: {error.args[0]}") from error
        self.steps = _steps(parsed) if parsed.singular_query() else None

    def select(self, document: JSON) -> list[JSON]:
        """Returns the nodes that it selects, in document order.

        Raises:
            BudgetExceededError: when the evaluation visits more than bounds.MAX_NODES nodes.
            UncomparableError: when a filter compares two arrays or objects.
        """
        evaluation = Evaluation(document, Budget())
        nodes: Iterable[JSON] = [document]
        for segment in self._segments:
            nodes = [found for node in nodes for found in segment(node, evaluation)]
        return list(nodes)


class _Environment(JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions = {"length": self.function_extensions["length"]}


_ENVIRONMENT = _Environment(strict=True)


def _steps(query: Any) -> Steps:
    selectors = (segment.selectors[0] for segment in query.segments)
    return tuple(s.name if isinstance(s, NameSelector) else s.index for s in selectors)


# --- segments and selectors --------------------------------------------------------------------


def _segment(segment: Any) -> Select:
    selectors = [_SELECTORS[type(selector)](selector) for selector in segment.selectors]

    def children(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        return chain.from_iterable(select(node, evaluation) for select in selectors)

    def descendants(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        left = [node]
        while left:
            place = left.pop()
            yield from children(place, evaluation)
            members = _members(place)
            evaluation.budget.spend(len(members))
            below = [member for member in members if type(member) in (dict, list)]
            left.extend(reversed(below))

    return descendants if isinstance(segment, JSONPathRecursiveDescentSegment) else children


def _members(node: JSON) -> Collection[JSON]:
    if type(node) is dict:
        return node.values()
    return node if type(node) is list else ()


def _one(selector: Any) -> Select:
    step: Steps = (selector.name if isinstance(selector, NameSelector) else selector.index,)

    def select(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        evaluation.budget.spend(1)
        found = node_at(step, node)
        return () if found is MISSING else (found,)

    return select


def _slice(selector: Any) -> Select:
    def select(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        evaluation.budget.spend(1)
        if type(node) is not list or selector.slice.step == 0:
            return ()
        evaluation.budget.spend(len(range(*selector.slice.indices(len(node)))))
        found: list[JSON] = node[selector.slice]
        return found

    return select


def _wildcard(_: Any) -> Select:
    def select(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        members = _members(node)
        evaluation.budget.spend(1 + len(members))
        return members

    return select


def _filter(selector: Any) -> Select:
    inner = selector.expression.expression
    weight = _checked(inner)
    holds = _test(inner)

    def select(node: JSON, evaluation: Evaluation) -> Iterable[JSON]:
        members = _members(node)
        evaluation.budget.spend(1 + weight * len(members))
        return [member for member in members if holds(member, evaluation)]

    return select


_SELECTORS: dict[type[Any], Callable[[Any], Select]] = {
    NameSelector: _one,
    IndexSelector: _one,
    SliceSelector: _slice,
    WildcardSelector: _wildcard,
    Filter: _filter,
}


# --- filters -----------------------------------------------------------------------------------


def _checked(expression: Any) -> int:
    """The number of operands, steps and operators of a filter.

    Raises:
        JSONPathSyntaxError: for a filter that is refused.
    """
    weight = 0
    for node in walk(expression):
        weight += 1
        if isinstance(node, FilterQuery):
            weight += len(node.path.segments)
            if not node.path.singular_query():
                raise _refused(f"a filter may only use singular queries, not '{node}'")
        if isinstance(node, IntegerLiteral) and abs(node.value) > MAX_EXACT_INT:
            raise _refused(f"a number in a filter must not be above {MAX_EXACT_INT}")
    if weight > MAX_FILTER:
        raise _refused(f"a filter has at most {MAX_FILTER} operands, steps and operators")
    return weight


def _refused(why: str) -> JSONPathSyntaxError:
    return JSONPathSyntaxError(f"{why}; use an inline function", token=None)  # type: ignore[arg-type]


def _test(expression: Any) -> Holds:
    if isinstance(expression, PrefixExpression):
        held = _test(expression.right)
        return lambda node, evaluation: not held(node, evaluation)
    if isinstance(expression, InfixExpression) and expression.logical:
        left, right = _test(expression.left), _test(expression.right)
        if expression.operator == "&&":
            return lambda node, evaluation: left(node, evaluation) and right(node, evaluation)
        return lambda node, evaluation: left(node, evaluation) or right(node, evaluation)
    if isinstance(expression, InfixExpression):
        return _comparison(expression)
    exists = _operand(expression)
    return lambda node, evaluation: exists(node, evaluation) is not MISSING


_OPERATORS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def _comparison(expression: Any) -> Holds:
    if expression.operator not in _OPERATORS:
        raise _refused(f"a filter has no operator '{expression.operator}'")
    compare = COMPARE[_OPERATORS[expression.operator]]
    left, right = _operand(expression.left), _operand(expression.right)

    def holds(node: JSON, evaluation: Evaluation) -> bool:
        one, other = left(node, evaluation), right(node, evaluation)
        if type(one) in (dict, list) and type(other) in (dict, list):
            raise UncomparableError
        return compare(one, other)

    return holds


_LITERALS = (BooleanLiteral, StringLiteral, IntegerLiteral, FloatLiteral)


def _operand(expression: Any) -> Operand:
    if isinstance(expression, FilterQuery):
        steps = _steps(expression.path)
        if isinstance(expression, RootFilterQuery):
            return lambda _, evaluation: node_at(steps, evaluation.root)
        return lambda node, _: node_at(steps, node)
    if isinstance(expression, FunctionExtension):
        measured = _operand(expression.args[0])
        return lambda node, evaluation: _length(measured(node, evaluation))
    if isinstance(expression, Nil):
        return lambda _, __: None
    if isinstance(expression, _LITERALS):
        return lambda _, __: expression.value
    raise _refused(f"a filter cannot compare '{expression}'")


def _length(value: Node) -> int | Missing:
    if type(value) is str or type(value) is dict or type(value) is list:
        return len(value)
    return MISSING
