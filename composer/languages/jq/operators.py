"""jq's operators on values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from .budget import LOOPED, MAX_LEVELS, TOO_NESTED, Budget
from .errors import BudgetError
from .numbers import EXACT, Number, double, is_number, reckoned, whole
from .values import both_wrong, equal, less, truthy, wrong

Operator = Callable[[Any, Any, Budget], Any]


def negated(value: Any) -> Number:
    if not is_number(value):
        raise wrong(value, "cannot be negated")
    return -value if value else 0


def add(one: Any, other: Any, budget: Budget) -> Any:
    if is_number(one) and is_number(other):
        return _sum(one, other)
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, str) and isinstance(other, str):
        budget.characters(len(one) + len(other))
        return one + other
    if isinstance(one, list) and isinstance(other, list):
        budget.members(len(one) + len(other))
        return one + other
    if isinstance(one, dict) and isinstance(other, dict):
        budget.members(len(one) + len(other))
        budget.keyed(other)
        return {**one, **other}
    raise both_wrong(one, other, "cannot be added")


def _sum(one: Number, other: Number) -> Number:
    if (
        type(one) is int
        and type(other) is int
        and -EXACT <= one <= EXACT
        and -EXACT <= other <= EXACT
    ):
        return reckoned(one + other)
    return reckoned(double(one) + double(other))


def subtract(one: Any, other: Any, budget: Budget) -> Any:
    if is_number(one) and is_number(other):
        return _sum(one, -other)
    if isinstance(one, list) and isinstance(other, list):
        budget.spend(len(one) * max(1, len(other)) // 2)
        return [member for member in one if not any(equal(member, gone, budget) for gone in other)]
    raise both_wrong(one, other, "cannot be subtracted")


def multiply(one: Any, other: Any, budget: Budget) -> Any:
    if is_number(one) and is_number(other):
        return reckoned(double(one) * double(other))
    if isinstance(one, str) and is_number(other):
        return _repeated(one, other, budget)
    if isinstance(other, str) and is_number(one):
        return _repeated(other, one, budget)
    if isinstance(one, dict) and isinstance(other, dict):
        return _merged(one, other, budget, 0)
    raise both_wrong(one, other, "cannot be multiplied")


def _repeated(text: str, times: Number, budget: Budget) -> str | None:
    if not times >= 0:  # NaN too
        return None
    count = whole(times)
    if not text or not count:
        return ""
    budget.spend(1)
    budget.characters(len(text) * count)
    return text * count


def _merged(
    one: dict[str, Any], other: dict[str, Any], budget: Budget, level: int
) -> dict[str, Any]:
    if level > MAX_LEVELS:
        raise BudgetError(TOO_NESTED.format(MAX_LEVELS))
    budget.members(len(one) + len(other))
    budget.spend(2 + len(other) // LOOPED)
    budget.keyed(other)
    made = dict(one)
    for key, value in other.items():
        old = made.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        made[key] = _merged(old, value, budget, level + 1) if both else value  # type: ignore[arg-type]
    return made


def divide(one: Any, other: Any, budget: Budget) -> Any:
    if is_number(one) and is_number(other):
        if not other:
            raise both_wrong(one, other, "cannot be divided because the divisor is zero")
        return reckoned(double(one) / double(other))
    if isinstance(one, str) and isinstance(other, str):
        return split(one, other, budget)
    raise both_wrong(one, other, "cannot be divided")


def split(text: str, separator: str, budget: Budget) -> list[str]:
    budget.searched(2 * len(text), len(separator))  # once to count
    budget.looped(len(text) if not separator else text.count(separator))
    budget.characters(len(text))
    if not text:
        return []
    return text.split(separator) if separator else list(text)


def remainder(one: Any, other: Any, _: Budget) -> Any:
    if not (is_number(one) and is_number(other)):
        raise both_wrong(one, other, "cannot be divided (remainder)")
    if one != one or other != other:  # noqa: PLR0124 - NaN
        return math.nan
    divisor = abs(whole(other))
    if not divisor:
        raise both_wrong(one, other, "cannot be divided (remainder) because the divisor is zero")
    dividend = whole(one)
    left = abs(dividend) % divisor
    return reckoned(-left if dividend < 0 else left)


def alternative(old: Any, new: Any, _: Budget) -> Any:
    return old if truthy(old) else new


def _different(one: Any, other: Any, budget: Budget) -> bool:
    return not equal(one, other, budget)


def _more(one: Any, other: Any, budget: Budget) -> bool:
    return less(other, one, budget)


def _at_most(one: Any, other: Any, budget: Budget) -> bool:
    return equal(one, other, budget) or less(one, other, budget)


def _at_least(one: Any, other: Any, budget: Budget) -> bool:
    return _at_most(other, one, budget)


BINARY: Final[dict[str, Operator]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder, "==": equal,
    "!=": _different, "<": less, "<=": _at_most, ">": _more, ">=": _at_least,
}  # fmt: skip
