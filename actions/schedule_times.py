"""The times of a schedule: from its document to the instants at which it is due.

Instants are milliseconds since the epoch, and whole seconds. When the clocks of a zone go forward, a time of day
that they skip is met right after the gap, or left out; when they go back, a time of day that comes twice is met
the first time, or both times. Times that name no hour are met whenever the clocks show them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .calendars import SECOND, Calendar, Cron, unfit
from .errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..composer import JSON
    from .calendars import Walls

AFTER, SKIP_GAP = "after", "skip"
FIRST, BOTH = "first", "both"
WEEK_S = 7 * 24 * 3600  # the clocks of no zone change twice in it
MOST = 2_000  # steps of one search: a search that needs more finds no time
SHOWN = 5_000  # of the work for times that are shown
YEAR_S = 365 * 24 * 3600
HORIZON_S = 200 * YEAR_S  # between an instant and the next one
LAST_S = 253_402_214_400  # 9999-12-31
LAST_START_MS = 221_845_392_000_000  # 9000-01-01
NEVER = 1 << 62
SPECS = 20  # parts of a spec of one kind
LONGEST_MS = 100 * 366 * 24 * 3600 * 1000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(?:\d{1,12}(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+)(ms|s|m|h|d)")


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds, counted from the epoch."""

    every_s: int
    offset_s: int = 0

    def after(self, after_s: int) -> int:
        """The first time after a second since the epoch."""
        turns = (after_s - self.offset_s) // self.every_s + 1
        return turns * self.every_s + self.offset_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """The times of a schedule: those of all its parts, without those that it skips.

    Args:
        walls: cron expressions and calendars, by the zone's clocks.
        intervals: from the epoch.
        skip: calendars of times that are left out.
        start_ms: the first instant that may be met.
        end_ms: the last instant that may be met.
        zone: IANA's name.
        jitter_ms: a time is met so much later at most, and before the next one.
        gap: `after` or `skip`: the times of day that the clocks skip.
        repeat: `first` or `both`: the times of day that come twice.
    """

    walls: tuple[Walls, ...] = ()
    intervals: tuple[Interval, ...] = ()
    skip: tuple[Calendar, ...] = ()
    start_ms: int | None = None
    end_ms: int | None = None
    zone: str = "UTC"
    jitter_ms: int = 0
    gap: str = AFTER
    repeat: str = FIRST

    def after(self, after_ms: int) -> int | None:
        """The first instant after another one; None if there is none, or if the search for it takes too many steps."""
        return next(self.upcoming(after_ms), None)

    def upcoming(
        self, after_ms: int, upto_ms: int | None = None, work: Work | None = None
    ) -> Iterator[int]:
        """The instants after one, in order, up to another one if it is given."""
        search = _Search(self, work or Work())
        at_ms = search.after(after_ms)
        while at_ms is not None and (upto_ms is None or at_ms <= upto_ms):
            yield at_ms
            at_ms = search.after(at_ms)

    def latest(self, count: int, since_ms: int, upto_ms: int) -> list[int]:
        """The last instants, so many at most, from one to another, both included."""
        span_ms = 60_000
        while True:
            from_ms = max(since_ms, upto_ms - span_ms)
            found = [*self.upcoming(from_ms - 1, upto_ms)]
            if len(found) >= count or from_ms == since_ms:
                return found[-count:]
            span_ms *= 2

    def due_ms(self, key: str, at_ms: int) -> int:
        """The time at which an instant of the schedule with this key is met: always the same."""
        return self._drawn(key, at_ms, self.after(at_ms)) if self.jitter_ms else at_ms

    def dues_ms(self, key: str, after_ms: int, count: int) -> list[int]:
        """The times at which the instants after one are met: so many at most, fewer if they are hard to find."""
        work, found = Work(), list[int]()
        instants = chain(self.upcoming(after_ms, work=work), (None,))
        for at_ms, next_ms in pairwise(instants):
            if at_ms is None or len(found) == count or (found and work.done > SHOWN):
                break
            found.append(self._drawn(key, at_ms, next_ms))
        return found

    def _drawn(self, key: str, at_ms: int, next_ms: int | None) -> int:
        """The time at which an instant is met, before the next one."""
        room_ms = self.jitter_ms if next_ms is None else min(self.jitter_ms, next_ms - at_ms - 1)
        drawn = blake2b(f"{key} {at_ms}".encode(), digest_size=8).digest()
        return at_ms + int.from_bytes(drawn) % (room_ms + 1)


class Work:
    """Counts what a search for instants costs: looks at the parts of a spec, and the years that they look ahead."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = 0


class _Search:
    """A search for instants, one after the other. It looks at a part of the spec when its time is over.

    A search that skips too much finds nothing: it must not hold up a server.
    """

    def __init__(self, spec: ScheduleSpec, work: Work) -> None:
        self._spec, self._work = spec, work
        self._clocks = _clocks(spec.zone)
        parts: tuple[Walls | Interval, ...] = (*spec.walls, *spec.intervals)
        self._parts = dict(enumerate(parts))
        self._found = dict.fromkeys(self._parts, -NEVER)

    def after(self, after_ms: int) -> int | None:
        """The first instant after another one, which is not before that of the last search."""
        if self._spec.start_ms is not None:
            after_ms = max(after_ms, self._spec.start_ms - 1)
        try:
            at_s = self._after(after_ms // 1000)
        except (OverflowError, ValueError):  # no clock shows years after 9999
            return None
        return None if at_s is None else at_s * 1000

    def _after(self, after_s: int) -> int | None:
        last_s = min(after_s + HORIZON_S, LAST_S)
        if self._spec.end_ms is not None:
            last_s = min(last_s, self._spec.end_ms // 1000)
        at_s = self._first(after_s)  # at its first look at each part it must not give up
        most = self._work.done + MOST
        while at_s <= last_s:
            past_s = self._skipped(at_s)
            if past_s is None:
                return at_s
            if self._work.done > most:
                return None
            at_s = self._first(past_s - 1)
        return None

    def _first(self, after_s: int) -> int:
        """The first second after another one that a part names."""
        for n, known_s in self._found.items():
            if known_s <= after_s:
                self._found[n] = self._look(self._parts[n], after_s)
        return min(self._found.values())

    def _look(self, part: Walls | Interval, after_s: int) -> int:
        if isinstance(part, Interval):
            at_s: int | None = part.after(after_s)
        else:
            spec = self._spec
            at_s = self._clocks.met(part, after_s, gap=spec.gap, repeat=spec.repeat)
        found_s = NEVER if at_s is None else at_s
        self._work.done += 1 + min(found_s - after_s, HORIZON_S) // YEAR_S
        return found_s

    def _skipped(self, at_s: int) -> int | None:
        """The second at which what is skipped around this one may end; None if this one is not skipped."""
        self._work.done += 1
        for calendar in self._spec.skip:
            past = calendar.past(self._clocks.wall(at_s))
            if past is not None:
                return max(at_s + 1, self._clocks.first(past, at_s))
        return None


class _Clocks:
    """The clocks of a zone: what they show at a second since the epoch, and when they change."""

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._offset = _no_offset if zone == "UTC" else self._looked_up

    def wall(self, at_s: int) -> datetime:
        """The wall that the clocks show."""
        return _EPOCH + timedelta(seconds=at_s + self._offset(at_s))

    def first(self, wall: datetime, after_s: int) -> int:
        """A second at which the clocks show a wall or have just passed it, not long after another second."""
        offset = self._offset(after_s)
        found_s = _seconds(wall) - offset
        change = self._change(after_s, found_s, offset)
        return found_s if change is None else change

    def met(self, walls: Walls, after_s: int, *, gap: str, repeat: str) -> int | None:
        """The first second after another at which a wall is met; None if there is none."""
        start_s, offset = after_s, self._offset(after_s)
        once = repeat == FIRST and not walls.hourly
        wall = walls.after(_EPOCH + timedelta(seconds=after_s + offset))
        while wall is not None:
            found_s = _seconds(wall) - offset
            change_s = self._change(start_s, found_s, offset)
            if change_s is None:
                if not (once and self._again(found_s)):
                    return found_s
                wall = walls.after(self._once(found_s) - SECOND)
                continue
            later = self._offset(change_s)
            shown = _EPOCH + timedelta(seconds=change_s + later)
            if wall < shown and gap == AFTER and not walls.hourly:  # it is in the gap
                return change_s
            start_s, offset = change_s, later
            wall = walls.after(shown - SECOND)
        return None

    def _looked_up(self, at_s: int) -> int:
        offset = datetime.fromtimestamp(at_s, self._zone).utcoffset()
        return 0 if offset is None else offset // SECOND

    def _again(self, at_s: int) -> bool:
        """True if the clocks show this time of day for the second time."""
        return bool(datetime.fromtimestamp(at_s, self._zone).fold)

    def _once(self, at_s: int) -> datetime:
        """The wall from which on the clocks, which show a time of day again, show none again."""
        before = datetime.fromtimestamp(at_s, self._zone).replace(fold=0).utcoffset()
        offset = 0 if before is None else before // SECOND
        change_s = self._change(at_s - (offset - self._offset(at_s)), at_s, offset)
        return _EPOCH + timedelta(seconds=(change_s or at_s) + offset)

    def _change(self, low_s: int, upto_s: int, offset: int) -> int | None:
        """The first second after one, up to another, at which the clocks have another offset."""
        while low_s < upto_s:
            high_s = min(low_s + WEEK_S, upto_s)
            if self._offset(high_s) != offset:
                while high_s - low_s > 1:
                    middle_s = (low_s + high_s) // 2
                    if self._offset(middle_s) == offset:
                        low_s = middle_s
                    else:
                        high_s = middle_s
                return high_s
            low_s = high_s
        return None


def _no_offset(_: int) -> int:
    return 0


@lru_cache(maxsize=1000)
def _clocks(zone: str) -> _Clocks:
    return _Clocks(zone)


def _seconds(wall: datetime) -> int:
    return (wall - _EPOCH) // SECOND


# --- reading -------------------------------------------------------------------------------------


def spec_of(doc: JSON) -> ScheduleSpec:
    """Reads the times of a schedule.

    Raises:
        InvalidError: a field is malformed. The text names the field and what it may be.
    """
    if not isinstance(doc, dict):
        raise InvalidError(unfit("spec", doc, "an object, such as {'cron': '0 9 * * *'}"))
    if unknown := doc.keys() - set(_READ):
        raise InvalidError(f"the field 'spec.{min(unknown)}' does not exist: {', '.join(_READ)} do")
    taken: dict[str, Any] = {"walls": (), "intervals": ()}
    for field, value in doc.items():
        if value is not None:
            for name, read in _READ[field](f"spec.{field}", value).items():
                taken[name] = taken.get(name, ()) + read if isinstance(read, tuple) else read
    spec = ScheduleSpec(**taken)
    if not spec.walls and not spec.intervals:
        raise InvalidError("the field 'spec' names no time: give cron, calendars or intervals")
    if spec.start_ms is not None and spec.start_ms >= LAST_START_MS:
        raise InvalidError("the field 'spec.start' must be before the year 9000")
    if spec.start_ms is not None and spec.end_ms is not None and spec.end_ms < spec.start_ms:
        raise InvalidError("the field 'spec.end' must not be before 'spec.start'")
    return spec


def duration_ms(field: str, value: JSON, least_ms: int = 0) -> int:
    """A duration: a number of seconds, or a text with units such as `90s` or `1h30m`.

    Raises:
        InvalidError: it is malformed, or too short. The text names the field.
    """
    found: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LONGEST_MS:
        found = value * 1000
    elif isinstance(value, str) and _DURATION.fullmatch(value):
        found = sum(int(count) * _UNITS_MS[unit] for count, unit in _PART.findall(value))
    if found is None or not least_ms <= found <= LONGEST_MS:
        least = f" of at least {least_ms / 1000:g} s" if least_ms else ""
        what = f"a duration{least}: a number of seconds, or a text such as 90s, 5m, 2h or 1d"
        raise InvalidError(unfit(field, value, what))
    return round(found)


def instant_ms(field: str, value: JSON) -> int:
    """An instant: milliseconds since the epoch, or ISO 8601, which means UTC without a zone.

    Raises:
        InvalidError: it is malformed. The text names the field.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LONGEST_MS * 20:
        return value
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else "")
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        what = "an instant: ISO 8601, or milliseconds since the epoch"
        raise InvalidError(unfit(field, value, what)) from None


def zone_of(field: str, value: JSON) -> str:
    """The name of a time zone.

    Raises:
        InvalidError: there is no such zone. The text names the field.
    """
    try:
        ZoneInfo(value)  # type: ignore[arg-type]
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise InvalidError(unfit(field, value, "a time zone, such as Europe/Berlin")) from None
    return str(value)


def _listed(field: str, value: JSON) -> list[tuple[str, JSON]]:
    """The items of a list, each with its field; one item may stand for itself."""
    if not isinstance(value, list):
        return [(field, value)]
    if len(value) > SPECS:
        raise InvalidError(f"the field '{field}' must have {SPECS} items at most")
    return [(f"{field}[{at}]", item) for at, item in enumerate(value)]


def _crons(field: str, value: JSON) -> dict[str, Any]:
    walls: list[Cron] = []
    intervals: list[Interval] = []
    for place, item in _listed(field, value):
        if isinstance(item, str) and item.strip().lower().startswith("@every"):
            every = duration_ms(place, item.strip()[len("@every") :].strip(), 1000)
            intervals.append(Interval(_whole(place, every)))
        else:
            walls.append(Cron.read(place, item))
    return {"walls": tuple(walls), "intervals": tuple(intervals)}


def _calendars(field: str, value: JSON) -> dict[str, Any]:
    return {"walls": tuple(Calendar.read(*item) for item in _listed(field, value))}


def _skips(field: str, value: JSON) -> dict[str, Any]:
    return {"skip": tuple(Calendar.read(*item, whole=True) for item in _listed(field, value))}


def _intervals(field: str, value: JSON) -> dict[str, Any]:
    found = []
    for place, item in _listed(field, value):
        doc = item if isinstance(item, dict) else {"every": item}
        if unknown := doc.keys() - {"every", "offset"}:
            raise InvalidError(
                f"the field '{place}.{min(unknown)}' does not exist: every, offset do"
            )
        every = duration_ms(f"{place}.every", doc.get("every"), 1000)
        offset = duration_ms(f"{place}.offset", doc.get("offset", 0))
        found.append(Interval(_whole(f"{place}.every", every), _whole(f"{place}.offset", offset)))
    return {"intervals": tuple(found)}


def _whole(field: str, ms: int) -> int:
    if ms % 1000:
        raise InvalidError(f"the field '{field}' must be whole seconds, not {ms} ms")
    return ms // 1000


def _choice(name: str, *choices: str) -> Callable[[str, JSON], dict[str, Any]]:
    def read(field: str, value: JSON) -> dict[str, Any]:
        if value not in choices:
            raise InvalidError(unfit(field, value, " or ".join(choices)))
        return {name: value}

    return read


_READ: dict[str, Callable[[str, JSON], dict[str, Any]]] = {
    "cron": _crons,
    "calendars": _calendars,
    "intervals": _intervals,
    "skip": _skips,
    "start": lambda field, value: {"start_ms": instant_ms(field, value)},
    "end": lambda field, value: {"end_ms": instant_ms(field, value)},
    "zone": lambda field, value: {"zone": zone_of(field, value)},
    "jitter": lambda field, value: {"jitter_ms": duration_ms(field, value)},
    "gap": _choice("gap", AFTER, SKIP_GAP),
    "repeat": _choice("repeat", FIRST, BOTH),
}
