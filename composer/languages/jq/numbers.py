"""jq's numbers: IEEE doubles, beside integers that keep all their digits until they are reckoned with.

A Python int is an exact number (a literal, or a number of the input); the result of arithmetic is a
double, which is an int here as long as it has no fraction and is below 10^17 (the form in which jq
prints it).
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final, TypeAlias

Number: TypeAlias = int | float

MAX_DIGITS = 400  # of an integer that keeps them; a longer one is infinite as a double anyway
LARGEST: Final = 1.7976931348623157e308
EXACT: Final = 1 << 53
PLAIN: Final = 10**17
SHORT_EXPONENT, LONG_DIGITS = -5, 15


def literal(text: str) -> Number:
    """The number that a text (of JSON, or of a program) says; too large a one is the largest double."""
    if len(text) <= MAX_DIGITS and text.lstrip("-").isdigit():
        return int(text)
    found = float(text)
    return math.copysign(LARGEST, found) if math.isinf(found) else found


def double(number: Number) -> float:
    """The double nearest to a number."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def reckoned(number: Number) -> Number:
    """The result of arithmetic in its one form: an int if jq prints it as one, and it is exact."""
    if isinstance(number, int):
        if -EXACT <= number <= EXACT:
            return number
        number = double(number)
    if number.is_integer() and -PLAIN < number < PLAIN:
        return int(number)
    return number


def shown(number: Number) -> str:
    """A number as jq prints it; NaN is null, an infinite one the largest double."""
    if not isinstance(number, float):
        return str(number)
    if math.isnan(number):
        return "null"
    if math.isinf(number):
        number = math.copysign(LARGEST, number)
    sign, figures, power = Decimal(repr(number)).as_tuple()
    if number.is_integer() and abs(number) < PLAIN:
        return f"{int(number)}.0"  # only a literal keeps its point
    digits = "".join(map(str, figures)).rstrip("0")
    exponent = len(figures) + int(power) - 1
    minus = "-" * sign
    if SHORT_EXPONENT < exponent < len(digits) + LONG_DIGITS:
        return minus + _plain(digits, exponent)
    mantissa = digits[0] + ("." + digits[1:]) * (len(digits) > 1)
    return f"{minus}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :]}" if len(digits) > exponent + 1 else whole


def whole(number: Number) -> int:
    """A number (not NaN) without its fraction, within 64 bits."""
    found = number if type(number) is int else int(max(-1e19, min(1e19, number)))
    return max(-(1 << 63), min((1 << 63) - 1, found))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
