"""The definitions of schedules that start an action: their documents, as users write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..composer import InvalidNameError, Name
from .calendars import unfit
from .errors import InvalidError
from .schedule_times import ScheduleSpec, duration_ms, spec_of
from .starting import PLAIN, StartOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..composer import JSON

SKIP, BUFFER_ONE, BUFFER_ALL, CANCEL_OTHER, TERMINATE_OTHER, ALLOW_ALL = OVERLAPS = (
    "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all",
)  # fmt: skip
YEAR_MS = 365 * 24 * 3600 * 1000
LEAST_CATCHUP_MS = 10_000
MAX_ID = 200  # characters: an instant and a number follow
MAX_NOTE = 1_000
MAX_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDefinition:
    """A schedule as its user has written it.

    Args:
        key: its full name, `/namespace/name`.
        document: as it was written.
        spec: its times.
        namespace: that it is in.
        action: the action that it starts.
        input: the parameters of each run.
        id: the beginning of the ids of its runs.
        options: further options of each start.
        overlap: what a time does while a run is open, one of `OVERLAPS`.
        catchup_ms: a time that is later than this counts as missed.
        pause_on_failure: True if the schedule pauses when a run fails.
        limit: the number of its times that may start a run; None for any number.
        note: the user's own words.
        deployed_from: the origin that it was deployed from; "" if it was made in another way.
    """

    key: str
    document: dict[str, JSON]
    spec: ScheduleSpec
    namespace: str
    action: Name
    input: dict[str, JSON]
    id: str
    options: StartOptions = PLAIN
    overlap: str = SKIP
    catchup_ms: int = YEAR_MS
    pause_on_failure: bool = False
    limit: int | None = None
    note: str = ""
    deployed_from: str = ""

    def due_ms(self, at_ms: int) -> int:
        """The time at which an instant is met: later by the schedule's jitter."""
        return self.spec.due_ms(self.key, at_ms)

    def dues_ms(self, after_ms: int, count: int) -> list[int]:
        """The times at which the instants after one are met: so many at most."""
        return self.spec.dues_ms(self.key, after_ms, count)


_FIELDS = (
    "spec", "do", "overlap", "catchup", "pause_on_failure", "limit", "paused", "note",
    "deployed_from",
)  # fmt: skip
_DO = ("action", "input", "id", "memo", "execution_timeout", "run_timeout")


def schedule_of(key: str, doc: JSON) -> ScheduleDefinition:
    """Reads the definition of the schedule with this full name.

    Raises:
        InvalidError: a field is malformed. The text names the field and what it may be.
    """
    taken, name = _object("schedule", doc, _FIELDS), Name.parse(key)
    do = _object("do", taken.get("do"), _DO)
    spec = spec_of(taken.get("spec"))
    catchup = taken.get("catchup")
    _flag("paused", taken.get("paused"))
    return ScheduleDefinition(
        key=key,
        document=taken,
        spec=spec,
        namespace=name.namespace,
        action=_action(do.get("action"), name.namespace),
        input=_object("do.input", do.get("input", {})),
        id=_id(do.get("id", name.name)),
        options=_options(do),
        overlap=overlap_of(taken.get("overlap", SKIP)),
        catchup_ms=YEAR_MS
        if catchup is None
        else duration_ms("catchup", catchup, LEAST_CATCHUP_MS),
        pause_on_failure=_flag("pause_on_failure", taken.get("pause_on_failure")),
        limit=_limit(taken.get("limit")),
        note=_note("note", taken.get("note", "")),
        deployed_from=_note("deployed_from", taken.get("deployed_from", "")),
    )


def overlap_of(value: JSON) -> str:
    """Reads a policy.

    Raises:
        InvalidError: there is no such policy.
    """
    if value not in OVERLAPS:
        raise InvalidError(unfit("overlap", value, f"one of {', '.join(OVERLAPS)}"))
    return str(value)


def _object(name: str, value: JSON, known: Iterable[str] | None = None) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise InvalidError(unfit(name, value, "an object"))
    if known is not None and (unknown := value.keys() - set(known)):
        raise InvalidError(f"the field '{min(unknown)}' does not exist: {', '.join(known)} do")
    return value


def _action(value: JSON, namespace: str) -> Name:
    try:
        return Name.parse(value if isinstance(value, str) else "").within(namespace)
    except InvalidNameError:
        raise InvalidError(unfit("do.action", value, "the name of an action")) from None


def _id(value: JSON) -> str:
    if not (isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()):
        what = f"a text of 1 to {MAX_ID} characters without control characters"
        raise InvalidError(unfit("do.id", value, what))
    return value


def _flag(name: str, value: JSON) -> bool:
    if value is not None and not isinstance(value, bool):
        raise InvalidError(unfit(name, value, "true or false"))
    return bool(value)


def _limit(value: JSON) -> int | None:
    if value is None:
        return None
    if not (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_LIMIT):
        raise InvalidError(unfit("limit", value, "a whole number of at least 1"))
    return value


def _note(name: str, value: JSON) -> str:
    if not (isinstance(value, str) and len(value) <= MAX_NOTE):
        raise InvalidError(unfit(name, value, f"a text of at most {MAX_NOTE} characters"))
    return value


def _options(do: Mapping[str, JSON]) -> StartOptions:
    timeouts: dict[str, Any] = {
        f"{name}_ms": duration_ms(f"do.{name}", do[name], 1)
        for name in ("execution_timeout", "run_timeout")
        if do.get(name) is not None
    }
    return StartOptions(memo=do.get("memo"), **timeouts)
