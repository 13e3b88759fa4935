"""AWS' history events, of the entries of an execution's history.

https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .data import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....composer import JSON

_BARE = frozenset({  # types that tell no more than that
    "LambdaFunctionStarted", "MapRunAborted", "MapRunSucceeded", "MapStateAborted", "MapStateFailed",
    "MapStateSucceeded", "ParallelStateAborted", "ParallelStateFailed", "ParallelStateStarted",
    "ParallelStateSucceeded", "TaskStateAborted", "WaitStateAborted",
})  # fmt: skip
_STATES = {"StateEntered": ("stateEntered", "input"), "StateExited": ("stateExited", "output")}
_DATA = {  # which field the value of the entry is
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


def events_of(
    entries: Iterable[dict[str, JSON]], *, data: bool = True
) -> Iterator[dict[str, JSON]]:
    """The events that entries stand for, in order; without what went in and came out unless with `data`."""
    for entry in entries:
        for told in entry.get("events", ()):
            yield event_of(entry, told, data=data)


def event_of(entry: dict[str, JSON], told: list[JSON], *, data: bool) -> dict[str, JSON]:
    """One of the events that an entry stands for."""
    number, before, type, about = told
    event: dict[str, JSON] = {
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
    """How the details of a type are called, and which field of them the value is."""
    for end, place in _STATES.items():
        if type.endswith(end):
            return place
    return type[0].lower() + type[1:], _DATA.get(type)


def _details(
    about: dict[str, JSON], field: str | None, entry: dict[str, JSON], *, data: bool
) -> dict[str, JSON]:
    if not data:
        return {name: value for name, value in about.items() if name not in _ASSIGNED}
    if field is None or "value" not in entry:
        return dict(about)
    details = {**about, field: json_text(entry["value"])}
    if field != "parameters":
        details[f"{field}Details"] = WHOLE
    return details
