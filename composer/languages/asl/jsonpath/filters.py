"""How two values compare in a path's filter.

Nothing is coerced: the string "1" is not the number 1, and no order holds between unlike values.
(Jayway's library takes "1" for 1 in some versions; no recording shows that AWS does.)
"""

from __future__ import annotations

from operator import ge, gt, le, lt
from typing import TYPE_CHECKING

from ....expressions.nodes import MISSING
from ....values import equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....expressions.nodes import Missing
    from ....values import JSON


def compared(operator: str, left: JSON | Missing, right: JSON | Missing) -> bool:
    """Whether `left operator right` holds; MISSING stands for what a path did not find.

    The operators are `== != < <= > >=`, and the words `in nin contains subsetof anyof noneof size
    empty` of Jayway's library.
    """
    return _OPERATORS[operator](left, right)


def _equal(left: JSON, right: JSON) -> bool:
    return left is not MISSING and right is not MISSING and equal(left, right)


def _ordered(holds: Callable[[JSON, JSON], bool]) -> Callable[[JSON, JSON], bool]:
    def test(left: JSON, right: JSON) -> bool:
        numbers = type(left) in (int, float) and type(right) in (int, float)
        return (numbers or (type(left) is str and type(right) is str)) and holds(left, right)

    return test


def _among(value: JSON, items: JSON) -> bool:
    return type(items) is list and any(_equal(value, item) for item in items)


def _contains(whole: JSON, part: JSON) -> bool:
    if type(whole) is str:
        return type(part) is str and part in whole
    return _among(part, whole)


def _lists(holds: Callable[[JSON, JSON], bool]) -> Callable[[JSON, JSON], bool]:
    return lambda left, right: type(left) is list and type(right) is list and holds(left, right)


def _sized(value: JSON, size: JSON) -> bool:
    return type(value) in (str, list) and type(size) is int and len(value) == size


def _empty(value: JSON, expected: JSON) -> bool:
    return type(value) in (str, list) and (not value) is expected


_OPERATORS: dict[str, Callable[[JSON, JSON], bool]] = {
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
