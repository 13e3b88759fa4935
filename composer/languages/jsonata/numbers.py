"""Numbers of JavaScript: their texts, their rounding, their division."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

LONGEST, SMALLEST = 21, -6  # places before and behind the point that need no exponent
EXACT = 1 << 53  # beyond it, JavaScript skips integers
SAFE = 1 << 63  # a whole float below leaves as an integer, with the figures that JavaScript shows


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(number: float) -> float | int:
    """The number as an integer if it is whole, so that 1.0 is 1."""
    if isinstance(number, float) and number.is_integer() and abs(number) <= EXACT:
        return int(number)
    return number


def exact(number: float) -> float:
    """The number as a float, unless JavaScript has it as an integer; so no integer is large."""
    return float(number) if isinstance(number, int) and abs(number) > EXACT else number


def shown(number: float) -> str:
    """The text of JavaScript: 1e21 and more, and less than 1e-6, with an exponent."""
    if isinstance(number, int) and abs(number) < 10**15:
        return str(number)
    number = float(number)
    if number == 0:
        return "0"
    digits, _, tail = f"{abs(number)!r}".partition("e")
    whole, _, part = digits.partition(".")
    part = part if part != "0" else ""
    point = len(whole) + int(tail or 0)
    figures = (whole + part).lstrip("0")
    point -= len(whole + part) - len(figures)
    figures = figures.rstrip("0")
    return ("-" if number < 0 else "") + _placed(figures, point)


def _placed(figures: str, point: int) -> str:
    """`figures` with the point after `point` of them (ECMA-262, Number::toString)."""
    count = len(figures)
    if count <= point <= LONGEST:
        return figures + "0" * (point - count)
    if 0 < point <= LONGEST:
        return f"{figures[:point]}.{figures[point:]}"
    if SMALLEST < point <= 0:
        return f"0.{'0' * -point}{figures}"
    exponent = f"e{point - 1:+d}"
    return f"{figures[0]}.{figures[1:]}{exponent}" if count > 1 else figures + exponent


def short(number: float) -> float:
    """The text with fifteen digits, as in $string."""
    return float(f"{number:.15g}") if abs(number) >= 10**15 or isinstance(number, float) else number


def divided(left: float, right: float) -> float:
    """The quotient; by zero it is infinite, or NaN."""
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def remainder(left: float, right: float) -> float:
    """The remainder with the sign of `left`, as in C."""
    return math.fmod(left, right) if right and not math.isinf(left) else math.nan


def half_even(number: float, places: int) -> float:
    """Rounds to `places`; a half goes to the even neighbour, by the decimal text, not by the bits."""
    exponent = Decimal(1).scaleb(-places)
    return float(Decimal(shown(number)).quantize(exponent, ROUND_HALF_EVEN, Context(prec=800)))
