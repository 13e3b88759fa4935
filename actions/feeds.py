"""Alarms: the schedules by which triggers fire. Parameters are OpenWhisk's.

Instants are milliseconds since the epoch. If a change of the clocks repeats a time of day, the trigger fires
once; if the change skips the time, the trigger fires late: see `schedule_times`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .calendars import CRON_FIELDS, Cron, cron_flaw
from .errors import InvalidError
from .schedule_times import ScheduleSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..composer import JSON
    from .documents import Stored

Parameters: TypeAlias = dict[str, Any]  # of a feed, each as its reader in `_READ` returned it

ALARM, INTERVAL, ONCE = "alarm", "interval", "once"
MINUTE_MS = 60_000
CAUGHT_UP = 100  # missed occurrences that are made up for; older ones are skipped

TAKEN = {  # parameters of each feed
    ALARM: (
        "cron",
        "timezone",
        "trigger_payload",
        "maxTriggers",
        "startDate",
        "stopDate",
        "strict",
    ),
    INTERVAL: ("minutes", "trigger_payload", "maxTriggers", "startDate", "stopDate"),
    ONCE: ("date", "trigger_payload", "deleteAfterFire"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule by which a trigger fires.

    Args:
        feed: `alarm`, `interval` or `once`.
        params: of the feed, as `scheduled` has read them.
        due_ms: the next time; None if the schedule has ended.
        left: the number of times that the trigger may still fire; None for any number.
        paused: True if its times pass without effect.
        changed_ms: the time at which it was made or changed.
    """

    feed: str
    params: Parameters
    due_ms: int | None
    left: int | None = None
    paused: bool = False
    changed_ms: int = 0

    @property
    def payload(self) -> dict[str, JSON]:
        """The payload with which the trigger fires."""
        payload: dict[str, JSON] = self.params.get("trigger_payload", {})
        return payload

    def fired(self) -> Schedule:
        """The schedule after it has fired at `due_ms`."""
        assert self.due_ms is not None  # noqa: S101  it has fired
        left = None if self.left is None else self.left - 1
        due_ms = None if left == 0 else _next(self.feed, self.params, self.due_ms)
        return replace(self, due_ms=due_ms, left=left)

    def caught_up(self, now_ms: int) -> Schedule:
        """The schedule without those missed times that are too many to be made up for."""
        if self.due_ms is None or self.due_ms > now_ms or self.feed == ONCE:
            return self
        oldest = _back(self.feed, self.params, now_ms, self.due_ms)
        return self if oldest <= self.due_ms else replace(self, due_ms=oldest)

    def suspended(self) -> Schedule:
        """The schedule, paused."""
        return replace(self, paused=True)

    def resumed(self, now_ms: int) -> Schedule:
        """The schedule, resumed. The times that passed in the pause are skipped."""
        if not self.paused or self.due_ms is None or self.due_ms > now_ms:
            return replace(self, paused=False)
        due_ms = None if self.feed == ONCE else _next(self.feed, self.params, now_ms)
        return replace(self, paused=False, due_ms=due_ms)

    def to_json(self) -> dict[str, JSON]:
        return {
            "feed": self.feed,
            "params": self.params,
            "due": self.due_ms,
            "left": self.left,
            "paused": self.paused,
            "changed": self.changed_ms,
        }

    @classmethod
    def from_json(cls, doc: Stored) -> Schedule:
        """Reads what `to_json` wrote."""
        return cls(
            feed=doc["feed"],
            params=doc["params"],
            due_ms=doc["due"],
            left=doc["left"],
            paused=doc["paused"],
            changed_ms=doc["changed"],
        )


def scheduled(feed: str, params: dict[str, JSON], now_ms: int) -> Schedule:
    """Makes a schedule from the parameters of a feed. Unknown parameters are ignored.

    Raises:
        InvalidError: a parameter is missing or invalid. The message names the parameter and what it may be.
    """
    taken: Parameters = {}
    for name in TAKEN[feed]:
        if params.get(name) is not None:
            taken[name] = _READ[name](name, params[name])
    needed = TAKEN[feed][0]
    if needed not in taken:
        raise InvalidError(f"{feed} trigger feed: the parameter '{needed}' is missing")
    _check_dates(taken, now_ms)
    due_ms = _first(feed, taken, now_ms)
    if due_ms is None:
        raise InvalidError(f"{feed} trigger feed: it would never fire")
    return Schedule(
        feed=feed, params=taken, due_ms=due_ms, left=taken.get("maxTriggers"), changed_ms=now_ms
    )


def _check_dates(params: Parameters, now_ms: int) -> None:
    start_ms, stop_ms, date_ms = (params.get(name) for name in ("startDate", "stopDate", "date"))
    for name, at_ms in (("stopDate", stop_ms), ("date", date_ms)):
        if at_ms is not None and at_ms <= now_ms:
            raise InvalidError(f"the parameter '{name}' must be in the future")
    if start_ms is not None and stop_ms is not None and stop_ms <= start_ms:
        raise InvalidError("the parameter 'stopDate' must be after 'startDate'")


# --- times -------------------------------------------------------------------------------------


def _first(feed: str, params: Parameters, now_ms: int) -> int | None:
    if feed == ONCE:
        date_ms: int = params["date"]
        return date_ms
    start_ms: int = params.get("startDate") or 0
    if feed == INTERVAL:
        return max(start_ms, now_ms)
    return _next(feed, params, max(now_ms, start_ms - 1))


def _next(feed: str, params: Parameters, after_ms: int) -> int | None:
    """The first time after an instant; None when there is none."""
    if feed == ONCE:
        return None
    if feed == ALARM:
        return _spec(params).after(after_ms)
    due_ms: int = after_ms + params["minutes"] * MINUTE_MS
    stop_ms = params.get("stopDate")
    return None if stop_ms is not None and due_ms >= stop_ms else due_ms


def _back(feed: str, params: Parameters, now_ms: int, due_ms: int) -> int:
    """The oldest missed time that is made up for; `due_ms` is the oldest there is."""
    if feed == INTERVAL:
        every_ms: int = params["minutes"] * MINUTE_MS
        newest_ms = due_ms + (now_ms - due_ms) // every_ms * every_ms
        return newest_ms - (CAUGHT_UP - 1) * every_ms
    return _spec(params).latest(CAUGHT_UP, due_ms, now_ms)[0]


def _spec(params: Parameters) -> ScheduleSpec:
    """The times of an alarm: see `schedule_times`."""
    stop_ms = params.get("stopDate")
    return ScheduleSpec(
        walls=(Cron(params["cron"]),),
        end_ms=None if stop_ms is None else stop_ms - 1,
        zone=params.get("timezone", "UTC"),
    )


# --- reading parameters ------------------------------------------------------------------------


def _read_cron(name: str, value: JSON) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if len(text.split()) not in CRON_FIELDS:
        raise InvalidError(_unfit(name, value, "five fields, or six with seconds first"))
    if flaw := cron_flaw(text):
        raise InvalidError(_unfit(name, value, f"a cron expression ({flaw})"))
    return text


def _read_zone(name: str, value: Any) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise InvalidError(_unfit(name, value, "a time zone, like Europe/Berlin")) from None
    return str(value)


def _read_count(name: str, value: JSON) -> int:
    """A whole number, perhaps as text, of at least one."""
    try:
        number = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else 0
    except ValueError:
        number = 0
    if not 1 <= number <= 1 << 31:
        raise InvalidError(_unfit(name, value, "a whole number of at least 1"))
    return number


def _read_limit(name: str, value: JSON) -> int | None:
    """A count; OpenWhisk's -1 stands for any number."""
    return None if value in (-1, "-1") else _read_count(name, value)


def _read_date(name: str, value: JSON) -> int:
    """Milliseconds since the epoch, perhaps as text, or ISO 8601."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        what = "an instant: ISO 8601, or milliseconds since the epoch"
        raise InvalidError(_unfit(name, value, what)) from None


def _read_payload(name: str, value: JSON) -> dict[str, JSON]:
    """An object, perhaps as text: `wsk` sends what follows `--param` as it is."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidError(_unfit(name, value, "a JSON object")) from None
    if not isinstance(value, dict):
        raise InvalidError(_unfit(name, value, "a JSON object"))
    return value


def _read_flag(name: str, value: JSON) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise InvalidError(_unfit(name, value, "true or false"))


def _read_deletion(name: str, value: JSON) -> JSON:
    return "rules" if value == "rules" else _read_flag(name, value)


def _unfit(name: str, value: JSON, what: str) -> str:
    return f"the parameter '{name}' must be {what}, not {value!r:.100}"


_READ: dict[str, Callable[[str, JSON], Any]] = {
    "cron": _read_cron,
    "date": _read_date,
    "deleteAfterFire": _read_deletion,
    "maxTriggers": _read_limit,
    "minutes": _read_count,
    "startDate": _read_date,
    "stopDate": _read_date,
    "strict": _read_flag,
    "timezone": _read_zone,
    "trigger_payload": _read_payload,
}
