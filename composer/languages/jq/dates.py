"""Dates: seconds since 1970, and jq's broken down time, an array from the year to the day of the year.

The time zone is always UTC. Source: the C functions gmtime, timegm, strftime and strptime, in the
locale C.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from .errors import EvaluationError
from .numbers import Number, is_number, reckoned

if TYPE_CHECKING:
    from .budget import Budget

DAY, HOUR, MINUTE = 86_400, 3_600, 60
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
MAX_SECONDS = 10**15
FIELD, TEXTS = 2, 16  # steps in the time of which a field is read, and all texts are made
MARCH, BROKEN = 2, 6  # a year of the calculation begins in March


def days_since_1970(year: int, month: int, day: int) -> int:
    """Days to a date of the Gregorian calendar; a month (from 0) may be out of its range."""
    year += month // 12
    month %= 12
    year -= month < MARCH
    era_year = year % 400
    shifted = (month + 10) % 12
    of_year = (153 * shifted + 2) // 5 + day - 1
    return (
        (year // 400) * 146_097
        + era_year * 365
        + era_year // 4
        - era_year // 100
        + of_year
        - 719_468
    )


def date_of(days: int) -> tuple[int, int, int]:
    """The year, the month (from 0) and the day of so many days since 1970."""
    era, left = divmod(days + 719_468, 146_097)
    era_year = (left - left // 1_460 + left // 36_524 - left // 146_096) // 365
    of_year = left - (365 * era_year + era_year // 4 - era_year // 100)
    shifted = (5 * of_year + 2) // 153
    month = (shifted + 2) % 12
    return era * 400 + era_year + (month < MARCH), month, of_year - (153 * shifted + 2) // 5 + 1


def gmtime(budget: Budget, value: Any, name: str = "gmtime") -> list[Number]:
    budget.spend(FIELD)
    if not is_number(value):
        raise EvaluationError(f"{name}() requires numeric inputs")
    if not abs(value) < MAX_SECONDS:
        raise EvaluationError("error converting number of seconds since epoch to datetime")
    seconds = math.floor(value)
    days, left = divmod(seconds, DAY)
    year, month, day = date_of(days)
    parts = [year, month, day, left // HOUR, left % HOUR // MINUTE]
    last = reckoned(left % MINUTE + (value - seconds))
    return [*parts, last, (days + 4) % 7, days - days_since_1970(year, 0, 1)]


def _broken(budget: Budget, value: Any, why: str) -> list[int]:
    if isinstance(value, list):
        budget.looped(len(value) * 2)
    if not isinstance(value, list) or not all(map(is_number, value)):
        raise EvaluationError(why)
    if not all(abs(part) < MAX_SECONDS for part in value):
        raise EvaluationError(why)
    parts = [math.floor(part) for part in value[:BROKEN]]
    return parts + [0, 0, 1, 0, 0, 0][len(parts) :]


def seconds_of(parts: list[int]) -> int:
    year, month, day, hour, minute, second = parts[:BROKEN]
    return days_since_1970(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second


def mktime(budget: Budget, value: Any) -> int:
    if not isinstance(value, list):
        raise EvaluationError("mktime requires array inputs")
    return seconds_of(_broken(budget, value, "mktime requires parsed datetime inputs"))


def strftime(
    budget: Budget, value: Any, form: Any, name: str = "strftime", zone: str = "GMT"
) -> str:
    why = f"{name}/1 requires parsed datetime inputs"
    if is_number(value):
        value = gmtime(budget, value)
    parts = _broken(budget, value, why)
    if not isinstance(form, str):
        raise EvaluationError(f"{name}/1 requires a string format")
    budget.looped(len(form) * 8)
    budget.spend(TEXTS)
    texts = _texts(seconds_of(parts), parts, zone)
    return re.sub(
        r"%[-_0^#EO]*(.)", lambda found: texts.get(found[1], found[0]), form, flags=re.DOTALL
    )


def _texts(seconds: int, parts: list[int], zone: str) -> dict[str, str]:
    """The texts that the signs of a format stand for."""
    year, month, day, hour, minute, second = parts
    days = seconds // DAY
    weekday, of_year = (days + 4) % 7, days - days_since_1970(year, 0, 1)
    iso_year, iso_week = _iso(days)
    twelve, half = (hour + 11) % 12 + 1, "PM" if hour % 24 >= 12 else "AM"  # noqa: PLR2004 - noon
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    date = f"{month + 1:02d}/{day:02d}/{year % 100:02d}"
    name, short = DAYS[weekday], DAYS[weekday][:3]
    month_name = MONTHS[month % 12]
    return {
        "a": short, "A": name, "b": month_name[:3], "B": month_name, "h": month_name[:3],
        "c": f"{short} {month_name[:3]} {day:2d} {clock} {year}", "C": f"{year // 100:02d}",
        "d": f"{day:02d}", "D": date, "e": f"{day:2d}", "F": f"{year}-{month + 1:02d}-{day:02d}",
        "g": f"{iso_year % 100:02d}", "G": str(iso_year), "H": f"{hour:02d}", "I": f"{twelve:02d}",
        "j": f"{of_year + 1:03d}", "k": f"{hour:2d}", "l": f"{twelve:2d}", "m": f"{month + 1:02d}",
        "M": f"{minute:02d}", "n": "\n", "p": half, "P": half.lower(),
        "r": f"{twelve:02d}:{minute:02d}:{second:02d} {half}", "R": f"{hour:02d}:{minute:02d}",
        "s": str(seconds), "S": f"{second:02d}", "t": "\t", "T": clock, "u": str(weekday or 7),
        "U": f"{(of_year + 7 - weekday) // 7:02d}", "V": f"{iso_week:02d}", "w": str(weekday),
        "W": f"{(of_year + 7 - (weekday - 1) % 7) // 7:02d}", "x": date, "X": clock,
        "y": f"{year % 100:02d}", "Y": str(year), "z": "+0000", "Z": zone, "%": "%",
    }  # fmt: skip


def _iso(days: int) -> tuple[int, int]:
    """The year and the week of ISO 8601: a week belongs to the year of its Thursday."""
    thursday = days - (days + 3) % 7 + 3
    year = date_of(thursday)[0]
    return year, (thursday - days_since_1970(year, 0, 1)) // 7 + 1


# --- reading -------------------------------------------------------------------------------------

_NUMBERS: Final = {
    "d": r" *\d{1,2}", "e": r" *\d{1,2}", "H": r" *\d{1,2}", "k": r" *\d{1,2}", "I": r" *\d{1,2}",
    "l": r" *\d{1,2}", "j": r"\d{1,3}", "m": r"\d{1,2}", "M": r"\d{1,2}", "S": r"\d{1,2}",
    "y": r"\d{1,2}", "Y": r"-?\d{1,4}", "s": r"-?\d{1,15}", "u": r"[1-7]", "w": r"[0-6]",
    "C": r"\d{1,2}", "U": r"\d{1,2}", "W": r"\d{1,2}", "V": r"\d{1,2}", "G": r"\d{4}", "g": r"\d{2}",
}  # fmt: skip
_WORDS: Final = {
    "a": DAYS, "A": DAYS, "b": MONTHS, "B": MONTHS, "h": MONTHS, "p": ("AM", "PM"), "P": ("AM", "PM"),
}  # fmt: skip
_LONG: Final = {
    "T": "%H:%M:%S", "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "r": "%I:%M:%S %p",
    "c": "%a %b %e %H:%M:%S %Y", "x": "%m/%d/%y", "X": "%H:%M:%S",
}  # fmt: skip
_ZONE: Final = re.compile(r"Z|[+-]\d{2}:?(?:\d{2})?")
_LETTERS: Final = re.compile(r"[A-Za-z]*")


def strptime(budget: Budget, text: Any, form: Any) -> list[Number]:
    if not isinstance(text, str) or not isinstance(form, str):
        raise EvaluationError("strptime/1 requires string inputs and arguments")
    budget.looped(len(text) + len(form) * 4)
    whole = re.sub("%([TDFRrcxX])", lambda found: _LONG[found[1]], form)
    read: dict[str, int] = {}
    budget.spend(len(whole) * FIELD // 2)
    at = _read(text, whole, read)
    if at != len(text):
        raise EvaluationError(f'date "{text}" does not match format "{form}"')
    return _date(budget, read)


def _read(text: str, form: str, read: dict[str, int]) -> int:
    """The position after what the format reads; -1 where it does not fit."""
    at = place = 0
    while place < len(form) and at >= 0:
        sign = form[place]
        place += 1
        if sign.isspace():
            at = _blank(text, at)
        elif sign == "%" and place < len(form):
            at = _field(text, at, form[place], read)
            place += 1
        else:
            at = at + 1 if text[at : at + 1] == sign else -1
    return at


def _blank(text: str, at: int) -> int:
    """The position after blanks."""
    while text[at : at + 1].isspace():
        at += 1
    return at


def _field(text: str, at: int, sign: str, read: dict[str, int]) -> int:
    if sign in "nt":
        return _blank(text, at)
    if sign == "%":
        return at + 1 if text[at : at + 1] == "%" else -1
    if sign in _WORDS:
        for number, word in enumerate(_WORDS[sign]):
            for name in (word, word[:3]):
                if text[at : at + len(name)].lower() == name.lower():
                    read[sign] = number
                    return at + len(name)
        return -1
    pattern: Any = {"z": _ZONE, "Z": _LETTERS}.get(sign) or re.compile(_NUMBERS.get(sign, "(?!)"))
    found = pattern.match(text, at)
    if found is None:
        return -1
    if sign in _NUMBERS:
        read[sign] = int(found[0])
    return int(found.end())


def _date(budget: Budget, read: dict[str, int]) -> list[Number]:
    if "s" in read:
        return gmtime(budget, read["s"])
    year = read.get("Y", 1900)
    if "y" in read and "Y" not in read:
        century = read.get("C", 19 if read["y"] >= 69 else 20)  # noqa: PLR2004 - POSIX' pivot
        year = century * 100 + read["y"]
    month = next((read[sign] for sign in "bBh" if sign in read), read.get("m", 1) - 1)
    named = any(sign in read for sign in "bBhm")
    day = next((read[sign] for sign in "de" if sign in read), 1 if named else 0)
    hour = next((read[sign] for sign in "Hk" if sign in read), 0)
    for sign in "Il":
        if sign in read:
            late = next((read[half] for half in "pP" if half in read), 0)
            hour = read[sign] % 12 + 12 * late
    days = days_since_1970(year, month, day)
    of_year = days - days_since_1970(year, 0, 1)
    if "j" in read and not named:
        of_year = read["j"] - 1
        _, month, day = date_of(days_since_1970(year, 0, 1) + of_year)
        days = days_since_1970(year, month, day)
    return [
        year, month, day, hour, read.get("M", 0), read.get("S", 0), (days + 4) % 7, of_year,
    ]  # fmt: skip


FUNCTIONS: Final[dict[tuple[str, int], Any]] = {
    ("gmtime", 0): gmtime, ("mktime", 0): mktime, ("strftime", 1): strftime, ("strptime", 1): strptime,
    ("localtime", 0): lambda budget, value: gmtime(budget, value, "localtime"),
    ("strflocaltime", 1): lambda budget, value, form: strftime(
        budget, value, form, "strflocaltime", "UTC"
    ),
}  # fmt: skip
