"""Choice rules of the JSONPath language: compiled once, every operator of both editions.

No value is coerced: a value of another type than the operator's does not match, without an error (recorded).
A `Variable`, or the path of a `*Path` operator, that finds nothing is an error, except for `IsPresent`.
"""

from __future__ import annotations

from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, TypeAlias

from ....errors import ExpressionError
from ....expressions.nodes import MISSING, Missing
from ..state_errors import RUNTIME, StatesError
from .references import ReferencePath
from .timestamps import nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....values import JSON
    from .paths import Scope

    Read: TypeAlias = Callable[[JSON], Any]
    Order: TypeAlias = Callable[[Any, Any], bool]
    Matches: TypeAlias = Callable[[Scope], bool]

MAX_LEVELS = 50  # of nested And, Or and Not
MAX_PATTERN = 1024  # characters of a pattern of StringMatches


class Rule:
    """One compiled rule: `matches` is True if its branch is taken."""

    __slots__ = ("matches",)

    def __init__(self, rule: JSON) -> None:
        self.matches = _rule(rule, 0)


def first_match(rules: Sequence[Rule], scope: Scope) -> int | None:
    """The index of the first rule that matches; None if none does.

    Without a Default AWS then fails with States.Runtime, and not with States.NoChoiceMatched of
    its documentation: "Failed to transition out of the state. The state does not point to a next state."

    Raises:
        StatesError: States.Runtime if a path of a rule finds nothing.
    """
    return next((index for index, rule in enumerate(rules) if rule.matches(scope)), None)


# --- the value of an operator's type -------------------------------------------------------------


def _string(value: JSON) -> bytes | None:
    """A key in the order of Java's strings, which is that of their UTF-16 units."""
    return value.encode("utf-16-be", "surrogatepass") if type(value) is str else None


def _number(value: JSON) -> float | None:
    return value if type(value) is int or type(value) is float else None


def _boolean(value: JSON) -> bool | None:
    return value if type(value) is bool else None


def _timestamp(value: JSON) -> int | None:
    return nanoseconds(value) if type(value) is str else None


_KINDS: dict[str, tuple[Read, str]] = {
    "String": (_string, "a string"),
    "Numeric": (_number, "a number"),
    "Boolean": (_boolean, "true or false"),
    "Timestamp": (_timestamp, "a timestamp such as 2016-03-14T01:59:00Z"),
}
_ORDERS: dict[str, Order] = {
    "Equals": eq,
    "LessThan": lt,
    "GreaterThan": gt,
    "LessThanEquals": le,
    "GreaterThanEquals": ge,
}
_TESTS: dict[str, Callable[[JSON], bool]] = {
    "IsNull": lambda value: value is None,
    "IsString": lambda value: type(value) is str,
    "IsNumeric": lambda value: _number(value) is not None,
    "IsBoolean": lambda value: type(value) is bool,
    "IsTimestamp": lambda value: _timestamp(value) is not None,
}
COMPARATORS: dict[str, tuple[str, str]] = {
    f"{kind}{order}": (kind, order)
    for kind in _KINDS
    for order in _ORDERS
    if kind != "Boolean" or order == "Equals"
}
COMBINATIONS = ("And", "Or", "Not")
OPERATORS = frozenset(
    [
        *COMBINATIONS,
        *COMPARATORS,
        *(f"{name}Path" for name in COMPARATORS),
        *_TESTS,
        "IsPresent",
        "StringMatches",
    ]
)


# --- the compiler --------------------------------------------------------------------------------


def _rule(rule: JSON, level: int) -> Matches:
    if type(rule) is not dict:
        raise ExpressionError(f"a choice rule must be an object, not {rule!r:.100}")
    if level > MAX_LEVELS:
        raise ExpressionError(f"a choice rule nests And, Or and Not at most {MAX_LEVELS} deep")
    operators = [name for name in rule if name in OPERATORS]
    if len(operators) != 1:
        raise ExpressionError(
            f"a choice rule must have exactly one operator, not {operators or 'none'}"
        )
    name = operators[0]
    if name in COMBINATIONS:
        return _combination(name, rule[name], level)
    if "Variable" not in rule:
        raise ExpressionError(f"a choice rule with {name} needs the field 'Variable'")
    return _comparison(name, _reference("Variable", rule["Variable"]), rule[name])


def _combination(name: str, inner: JSON, level: int) -> Matches:
    if name == "Not":
        negated = _rule(inner, level + 1)
        return lambda scope: not negated(scope)
    if type(inner) is not list or not inner:
        raise ExpressionError(f"{name} must be a non-empty array of choice rules")
    parts = [_rule(part, level + 1) for part in inner]
    quantified = all if name == "And" else any
    return lambda scope: quantified(part(scope) for part in parts)


def _comparison(name: str, variable: ReferencePath, operand: JSON) -> Matches:
    if name == "IsPresent":
        expected = _flag(name, operand)
        return lambda scope: (variable.find(scope) is not MISSING) is expected
    if name in _TESTS:
        test, expected = _TESTS[name], _flag(name, operand)
        return lambda scope: test(_found(variable, scope)) is expected
    if name == "StringMatches":
        pieces = _pieces(operand)
        return lambda scope: _fits(_found(variable, scope), pieces)
    kind, order = COMPARATORS[name.removesuffix("Path")]
    (read, what), holds = _KINDS[kind], _ORDERS[order]
    if name.endswith("Path"):
        path = _reference(name, operand)
        return lambda scope: _holds(holds, read(_found(variable, scope)), read(_found(path, scope)))
    wanted = read(operand)
    if wanted is None:
        raise ExpressionError(f"{name} must be {what}, not {operand!r:.100}")
    return lambda scope: _holds(holds, read(_found(variable, scope)), wanted)


def _holds(holds: Order, left: JSON, right: JSON) -> bool:
    return left is not None and right is not None and holds(left, right)


def _flag(name: str, operand: JSON) -> bool:
    if type(operand) is not bool:
        raise ExpressionError(f"{name} must be true or false, not {operand!r:.100}")
    return operand


def _reference(field: str, text: JSON) -> ReferencePath:
    try:
        return ReferencePath.compile(text)
    except ExpressionError as error:
        raise ExpressionError(f"{field}: {error}") from error


def _found(path: ReferencePath, scope: Scope) -> JSON:
    found = path.find(scope)
    if isinstance(found, Missing):
        raise StatesError(
            RUNTIME,
            f"Invalid path '{path.text}': The choice state's condition path references an invalid value.",
        )
    return found


# --- StringMatches -------------------------------------------------------------------------------


def _pieces(pattern: JSON) -> list[str]:
    r"""The texts between the `*` of a pattern; `\*` and `\\` are the characters themselves."""
    if type(pattern) is not str or len(pattern) > MAX_PATTERN:
        raise ExpressionError(
            f"StringMatches must be a string of at most {MAX_PATTERN} characters, not {pattern!r:.100}"
        )
    pieces, characters = [""], iter(pattern)
    for character in characters:
        if character == "*":
            pieces.append("")
            continue
        escaped = next(characters, "") if character == "\\" else character
        if character == "\\" and escaped not in ("*", "\\"):
            raise ExpressionError(
                f"StringMatches: a backslash escapes only '*' and itself: {pattern!r}"
            )
        pieces[-1] += escaped
    return pieces


def _fits(text: JSON, pieces: list[str]) -> bool:
    if type(text) is not str:
        return False
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in pieces[1:-1]:  # the leftmost place leaves the most room for what follows
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
