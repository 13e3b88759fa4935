"""AWS' history events, made from the entries of an execution's history.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ...aws import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ....composer import JSON

Entry: TypeAlias = Mapping[str, Any]
"""An entry of a history, as the machine recorded it."""

_BARE = frozenset({  # types without details
    "LambdaFunctionStarted", "MapRunAborted", "MapRunSucceeded", "MapStateAborted", "MapStateFailed",
    "MapStateSucceeded", "ParallelStateAborted", "ParallelStateFailed", "ParallelStateStarted",
    "ParallelStateSucceeded", "TaskStateAborted", "WaitStateAborted",
})  # fmt: skip
_STATES = {"StateEntered": ("stateEntered", "input"), "StateExited": ("stateExited", "output")}
_DATA = {  # the field that holds the value of the entry
    "ActivityScheduled": "input",
    "ActivitySucceeded": "output",
    "ExecutionStarted": "input",
    "ExecutionSucceeded": "output",
    "LambdaFunctionScheduled": "input",
    "LambdaFunctionSucceeded": "output",
    "TaskScheduled": "parameters",
    "TaskSubmitted": "output",
    "TaskSucceeded": "output",
}
_ASSIGNED = ("assignedVariables", "assignedVariablesDetails")
WHOLE: dict[str, JSON] = {"truncated": False}


def events_of(entries: Iterable[Entry], *, data: bool = True) -> Iterator[dict[str, Any]]:
    """The events of several entries, in order; inputs and outputs only with `data`."""
    for entry in entries:
        for told in entry.get("events", ()):
            yield event_of(entry, told, data=data)


def event_of(entry: Entry, told: Sequence[Any], *, data: bool) -> dict[str, Any]:
    """The event of an entry; `told` is its number, the number before it, its type and its details."""
    number, before, type, about = told
    event: dict[str, Any] = {
        "timestamp": entry["at"] / 1000,
        "type": type,
        "id": number,
        "previousEventId": before,
    }
    if type not in _BARE:
        member, field = _place(type)
        event[f"{member}EventDetails"] = _details(about, field, entry, data=data)
    return event


def _place(type: str) -> tuple[str, str | None]:
    """The name of a type's details, and their field that holds the value."""
    for end, place in _STATES.items():
        if type.endswith(end):
            return place
    return type[0].lower() + type[1:], _DATA.get(type)


def _details(
    about: Mapping[str, JSON], field: str | None, entry: Entry, *, data: bool
) -> dict[str, JSON]:
    if not data:
        return {name: value for name, value in about.items() if name not in _ASSIGNED}
    if field is None or "value" not in entry:
        return dict(about)
    details: dict[str, JSON] = {**about, field: json_text(entry["value"])}
    if field != "parameters":
        details[f"{field}Details"] = WHOLE
    return details
