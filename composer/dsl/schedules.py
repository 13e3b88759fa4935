"""Schedules in a file of compositions: `xingqiao deploy` deploys them with the actions that they start."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import CompositionError
from ..values import flaw
from .composition import Composition
from .functions import ActionFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..values import JSON


# The fields of the document and of its parts, as the server checks them: a test compares the two.
_FIELDS = (
    "spec", "do", "overlap", "catchup", "pause_on_failure", "limit", "paused", "note",
    "deployed_from",
)  # fmt: skip
_SPEC = (
    "cron", "calendars", "intervals", "skip", "start", "end", "zone", "jitter", "gap", "repeat",
)  # fmt: skip
_DO = ("action", "input", "id", "memo", "execution_timeout", "run_timeout")
_TIMES = ("cron", "calendars", "intervals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule that is to be deployed.

    Args:
        name: its name.
        document: as the HTTP API takes it.
        line: of the file in which it was made.
    """

    name: str
    document: dict[str, JSON]
    line: int


def schedule(  # noqa: PLR0913  a schedule has as many sides
    name: str,
    *,
    action: str | ActionFunction[..., Any],
    cron: str | Sequence[str] | None = None,
    every: float | str | None = None,
    calendars: Sequence[dict[str, JSON]] | None = None,
    time_zone: str | None = None,
    input: dict[str, JSON] | None = None,
    spec: dict[str, JSON] | None = None,
    do: dict[str, JSON] | None = None,
    **fields: JSON,
) -> Schedule:
    """A schedule that starts an action. Assign it to a variable of a file, and `xingqiao deploy` the file.

    The fields are those of the schedule's document; the server checks their values when the file is deployed.

    Args:
        name: name of the schedule.
        action: the action to start: its name, or a function marked `@composer.action`.
        cron: cron expressions.
        every: an interval: seconds, or a text such as `90s` or `1d`.
        calendars: ranges of dates and hours.
        time_zone: IANA's name, such as `Europe/Berlin`.
        input: the parameters of each run.
        spec: further fields of `spec`, such as `skip`, `start`, `end` and `jitter`.
        do: further fields of `do`, such as `id`, `memo` and `run_timeout`.
        fields: further fields of the document, such as `overlap`, `catchup`, `pause_on_failure`, `limit` and `note`.

    Raises:
        CompositionError: the name is not a text, the action has no name, a value is not JSON, there is no such field,
            or no field names a time.
    """
    if not isinstance(name, str) or not name:
        raise CompositionError(f"schedule: the name must be a string, not {name!r:.100}")
    times = _given(cron=cron, calendars=calendars, intervals=every, zone=time_zone)
    document: dict[str, Any] = {
        "spec": {**times, **(spec or {})},
        "do": {"action": _action(name, action), **_given(input=input), **(do or {})},
        **fields,
    }
    if why := flaw(document):
        raise CompositionError(f"schedule {name!r}: the fields must be JSON, but {why}")
    if why := _mistake(document):
        raise CompositionError(f"schedule {name!r}: {why}")
    return Schedule(name=name, document=document, line=sys._getframe(1).f_lineno)  # noqa: SLF001


def _mistake(document: dict[str, Any]) -> str:
    """The fault in the fields of a schedule's document; "" if there is none."""
    spec = document["spec"]
    for prefix, part, known in (
        ("", document, _FIELDS), ("spec.", spec, _SPEC), ("do.", document["do"], _DO),
    ):  # fmt: skip
        if unknown := part.keys() - {*known}:
            return f"the field '{prefix}{min(unknown)}' does not exist: {', '.join(known)} do"
    if all(spec.get(field) in (None, []) for field in _TIMES):
        return "the field 'spec' names no time: give cron, every or calendars"
    return ""


def _given(**values: Any) -> dict[str, Any]:
    """The values that are given. A tuple becomes a list, as in JSON."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
    }


def _action(name: str, action: object) -> str:
    match action:
        case str():
            return action
        case ActionFunction():
            return action.name
        case Composition():
            why = "a composition has no name here: give the name of its variable as a string"
        case _:
            why = f"'action' must be the name of an action, not {action!r:.100}"
    raise CompositionError(f"schedule {name!r}: {why}")
