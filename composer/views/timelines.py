"""A history, to read: one line for what took time or went wrong, indented by how deep it is forked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..machine import history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..values import JSON

Tone: TypeAlias = Literal["plain", "good", "bad", "wait"]

SHOWN = 72  # characters of a value


@dataclass(frozen=True, slots=True)
class Line:
    """One line: milliseconds since the start, what it is about, how long it took, what came of it."""

    at_ms: int
    depth: int
    tone: Tone
    label: str
    took_ms: int | None = None
    note: str = ""


def timeline(entries: Iterable[dict[str, JSON]]) -> list[Line]:
    """The lines of a history, given as `Entry.to_json` wrote it, with values in place."""
    told: list[tuple[int, Line]] = []  # by the number of the entry that it begins with
    begun: dict[tuple[str, int], tuple[int, dict[str, JSON]]] = {}
    start_ms, left = 0, "under way"
    for number, entry in enumerate(entries):
        if number == 0:
            start_ms = entry["at"]
        place = entry["fiber"], entry["turn"]
        if entry["type"] in _BEGINNINGS:
            begun[place] = number, entry
        elif entry["type"] in _TOLD:
            _, first = begun.get(place, (number, {}))
            tone, label, note = _TOLD[entry["type"]](entry, first)
            at, took_ms, order = entry["at"], None, number
            if first and entry["type"] not in _OPEN_ENDED:
                order, first = begun.pop(place)
                at, took_ms = first["at"], entry["at"] - first["at"]
            line = Line(at - start_ms, _depth(entry), tone, label, took_ms, note)
            told.append((order, line))
        if entry["type"] in _ENDINGS:
            left = "cancelled"
    for number, first in begun.values():
        line = Line(first["at"] - start_ms, _depth(first), "wait", _step(first), None, left)
        told.append((number, line))
    return [line for _, line in sorted(told, key=lambda pair: (pair[1].at_ms, pair[0]))]


def _depth(entry: dict[str, JSON]) -> int:
    return str(entry["fiber"]).count("/")


Told: TypeAlias = "tuple[Tone, str, str]"


def _step(first: dict[str, JSON]) -> str:
    """What a step runs: an action, without its namespace, or a function, by its place."""
    if "action" in first:
        name = str(first["action"]).removeprefix("/").partition("/")[2]
        return f"{first['message']} {name} {first['key']}" if "message" in first else name
    if "width" in first:
        return f"fork of {first['width']}"
    if "until" in first:
        return "wait"
    if first.get("path") == "":
        return "conductor action"
    return f"λ {first.get('path', '')}".rstrip()


def _where(entry: dict[str, JSON]) -> str:
    """Which cloud it ran on, what that calls it, and what it bills; "" for what ran here."""
    remote = entry.get("remote")
    if not isinstance(remote, dict):
        return ""
    parts = [" ".join(str(remote[name]) for name in ("cloud", "request") if name in remote)]
    if "billed" in remote:
        parts.append(f"billed {remote['billed']:g} ms")
    if "overhead" in remote:
        parts.append(f"+{remote['overhead']:g} ms")
    if entry.get("ran") is not None:
        parts.append(f"ran: {entry['ran']}")
    if remote["attempts"] > 1:
        parts.append(f"{remote['attempts']} attempts")
    return f"[{', '.join(parts)}] "


def _value(entry: dict[str, JSON]) -> str:
    text = json.dumps(entry.get("value"), ensure_ascii=False)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _error(entry: dict[str, JSON]) -> str:
    code = entry.get("code", "")
    value = entry.get("value")
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        code, value = str(value.get("code", code)), value["message"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return f"{code}: {shown}" if code else shown


_BEGINNINGS = {history.STEP_SCHEDULED, history.TIMER_STARTED, history.FORKED}
_ENDINGS = {history.EXECUTION_SUCCEEDED, history.EXECUTION_FAILED, history.EXECUTION_CANCELLED}
_OPEN_ENDED = _ENDINGS | {
    history.TIMED_OUT,
    history.RETRY_SCHEDULED,
    history.BRANCH_FAILED,
    history.PAUSED,
    history.STUCK,
    history.COMPENSATION_STARTED,
    history.COMPENSATED,
    history.PIVOT_PASSED,
    history.STEP_UNDONE,
    history.TRANSACTION_STARTED,
    history.TRANSACTION_COMMITTED,
    history.TRANSACTION_ABORTED,
}

_TOLD: dict[str, Callable[[dict[str, JSON], dict[str, JSON]], Told]] = {
    history.EXECUTION_STARTED: lambda e, _: ("plain", "started", _value(e)),
    history.EXECUTION_SUCCEEDED: lambda e, _: ("good", "succeeded", _value(e)),
    history.EXECUTION_FAILED: lambda e, _: ("bad", "failed", _error(e)),
    history.EXECUTION_CANCELLED: lambda _, __: ("bad", "cancelled", ""),
    history.EXECUTION_REDRIVEN: lambda _, __: ("wait", "redriven", ""),
    history.CANCEL_REQUESTED: lambda _, __: ("wait", "cancel requested", ""),
    history.STEP_ACCEPTED: lambda _, first: ("wait", _step(first), "will answer later"),
    history.STEP_SUCCEEDED: lambda e, first: ("good", _step(first), _where(e) + _value(e)),
    history.STEP_FAILED: lambda e, first: ("bad", _step(first), _where(e) + _error(e)),
    history.STEP_CANCELLED: lambda _, first: ("bad", _step(first), "cancelled"),
    history.RETRY_SCHEDULED: lambda e, _: (
        "wait", f"attempt {e['attempt']} in {e['delay_ms']} ms", "",
    ),
    history.TIMER_FIRED: lambda _, first: ("wait", _step(first) if first else "waited", ""),
    history.TIMED_OUT: lambda e, _: ("bad", f"timeout of {e['timeout_ms'] / 1000:g} s", ""),
    history.JOINED: lambda e, first: ("bad" if "code" in e else "good", _step(first), e.get("code", "")),
    history.BRANCH_FAILED: lambda e, _: ("bad", "branch failed", _error(e)),
    history.SPAWNED: lambda e, _: ("plain", f"started {e['activation']}", e["path"]),
    history.PAUSED: lambda e, _: ("wait", f"paused after {e['attempts']} attempts", _error(e)),
    history.RESUMED: lambda _, __: ("plain", "resumed", ""),
    history.PIVOT_PASSED: lambda e, _: ("plain", "pivot passed", e["path"]),
    history.COMPENSATION_STARTED: lambda e, _: ("bad", f"undoing {e['steps']}", ""),
    history.STEP_UNDONE: lambda e, _: ("plain", "undone", e["path"]),
    history.COMPENSATED: lambda _, __: ("plain", "all undone", ""),
    history.STUCK: lambda e, _: ("bad", "stuck", _error(e)),
    history.RESOLVED: lambda e, _: ("plain", f"resolved: {e['how']}", e.get("reason", "")),
    history.TRANSACTION_STARTED: lambda e, _: ("plain", "transaction", e["transaction"]),
    history.TRANSACTION_COMMITTED: lambda e, _: ("good", "committed", e["transaction"]),
    history.TRANSACTION_ABORTED: lambda e, _: ("bad", "aborted", _error(e)),
}  # fmt: skip
