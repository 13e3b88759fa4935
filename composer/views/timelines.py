"""Timelines: a history as lines to read, one for each step or failure, indented by the depth of its fork."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..machine import history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Tone: TypeAlias = Literal["plain", "good", "bad", "wait"]

SHOWN = 72  # characters of a value


@dataclass(frozen=True, slots=True)
class Line:
    """One line: milliseconds since the start, the step, its duration, and its result or error."""

    at_ms: int
    depth: int
    tone: Tone
    label: str
    took_ms: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """The part of a line that an entry alone decides."""

    tone: Tone
    label: str
    note: str = ""


EntryDoc: TypeAlias = "Mapping[str, Any]"
"""A history entry as `Entry.to_json` wrote it, with its value in place."""


def timeline(entries: Iterable[EntryDoc]) -> list[Line]:
    """The lines of a history, given as `Entry.to_json` wrote it, with values in place."""
    lines: list[tuple[int, Line]] = []  # by the number of the entry that the line begins with
    open_entries: dict[tuple[str, int], tuple[int, EntryDoc]] = {}
    start_ms, left, accepted = 0, "under way", dict[tuple[str, int], str]()
    for number, entry in enumerate(entries):
        if number == 0:
            start_ms = entry["at"]
        place = entry["fiber"], entry["turn"]
        if entry["type"] in _BEGINNINGS:
            open_entries[place] = number, entry
        elif entry["type"] == history.LIMIT_AWAITED:
            open_entries[place] = number, entry
            accepted[place] = f"waits ({entry['before']} before it)"
        elif entry["type"] == history.STEP_ACCEPTED and place in open_entries:
            accepted[place] = "will answer later"
        elif entry["type"] in _DESCRIPTIONS:
            _, first = open_entries.get(place, (number, {}))
            described = _DESCRIPTIONS[entry["type"]](entry, first)
            at, took_ms, order = entry["at"], None, number
            if first and entry["type"] not in _OPEN_ENDED:
                order, first = open_entries.pop(place)
                at, took_ms = first["at"], entry["at"] - first["at"]
            lines.append((order, _line(described, entry, at - start_ms, took_ms)))
        if entry["type"] in _ENDINGS:
            left, accepted = "cancelled", {}
    for place, (number, first) in open_entries.items():
        described = Description("wait", _step(first), accepted.get(place, left))
        lines.append((number, _line(described, first, first["at"] - start_ms, None)))
    return [line for _, line in sorted(lines, key=lambda pair: (pair[1].at_ms, pair[0]))]


def _line(described: Description, entry: EntryDoc, at_ms: int, took_ms: int | None) -> Line:
    depth = str(entry["fiber"]).count("/")
    return Line(at_ms, depth, described.tone, described.label, took_ms, described.note)


_LABELS = {"width": "fork of {}", "tell": "tell {}", "until": "wait", "limit": "limit {}"}


def _step(first: EntryDoc) -> str:
    """The label of a step: its action without the namespace, or its function by its place."""
    if "entities" in first:
        told = [f"{_local(action)} {key}" for action, key in first["entities"]]
        return f"{first['message']} {', '.join(told)}"
    if "next" in first:
        return "continue as new"
    if "action" in first:
        name = _local(first["action"])
        return f"{first['message']} {name} {first['key']}" if "message" in first else name
    for name, label in _LABELS.items():
        if name in first:
            return label.format(first[name])
    if first.get("path") == "":
        return "conductor action"
    return f"λ {first.get('path', '')}".rstrip()


def _local(action: str) -> str:
    """The name of an action without its namespace."""
    return str(action).removeprefix("/").partition("/")[2]


def _cloud(entry: EntryDoc) -> str:
    """The cloud that ran a step, with its request id and its bill; "" for a step that ran here."""
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


def _entries(entry: EntryDoc) -> str:
    """The messages that an entry is about, by the numbers of their entries."""
    return ", ".join(f"#{number}" for number in entry["messages"])


def _value(entry: EntryDoc) -> str:
    text = json.dumps(entry.get("value"), ensure_ascii=False)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _error(entry: EntryDoc) -> str:
    code, value = _code(entry), entry.get("value")
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        code, value = str(value.get("code", code)), value["message"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    named = not code or text == code or text.startswith(f"{code}: ")
    return shown if named else f"{code}: {shown}"


def _code(entry: EntryDoc) -> str:
    """The failure's code; the class of the exception if user code raised one."""
    raised = entry.get("raised")
    return str(raised[0] if raised else entry.get("code", ""))


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
    history.MESSAGE_RECEIVED,
    history.MESSAGE_CONSUMED,
    history.MESSAGE_DROPPED,
    history.ANNOTATED,
    history.ANNOTATION_REFUSED,
    history.EMITTED,
    history.HISTORY_LONG,
}

_DESCRIPTIONS: dict[str, Callable[[EntryDoc, EntryDoc], Description]] = {
    history.EXECUTION_STARTED: lambda e, _: Description("plain", "started", _value(e)),
    history.EXECUTION_SUCCEEDED: lambda e, _: Description("good", "succeeded", _value(e)),
    history.EXECUTION_FAILED: lambda e, _: Description("bad", "failed", _error(e)),
    history.EXECUTION_CANCELLED: lambda _, __: Description("bad", "cancelled"),
    history.EXECUTION_CONTINUED: lambda e, _: Description("good", "continued", f"as run {e['next']}"),
    history.EXECUTION_REDRIVEN: lambda _, __: Description("wait", "redriven"),
    history.EXECUTION_RESET: lambda e, _: Description("wait", f"{e['how']} of {e['from']} at entry {e['entry']}", e.get("reason", "")),
    history.CANCEL_REQUESTED: lambda _, __: Description("wait", "cancel requested"),
    history.STEP_ACCEPTED: lambda _, first: Description("wait", _step(first), "will answer later"),
    history.STEP_SUCCEEDED: lambda e, first: Description("good", _step(first), _cloud(e) + _value(e)),
    history.STEP_FAILED: lambda e, first: Description("bad", _step(first), _cloud(e) + _error(e)),
    history.STEP_CANCELLED: lambda _, first: Description("bad", _step(first), "cancelled"),
    history.RETRY_SCHEDULED: lambda e, _: Description("wait", f"attempt {e['attempt']} in {e['delay_ms']} ms"),
    history.TIMER_FIRED: lambda _, first: Description("wait", _step(first) if first else "waited"),
    history.TIMED_OUT: lambda e, _: Description("bad", f"{e.get('bound', 'timeout')} of {e['timeout_ms'] / 1000:g} s"),
    history.JOINED: lambda e, first: Description("bad" if "code" in e else "good", _step(first), _code(e)),
    history.BRANCH_FAILED: lambda e, _: Description("bad", "branch failed", _error(e)),
    history.SPAWNED: lambda e, _: Description("plain", f"started {e['activation']}", e["path"]),
    history.PAUSED: lambda e, _: Description("wait", f"paused after {e['attempts']} attempts", _error(e)),
    history.RESUMED: lambda _, __: Description("plain", "resumed"),
    history.PIVOT_PASSED: lambda e, _: Description("plain", "pivot passed", e["path"]),
    history.COMPENSATION_STARTED: lambda e, _: Description("bad", f"undoing {e['steps']}"),
    history.STEP_UNDONE: lambda e, _: Description("plain", "undone", e["path"]),
    history.COMPENSATED: lambda _, __: Description("plain", "all undone"),
    history.STUCK: lambda e, _: Description("bad", "stuck", _error(e)),
    history.RESOLVED: lambda e, _: Description("plain", f"resolved: {e['how']}", e.get("reason", "")),
    history.MESSAGE_RECEIVED: lambda e, _: Description("plain", f"told {e['name']}", _value(e)),
    history.MESSAGE_CONSUMED: lambda e, _: Description("good", "received", _entries(e)),
    history.MESSAGE_DROPPED: lambda e, _: Description("wait", "dropped", _entries(e)),
    history.LIMIT_ENTERED: lambda e, first: Description("plain", _step(e), "waited" if first else ""),
    history.TRANSACTION_STARTED: lambda e, _: Description("plain", "transaction", e["transaction"]),
    history.TRANSACTION_COMMITTED: lambda e, _: Description("good", "committed", e["transaction"]),
    history.TRANSACTION_ABORTED: lambda e, _: Description("bad", "aborted", _error(e)),
    history.ANNOTATED: lambda e, _: Description("plain", "annotated", _value(e)),
    history.EMITTED: lambda e, _: Description("good", f"emitted {e['emitted']}", _value({"value": e["value"].get("data")})),
    history.HISTORY_LONG: lambda e, _: Description("wait", "history is long", f"{e['entries']} of {e['limit']} entries"),
    history.ANNOTATION_REFUSED: lambda e, _: Description("bad", f"not annotated: {e['name']}", e["why"]),
}  # fmt: skip
