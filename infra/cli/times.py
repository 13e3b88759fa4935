"""Durations and instants as users write them: `90s`, `2h`, `2026-11-22T21:00`."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from ..clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    Type = click.ParamType[int, object]
else:
    Type = click.ParamType  # generic only from click 8.5 on

UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
NAMES = {"ms": "milliseconds", "s": "seconds"}
EXAMPLES = "500ms, 90s, 30m, 2h or 1d"
_PART = r"(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)"
_PARTS = re.compile(_PART)
_DURATION = re.compile(rf"(?:{_PART})+")
_DIGITS = re.compile(r"\d{1,18}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def duration_ms(text: str) -> Decimal | None:
    """Milliseconds of a duration with units, such as `90s` or `1h30m`; None for any other text."""
    if not _DURATION.fullmatch(text):
        return None
    return sum((Decimal(count) * UNITS_MS[unit] for count, unit in _PARTS.findall(text)), Decimal())


class Duration(Type):
    """A duration: a number with a unit, or a plain number of `unit`. Its value is a number of `unit`.

    Args:
        unit: "ms" or "s", the unit of the value and of a plain number.
        least: the smallest value; None if the server checks it.
    """

    name = "duration"

    def __init__(self, unit: str, least: int | None = None) -> None:
        self._unit, self._least = unit, least

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Reads a duration.

        Raises:
            click.BadParameter: the text is not a duration, or not a whole number of `unit`.
        """
        text = str(value).strip()
        unit = NAMES[self._unit]
        whole = int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
        if whole is None:
            found = duration_ms(text)
            if found is None:
                self.fail(
                    f"{text!r} is not a duration: give a number of {unit}, or a number with a unit, "
                    f"such as {EXAMPLES}",
                    param,
                    ctx,
                )
            counted = found / UNITS_MS[self._unit]
            whole = int(counted)
            if whole != counted:
                self.fail(f"{text!r} is not a whole number of {unit}: round it", param, ctx)
        if self._least is not None and whole < self._least:
            self.fail(f"{text!r} is too short: give at least {self._least}{self._unit}", param, ctx)
        return whole


class Instant(Type):
    """An instant: ISO 8601 (local time unless it names a zone), a plain number, or a time ago.

    The value is a number of milliseconds since the epoch. A plain number is one, too. A duration such as
    `2h` is that long before now; an instant before the epoch is the epoch.

    Args:
        now_ms: returns the present, in milliseconds since the epoch.
    """

    name = "time"

    def __init__(self, now_ms: Callable[[], int] = SystemClock.now_ms) -> None:
        self._now_ms = now_ms

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Reads an instant.

        Raises:
            click.BadParameter: the text is not an instant.
        """
        text = str(value).strip()
        if _DIGITS.fullmatch(text):
            return int(text)
        ago = duration_ms(text)
        if ago is not None:
            return max(0, self._now_ms() - int(ago))
        instant = _instant(text)
        if instant is None:
            self.fail(
                f"{text!r} is not a time: give a time ago such as 2h or 30m, a date and time such as "
                "2026-11-22T21:00, or milliseconds since the epoch",
                param,
                ctx,
            )
        return max(0, round(instant.timestamp() * 1000))


def zoned(text: str) -> str:
    """Adds this machine's time zone to a date and time without one; any other text stays as it is."""
    instant = _instant(text)
    return text if instant is None else instant.isoformat()


def _instant(text: str) -> datetime | None:
    """The instant of a date and time in ISO 8601; None for any other text."""
    if not _DATE.match(text):  # Python also reads long numbers as dates
        return None
    try:
        instant = datetime.fromisoformat(text)
        return instant if instant.tzinfo else instant.astimezone()
    except (ValueError, OverflowError, OSError):
        return None
