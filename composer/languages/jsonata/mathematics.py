"""JSONata's functions of numbers, and of dates (docs.jsonata.org, "Numeric" and "Date/Time")."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from .bounds import QueryError
from .library import DateTimeUtils, Functions
from .messages import fault, told
from .numbers import exact, half_even, plain, shown

if TYPE_CHECKING:
    from .texts import Row

MIN_BASE, MAX_BASE = 2, 36
MAX_PICTURE = 256  # characters: pictures become patterns of Python's, which know no bound
TIME: Final = re.compile(
    r"(?a:(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?([+-]\d\d:?\d\d|Z)?)"
)
DECIMAL: Final = re.compile(r"(?a:-?[0-9]+(\.[0-9]+)?([Ee][-+]?[0-9]+)?)")
NAMED: Final = re.compile(r"\[\s*([^MFxP\s])[^\]]*[nN]")  # no such component has names
MARKERS: Final = re.compile(r"\[\s*([A-Za-z])([^\]]*)\]")
READ: Final = frozenset("YMDdFWwXxHhPmsf")
MOMENT: Final = (  # the parts of a date by the part of the current time
    (frozenset("YXxWwd"), "[Y0001]", "%Y"), (frozenset("M"), "[M01]", "%m"),
    (frozenset("D"), "[D01]", "%d"), (frozenset("HhP"), "[H01]", "%H"),
    (frozenset("m"), "[m01]", "%M"),
)  # fmt: skip
PATTERN_STEPS: Final = 500  # of Python's patterns that take as long as one step of an expression
FAR: Final = 1 << 40
EXPONENT: Final = re.compile("[0-9]e[0-9]")
SINGLE: Final = (
    "decimal-separator", "digit", "exponent-separator", "grouping-separator", "pattern-separator", "zero-digit",
)  # fmt: skip
WIDE: Final = re.compile(r",[^\]]*\d{4}")
RADIX: Final = re.compile(r"(?a:0[xX][0-9A-Fa-f]+|0[oO][0-7]+|0[bB][01]+)")


def number(_evaluator: Any, value: Any) -> float:
    if isinstance(value, str):
        if DECIMAL.fullmatch(value) and math.isfinite(float(value)):
            return plain(float(value))
        if RADIX.fullmatch(value):
            return plain(float(int(value[:MAX_PICTURE], 0)))
        raise fault("D3030", value)
    return int(value) if isinstance(value, bool) else value


def total(_evaluator: Any, numbers: list[float]) -> float:
    """The sum, added from the left: `sum` of newer Pythons is more exact than JavaScript."""
    result: float = 0
    for item in numbers:
        result = exact(result + item)
    return result


def largest(_evaluator: Any, numbers: list[float]) -> float | None:
    return max(numbers, default=None)


def smallest(_evaluator: Any, numbers: list[float]) -> float | None:
    return min(numbers, default=None)


def average(evaluator: Any, numbers: list[float]) -> float | None:
    return plain(total(evaluator, numbers) / len(numbers)) if numbers else None


def rounded(_evaluator: Any, value: float, places: Any = None) -> float:
    places = max(-MAX_PICTURE, min(MAX_PICTURE, int(places or 0)))
    return plain(half_even(value, places)) if math.isfinite(value) else value


def root(_evaluator: Any, value: float) -> float:
    if value < 0:
        raise fault("D3060", value)
    return plain(math.sqrt(value))


def power(_evaluator: Any, base: float, exponent: float) -> float:
    try:
        return plain(math.pow(base, exponent))
    except (ValueError, OverflowError):
        raise fault("D3061", base, exponent) from None


def format_number(_evaluator: Any, value: float, picture: str, options: Any = None) -> Any:
    """Formats a number by the library, which rounds a half up, or away from zero, and always writes a zero in front.

    So it is given what is not negative and is rounded, and the zero goes where the picture has none.
    With signs of the caller's own, the rounding is the library's.
    """
    signs = options or {}
    _look_at_signs(signs)
    if not signs:
        _look_at(picture)
    _pictured(Functions.format_number, Decimal(0), picture, options)  # looks at all of the picture
    positive, two, negative = picture.partition(signs.get("pattern-separator", ";"))
    minus = "" if value >= 0 or two else signs.get("minus-sign", "-")
    picture = negative if value < 0 and two else positive
    size = abs(value)
    if signs or EXPONENT.search(picture):
        return minus + _pictured(Functions.format_number, Decimal(shown(size)), picture, options)
    whole, _, part = picture.partition(".")
    places = len(re.sub("[^0-9#]", "", part)) + 2 * ("%" in picture) + 3 * ("\u2030" in picture)
    size = half_even(size, places)
    made = _pictured(Functions.format_number, Decimal(shown(size)), picture, None)
    if "#" in whole and not re.search("[0-9]", whole):
        made = re.sub(r"(?<![0-9])0\.(?=[0-9])", ".", made)
    return minus + made


def _look_at_signs(signs: dict[str, Any]) -> None:
    """They become part of patterns of Python's, where more than a character could be anything."""
    for name in SINGLE:
        sign = signs.get(name, ".")
        if not isinstance(sign, str) or len(sign) != 1:
            raise QueryError(None, f"$formatNumber: {name} must be a single character")


def _look_at(picture: str) -> None:
    """The rules of a picture that the library does not know, or calls otherwise."""
    if not re.search("[0-9#.,;]", picture):
        raise fault("D3086")  # so AWS says; 2.0.6 crashes
    if re.search("[0-9#.,][^0-9#.,;e]+[0-9#.,]", picture):
        raise fault("D3086")
    if ",," in picture:
        raise fault("D3089")
    if any(re.search("[0-9].*#", half.partition(".")[0]) for half in picture.split(";")):
        raise fault("D3090")


def format_base(_evaluator: Any, value: float, radix: Any = None) -> Any:
    base = int(10 if radix is None else radix)
    if not MIN_BASE <= base <= MAX_BASE:
        raise fault("D3100", radix)
    return Functions.base_repr(int(half_even(value, 0)), base).lower()


def format_integer(_evaluator: Any, value: float, picture: str) -> Any:
    return _pictured(DateTimeUtils.format_integer, math.floor(value), picture)


def parse_integer(_evaluator: Any, text: str, picture: str) -> Any:
    """NaN for a text that the picture cannot read, as on AWS (measured by peers)."""
    try:
        return _pictured(DateTimeUtils.parse_integer, text, picture)
    except QueryError as error:
        if error.code is None:
            return math.nan
        raise


def to_millis(evaluator: Any, text: str, picture: Any = None) -> Any:
    if picture is not None:
        return _read(evaluator, text, picture)
    found = TIME.fullmatch(text)
    if found is None:
        raise fault("D3110", text)
    year, month, day, hour, minute, second, part, zone = found.groups()
    date = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}Z"
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return math.nan
    whole = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1000
    return whole + int((part or "0")[:3].ljust(3, "0")) - _offset_ms(zone)


def _read(evaluator: Any, text: str, picture: str) -> Any:
    """A date by its picture, which becomes a pattern of Python's, so its work is counted before.

    What stands before the first part that a picture has is taken from the time that it is; that is
    written before the text, since the library would ask its clock.
    """
    letters = {letter for letter, _ in MARKERS.findall(picture)}
    wide = sum(not _narrow(*marker) for marker in MARKERS.findall(picture))
    narrow = len(MARKERS.findall(picture)) - wide
    evaluator.budget.spend(min(math.comb(len(text), wide) << narrow, FAR) // PATTERN_STEPS)
    moment = datetime.fromtimestamp(evaluator.now_ms / 1000, UTC)
    for parts, mark, form in MOMENT:
        if not letters & READ or letters & parts:
            break
        picture, text = f"{mark}!{picture}", f"{moment.strftime(form)}!{text}"
    return _pictured(DateTimeUtils.parse_datetime, text, picture)


def _narrow(letter: str, form: str) -> bool:
    """True if it takes a limited number of digits."""
    return letter in "YMDHhms" and not re.search("[NnAaIiWw]", form)


def _offset_ms(zone: str | None) -> int:
    if zone in (None, "Z"):
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return minutes * (60_000 if zone[0] == "+" else -60_000)


def from_millis(_evaluator: Any, value: float, picture: Any = None, zone: Any = None) -> Any:
    return _pictured(DateTimeUtils.format_datetime, math.floor(value), picture, zone)


def now(evaluator: Any, picture: Any = None, zone: Any = None) -> Any:
    return from_millis(evaluator, evaluator.now_ms, picture, zone)


def _pictured(work: Any, value: Any, picture: Any, *more: Any) -> Any:
    """Calls the library with a picture; its exceptions become JSONata's errors."""
    texts = [text for text in (value, picture, *more) if isinstance(text, str)]
    if any(len(text) > MAX_PICTURE for text in texts):
        raise QueryError(None, f"A picture and its text have at most {MAX_PICTURE} characters")
    if WIDE.search(picture or ""):
        raise QueryError(None, "A width in a picture has at most three digits")
    try:
        return work(value, picture, *more)
    except KeyError as error:
        raise fault("D3132", error.args[0]) from None
    except Exception as error:  # noqa: BLE001 - the library's errors are of many kinds
        raise _named(told(error, ""), picture) from None


def _named(error: QueryError, picture: str) -> QueryError:
    """The error with its picture, if the library leaves it out."""
    names = NAMED.findall(picture)
    return fault("D3133", names[0]) if error.code == "D3133" and names else error


STRICT: Final[dict[str, Row]] = {
    "sum": ("<a<n>:n>", total),
    "max": ("<a<n>:n>", largest),
    "min": ("<a<n>:n>", smallest),
    "average": ("<a<n>:n>", average),
    "formatNumber": ("<n-so?:s>", format_number),
    "formatBase": ("<n-n?:s>", format_base),
    "formatInteger": ("<n-s:s>", format_integer),
    "parseInteger": ("<s-s:n>", parse_integer),
    "number": ("<(nsb)-:n>", number),
    "floor": ("<n-:n>", lambda _evaluator, value: exact(math.floor(value))),
    "ceil": ("<n-:n>", lambda _evaluator, value: exact(math.ceil(value))),
    "round": ("<n-n?:n>", rounded),
    "abs": ("<n-:n>", lambda _evaluator, value: abs(value)),
    "sqrt": ("<n-:n>", root),
    "power": ("<n-n:n>", power),
    "toMillis": ("<s-s?:n>", to_millis),
    "fromMillis": ("<n-s?s?:s>", from_millis),
}
LOOSE: Final[dict[str, Row]] = {
    "now": ("<s?s?:s>", now),
    "millis": ("<:n>", lambda evaluator: evaluator.now_ms),
}
