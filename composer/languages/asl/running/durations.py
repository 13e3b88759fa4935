"""Durations: the end of a Wait, and the timeouts of a Task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..jsonpath.path_fields import MAX_SECONDS, timeout_seconds, wait_seconds, wait_until
from ..jsonpath.texts import json_text
from ..jsonpath.timestamps import nanoseconds
from ..state_errors import QUERY_EVALUATION_ERROR, RUNTIME, StatesError

if TYPE_CHECKING:
    from ....values import JSON
    from .view import View

NS_PER_MS = 1_000_000


def wait_until_ms(view: View, input: JSON, now_ms: int) -> int:
    """The instant, in milliseconds, that a Wait waits for.

    Raises:
        StatesError: its field does not hold one.
    """
    state = view.state
    seconds, instant = state.path("Seconds"), state.path("Timestamp")
    if seconds is not None:
        return now_ms + 1000 * wait_seconds(seconds, view.scope(input))
    if instant is not None:
        return -(-wait_until(instant, view.scope(input)) // NS_PER_MS)
    if "Seconds" in state.doc:
        value = state.doc["Seconds"]
        if state.jsonata:
            value = view.evaluated(value, "Seconds")
        return now_ms + 1000 * _whole("Seconds", value)
    text = state.doc["Timestamp"]
    if state.jsonata:
        text = view.evaluated(text, "Timestamp")
    found = nanoseconds(text)
    if found is None:
        why = "cannot be parsed as an ISO-8601 extended offset date-time format string"
        raise StatesError(QUERY_EVALUATION_ERROR, f"The Timestamp field {why}: {text}", "Timestamp")
    return -(-found // NS_PER_MS)


def task_seconds(view: View, field: str, input: JSON) -> int | None:
    """TimeoutSeconds or HeartbeatSeconds of a Task, if it has one.

    Raises:
        StatesError: its field does not hold a whole number of 1 or more.
    """
    state = view.state
    path = state.path(field)
    if path is not None:
        return timeout_seconds(f"{field}Path", path, view.scope(input))
    seconds: int | None = state.doc.get(field)
    if not view.is_expression(seconds):
        return seconds
    return _whole(field, view.evaluated(seconds, field), 1)


def _whole(field: str, value: JSON, least: int = 0) -> int:
    if type(value) is not int:
        raise StatesError(
            QUERY_EVALUATION_ERROR,
            f"The {field} field cannot be parsed as a long value: {json_text(value)}",
            field,
        )
    if value < least:
        which = "zero" if value == 0 else "a negative value"
        raise StatesError(RUNTIME, f"The {field} field is {which}: {value}")
    if value > MAX_SECONDS:
        what = f"more than {MAX_SECONDS}"
        raise StatesError(RUNTIME, f"The {field} field is {what}: {value}")
    return value
