"""Short forms of what is stored most: entries of histories, and the bodies of activations.

An entry is a list: its kind, its instant, its fiber, its turn, its detail and its value. The instant of all but the
first of some entries is the difference to that of the first. What an earlier version stored are documents; both
forms are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from ...composer import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...actions import ActivationRow, Closed, Opened
    from ...composer import JSON, Entry

# The kinds that have a number. Numbers are stored: append only. Any other kind is stored by its name.
KINDS: Final = (
    "ExecutionStarted", "ExecutionSucceeded", "ExecutionFailed", "ExecutionCancelled",
    "StepScheduled", "StepAccepted", "StepSucceeded", "StepFailed", "RetryScheduled",
    "TimerStarted", "TimerFired", "Forked", "Joined", "BranchFailed",
    "StateEntered", "StateExited", "MessageReceived", "MessageConsumed",
)  # fmt: skip
SCHEDULED: Final = "path", "action", "activation"  # the usual detail, stored without its names
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
OWN: Final = 0  # stands for the id of the activation, if it has a cause, too
SHORT_CLOSED: Final = 7  # fields of `Closed` that have no default


def packed_entries(entries: Sequence[Entry], keep: Callable[[JSON], dict[str, Any]]) -> bytes:
    """Returns the stored form of some entries; `keep` writes a value, or a reference to where it is stored."""
    lines: list[list[Any]] = []
    first_ms = 0
    for entry in entries:
        detail: Any = entry.detail
        if not detail:
            detail = 0
        elif "variables" in detail:
            detail = {**detail, "variables": keep(detail["variables"])}
        elif (*detail,) == SCHEDULED:
            detail = [*detail.values()]
        kind = entry.kind
        line = [
            _NUMBERS.get(kind, kind), entry.at_ms - first_ms, entry.fiber, entry.turn, detail,
        ]  # fmt: skip
        if entry.value is not NOTHING:
            line.append(keep(entry.value))
        if not lines:
            first_ms = entry.at_ms
        lines.append(line)
    return orjson.dumps(lines)


def unpacked_entries(body: bytes) -> list[dict[str, Any]]:
    """Returns entries as documents, from their stored form. Their values and variables are as `keep` wrote them."""
    first_ms, found = 0, []
    for line in orjson.loads(body):
        if type(line) is dict:
            found.append(line)
            continue
        kind, at, fiber, turn, detail, *value = line
        doc: dict[str, Any] = {
            "at": first_ms + at,
            "fiber": fiber,
            "turn": turn,
            "type": kind if type(kind) is str else KINDS[kind],
        }
        if detail:
            doc |= zip(SCHEDULED, detail, strict=True) if type(detail) is list else detail
        if value:
            (doc["value"],) = value
        if not found:
            first_ms = at
        found.append(doc)
    return found


def packed_activation(
    opened: Opened,
    closed: Closed,
    kept: tuple[int, dict[str, Any]],
    code: str | None,
    execution: str,
) -> bytes:
    """Returns the stored form of an activation that has ended.

    `kept` is the size of its result in bytes, and the result or a reference to it. `code` is that of its failure.
    `execution` has its large values.
    """
    plain = closed.memory_mb is None and closed.remote is None and not closed.raised
    about = orjson.Fragment(opened.action.about)
    body: list[Any] = [about, closed[:SHORT_CLOSED] if plain else [*closed], *kept]
    if execution != (opened.cause or opened.id):
        body += (code, OWN if execution == opened.id else execution)
    elif code is not None:
        body.append(code)
    return orjson.dumps(body)


def unpacked_activation(row: ActivationRow) -> dict[str, Any]:
    """Returns the members of an activation's body: `about`, `closed`, `execution`, `size`, `result` and `code`.

    Without `code` it has not failed. One that waits for its callback has `waiting`, no `size` and no `result`.
    """
    body = orjson.loads(row.body)
    if type(body) is dict:
        return body
    about, closed, size, result, *more = body
    code, execution = (*more, None, None)[:2]
    if execution is None:
        execution = row.cause or row.id
    doc: dict[str, Any] = {
        "about": about,
        "closed": closed,
        "execution": row.id if execution == OWN else execution,
        "size": size,
        "result": result,
    }
    if code is not None:
        doc["code"] = code
    return doc
