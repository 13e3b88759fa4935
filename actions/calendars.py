"""Times of day and dates, as a clock on the wall shows them: cron expressions, and calendars of ranges.

Both name walls: datetimes without a zone. `schedule_times` finds the instants at which a zone's clocks show them.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from croniter import CroniterBadDateError, CroniterError, croniter

from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..composer import JSON

SECOND = timedelta(seconds=1)
HORIZON_YEARS = 100  # a calendar that names no date in so many years names none
CRON_FIELDS = (5, 6)
MIDNIGHT = time()
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_RANGE = re.compile(r"(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:/([0-9]+))?")


class Walls(Protocol):
    """Names walls.

    Law: `after` returns the first wall after another one, a whole second; None if there is none.
    """

    @property
    def hourly(self) -> bool:
        """True if the walls name no hour: then a change of the clocks neither moves nor repeats one."""

    def after(self, wall: datetime, /) -> datetime | None: ...


# --- cron ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields, or of six with seconds first. A `Walls`."""

    text: str

    @classmethod
    def read(cls, field: str, value: JSON) -> Cron:
        """Reads an expression, or an alias such as `@daily`.

        Raises:
            InvalidError: the expression is malformed. The text names the field.
        """
        text = " ".join(value.lower().split()) if isinstance(value, str) else ""
        text = _ALIASES.get(text, text)
        what = "a cron expression of five fields, or of six with seconds first"
        if len(text.split()) not in CRON_FIELDS:
            raise InvalidError(unfit(field, value, what))
        if flaw := cron_flaw(text):
            raise InvalidError(unfit(field, value, f"{what} ({flaw})"))
        return cls(text)

    @property
    def hourly(self) -> bool:
        return "*" in self.text.split()[-4]

    def after(self, wall: datetime) -> datetime | None:
        times = _iterator(self.text)
        try:
            found: datetime = times.get_next(datetime, start_time=wall)
        except CroniterBadDateError:
            return None
        return found


def cron_flaw(text: str) -> str:
    """What is wrong with a cron expression; "" if nothing is."""
    if any(part.startswith("r") for part in re.split("[ ,]", text.lower())):
        return "'r' is a random value: give numbers"
    try:
        _iterator(text)
    except (CroniterError, ValueError, KeyError) as error:
        return str(error)
    return ""


@lru_cache(maxsize=1000)
def _iterator(text: str) -> croniter:
    return croniter(text, datetime(2000, 1, 1), second_at_beginning=True)  # noqa: DTZ001  a wall


# --- calendars -----------------------------------------------------------------------------------

_LIMITS = {
    "year": (1970, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_CLOCK = ("hour", "minute", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Ranges of each part of a date and of a time of day: all of them must fit. A `Walls`.

    A part is a sorted tuple of its values; `years` is None for any year. Weekdays count from Sunday, 0.
    """

    years: tuple[int, ...] | None
    months: tuple[int, ...]
    days: tuple[int, ...]
    weekdays: tuple[int, ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]

    @classmethod
    def read(cls, field: str, value: JSON, *, whole: bool = False) -> Calendar:
        """Reads a calendar. A part of the date that is missing may be any.

        A missing hour, minute or second is 0; with `whole`, for a calendar of what is skipped, it may be any.

        Raises:
            InvalidError: the calendar is malformed. The text names the field.
        """
        known = (*_LIMITS, "comment")
        if not isinstance(value, dict):
            raise InvalidError(unfit(field, value, f"an object with some of {', '.join(known)}"))
        if unknown := value.keys() - set(known):
            raise InvalidError(
                f"the field '{field}.{min(unknown)}' does not exist: {', '.join(known)} do"
            )
        parts: dict[str, Any] = {}
        for part in _LIMITS:
            given: Any = value.get(part)
            if given is None:
                given = 0 if part in _CLOCK and not whole else "*"
            parts[f"{part}s"] = _values(f"{field}.{part}", part, given)
        if value.get("year") in (None, "*"):
            parts["years"] = None
        return cls(**parts)

    @property
    def hourly(self) -> bool:
        return len(self.hours) == 24  # noqa: PLR2004  of a day

    def after(self, wall: datetime) -> datetime | None:
        at = wall.replace(microsecond=0) + SECOND
        if self._dated(at.date()) and (clock := self._clock(at.time())) is not None:
            return datetime.combine(at.date(), clock)
        found = self._date(at.date() + timedelta(days=1))
        if found is None:
            return None
        return datetime.combine(found, time(self.hours[0], self.minutes[0], self.seconds[0]))

    def past(self, wall: datetime) -> datetime | None:
        """The end of the time that this calendar holds around a wall; None if it does not hold the wall."""
        at = wall.time()
        if not (
            self._dated(wall.date())
            and at.hour in self.hours
            and at.minute in self.minutes
            and at.second in self.seconds
        ):
            return None
        day = datetime.combine(wall.date(), MIDNIGHT)
        sizes = [len(part) for part in (self.hours, self.minutes, self.seconds)]
        if sizes == [24, 60, 60]:
            return day + timedelta(days=1)
        if sizes[1:] == [60, 60]:
            return day + timedelta(hours=at.hour + 1)
        if sizes[2] == 60:  # noqa: PLR2004  seconds of a minute
            return day + timedelta(hours=at.hour, minutes=at.minute + 1)
        return wall.replace(microsecond=0) + SECOND

    def _dated(self, day: date) -> bool:
        return (
            (self.years is None or day.year in self.years)
            and day.month in self.months
            and day.day in self.days
            and day.isoweekday() % 7 in self.weekdays
        )

    def _date(self, day: date) -> date | None:
        """The first date that fits, from a day on."""
        last = min(day.year + HORIZON_YEARS, 9998)
        while day.year <= last:
            if day.month not in self.months or (
                self.years is not None and day.year not in self.years
            ):
                day = day.replace(day=monthrange(day.year, day.month)[1])
            elif self._dated(day):
                return day
            day += timedelta(days=1)
        return None

    def _clock(self, at: time) -> time | None:
        """The first time of day that fits, from one on."""
        for hour in self.hours:
            if hour > at.hour:
                return time(hour, self.minutes[0], self.seconds[0])
            for minute in self.minutes if hour == at.hour else ():
                if minute > at.minute:
                    return time(hour, minute, self.seconds[0])
                for second in self.seconds if minute == at.minute else ():
                    if second >= at.second:
                        return time(hour, minute, second)
        return None


def _values(field: str, part: str, given: JSON) -> tuple[int, ...]:
    """The values of a part: a number, a text such as `mon-fri`, `*/15` or `1,15`, or a list of those."""
    items = given if isinstance(given, list) and given else [given]
    found: set[int] = set()
    for item in items:
        if isinstance(item, int) and not isinstance(item, bool):
            found |= set(_range(field, part, given, str(item)))
        elif isinstance(item, str):
            for text in item.split(","):
                found |= set(_range(field, part, given, text.strip().lower()))
        else:
            raise _unfit_part(field, part, given)
    return tuple(sorted(found))


def _range(field: str, part: str, given: JSON, text: str) -> Iterator[int]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise _unfit_part(field, part, given)
    first, last, step = match.groups()
    low, high = _LIMITS[part]
    if first != "*":
        low = _number(part, first)
        if last is not None:
            high = _number(part, last)
        elif step is None:
            high = low
    least, most = _LIMITS[part]
    highest = most + (part == "weekday")  # 7 is Sunday, too
    wraps = part == "weekday" and high < low  # such as sat-mon
    fits = least <= min(low, high) <= max(low, high) <= highest and (low <= high or wraps)
    if not fits or (first == "*" and last) or step == "0":
        raise _unfit_part(field, part, given)
    for value in range(low, high + 1 + 7 * wraps, int(step or 1)):
        yield value % 7 if part == "weekday" else value


def _number(part: str, text: str) -> int:
    """The number that a text says, perhaps as a name; -1 if it says none."""
    if part == "month" and text in _MONTHS:
        return _MONTHS.index(text) + 1
    if part == "weekday" and text in _WEEKDAYS:
        return _WEEKDAYS.index(text)
    return int(text) if text.isdecimal() and len(text) <= 4 else -1  # noqa: PLR2004  digits of a year


def _unfit_part(field: str, part: str, given: JSON) -> InvalidError:
    least, most = _LIMITS[part]
    what = f"numbers from {least} to {most}, such as {least}, '{least}-{least + 2}' or '*/2'"
    return InvalidError(unfit(field, given, what))


def unfit(field: str, value: JSON, what: str) -> str:
    """The text about a field that has a wrong value."""
    return f"the field '{field}' must be {what}, not {value!r:.100}"
