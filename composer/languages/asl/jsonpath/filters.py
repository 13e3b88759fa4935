"""The comparison of two values in a path's filter.

Nothing is coerced: the string "1" is not the number 1, and no order holds between unlike values.
(Jayway's library takes "1" for 1 in some versions; no recording shows that AWS does.)
"""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, TypeAlias

from ....expressions.nodes import MISSING
from ....values import equal

if TYPE_CHECKING:
    from collections.abc import Callable

Value: TypeAlias = Any
"""An operand: a JSON value of any type, or MISSING."""


def compared(operator: str, left: Value, right: Value) -> bool:
    """True if `left operator right` holds; MISSING is the value of a path that found nothing.

    The operators are `== != < <= > >=`, and the words `in nin contains subsetof anyof noneof size
    empty` of Jayway's library.
    """
    return _OPERATORS[operator](left, right)


def _equal(left: Value, right: Value) -> bool:
    return left is not MISSING and right is not MISSING and equal(left, right)


def _ordered(holds: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool]:
    def test(left: Value, right: Value) -> bool:
        numbers = type(left) in (int, float) and type(right) in (int, float)
        return (numbers or (type(left) is str and type(right) is str)) and holds(left, right)

    return test


def _among(value: Value, items: Value) -> bool:
    return type(items) is list and any(_equal(value, item) for item in items)


def _contains(whole: Value, part: Value) -> bool:
    if type(whole) is str:
        return type(part) is str and part in whole
    return _among(part, whole)


def _lists(holds: Callable[[Value, Value], bool]) -> Callable[[Value, Value], bool]:
    return lambda left, right: type(left) is list and type(right) is list and holds(left, right)


def _sized(value: Value, size: Value) -> bool:
    return type(value) in (str, list) and type(size) is int and len(value) == size


def _empty(value: Value, expected: Value) -> bool:
    return type(value) in (str, list) and (not value) is expected


_OPERATORS: dict[str, Callable[[Value, Value], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lt),
    "<=": _ordered(le),
    ">": _ordered(gt),
    ">=": _ordered(ge),
    "in": _among,
    "nin": lambda value, items: not _among(value, items),
    "contains": _contains,
    "subsetof": _lists(lambda left, right: all(_among(item, right) for item in left)),
    "anyof": _lists(lambda left, right: any(_among(item, right) for item in left)),
    "noneof": _lists(lambda left, right: not any(_among(item, right) for item in left)),
    "size": _sized,
    "empty": _empty,
}
