"""Functions of numbers, as C's mathematical library has them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from .errors import EvaluationError
from .numbers import double, is_number, reckoned
from .values import kind, wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from .budget import Budget

SMALLEST_NORMAL: Final = 2.2250738585072014e-308
HALF: Final = 0.5


def _number(value: Any) -> float:
    if not is_number(value):
        raise wrong(value, "number required")
    return double(value)


def _of_one(function: Callable[[float], Any]) -> Any:
    def call(_: Budget, value: Any) -> Any:
        return _safe(function, _number(value))

    return call


def _of_two(function: Callable[[float, float], Any]) -> Any:
    def call(_: Budget, __: Any, one: Any, other: Any) -> Any:
        return _safe(function, _number(one), _number(other))

    return call


def _safe(function: Callable[..., Any], *numbers: float) -> Any:
    """C's result where Python raises: NaN outside of the domain, infinite above the range."""
    try:
        return reckoned(function(*numbers))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _whole(function: Callable[[float], int]) -> Callable[[float], Any]:
    return lambda x: function(x) if math.isfinite(x) else x


def _round(x: float) -> int:
    return math.floor(abs(x) + HALF) * (-1 if x < 0 else 1)


def _log(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else function(x)


def _logb(x: float) -> float:
    if x == 0:
        return -math.inf
    return abs(x) if math.isinf(x) else math.frexp(x)[1] - 1


def _significand(x: float) -> float:
    return x if x == 0 or not math.isfinite(x) else math.frexp(x)[0] * 2


def _gamma(x: float) -> float:
    return math.inf if x <= 0 and x.is_integer() else math.lgamma(x)


def _remainder(x: float, y: float) -> float:
    return math.remainder(x, y)


def _pow(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def _ldexp(x: float, y: float) -> float:
    return math.ldexp(x, int(max(-5000, min(5000, y))))


def _smaller(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else min(x, y)


def _larger(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else max(x, y)


def _frexp(_: Budget, value: Any) -> list[Any]:
    fraction, exponent = math.frexp(_number(value))
    return [reckoned(fraction), exponent]


def _modf(_: Budget, value: Any) -> list[Any]:
    return [reckoned(part) for part in math.modf(_number(value))]


def _lgamma_r(_: Budget, value: Any) -> list[Any]:
    x = _number(value)
    below = x < 0 and math.isfinite(x) and not x.is_integer() and math.floor(x) % 2 != 0
    return [_safe(_gamma, x), -1 if below else 1]


def _abs(_: Budget, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if not is_number(value):
        raise wrong(value, "cannot be negated")
    return abs(value) if value < 0 else value or 0


def _error(_: Budget, value: Any) -> Any:
    raise EvaluationError(value)


def _span(_: Budget, __: Any, low: Any, high: Any, step: Any) -> list[Any]:
    if not all(map(is_number, (low, high, step))):
        raise EvaluationError("Range bounds must be numeric")
    return [low, high, step]


def _normal(_: Budget, value: Any) -> bool:
    number = abs(_number(value))
    return number >= SMALLEST_NORMAL and math.isfinite(number)


def _fma(_: Budget, __: Any, x: Any, y: Any, z: Any) -> Any:
    return _safe(lambda a, b, c: a * b + c, _number(x), _number(y), _number(z))


_ONE: Final[dict[str, Callable[[float], Any]]] = {
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "trunc": _whole(math.trunc),
    "round": _whole(_round), "rint": _whole(round), "nearbyint": _whole(round), "sqrt": math.sqrt,
    "cbrt": math.cbrt, "fabs": abs, "exp": math.exp, "exp2": math.exp2,
    "exp10": lambda x: _pow(10.0, x), "expm1": math.expm1, "log": _log(math.log),
    "log2": _log(math.log2), "log10": _log(math.log10),
    "log1p": lambda x: -math.inf if x == -1 else math.log1p(x), "logb": _logb,
    "significand": _significand, "gamma": _gamma, "lgamma": _gamma, "tgamma": math.gamma,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos,
    "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "asinh": math.asinh,
    "acosh": math.acosh, "atanh": math.atanh, "erf": math.erf, "erfc": math.erfc,
}  # fmt: skip
_TWO: Final[dict[str, Callable[[float, float], Any]]] = {
    "pow": _pow, "atan2": math.atan2, "fmod": math.fmod, "ldexp": _ldexp, "scalb": _ldexp,
    "scalbln": _ldexp, "hypot": math.hypot, "copysign": math.copysign, "drem": _remainder,
    "remainder": _remainder, "fmin": _smaller, "fmax": _larger,
    "fdim": lambda x, y: x - y if x > y else 0.0, "nextafter": math.nextafter,
    "nexttoward": math.nextafter,
}  # fmt: skip
FUNCTIONS: Final[dict[tuple[str, int], Any]] = {
    **{(name, 0): _of_one(function) for name, function in _ONE.items()},
    **{(name, 2): _of_two(function) for name, function in _TWO.items()},
    ("frexp", 0): _frexp, ("modf", 0): _modf, ("lgamma_r", 0): _lgamma_r, ("fma", 3): _fma,
    ("abs", 0): _abs, ("infinite", 0): lambda _, __: math.inf, ("nan", 0): lambda _, __: math.nan,
    ("isinfinite", 0): lambda _, value: math.isinf(_number(value)),
    ("isnan", 0): lambda _, value: math.isnan(_number(value)), ("isnormal", 0): _normal,
    ("isfinite", 0): lambda _, value: is_number(value) and not math.isinf(double(value)),
    ("not", 0): lambda _, value: value is None or value is False,
    ("type", 0): lambda _, value: kind(value), ("error", 0): _error, ("_span", 3): _span,
    ("have_literal_numbers", 0): lambda _, __: True, ("have_decnum", 0): lambda _, __: False,
}  # fmt: skip
