"""The state of one execution for people: its start, its error, and the commands that make sense next."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import output
from .client import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .client import Client

ENTRIES = 5000  # history entries that are searched for the last error
SHOWN = 200  # characters of a value
FAILURES = ("StepFailed", "ExecutionFailed", "ExecutionPaused")
STARTS = {
    "api": "a call of the API",
    "signal": "a signal to an entity",
    "invoke": "an asynchronous call of the API",
    "event": "an event of Lambda's API",
    "execution": "another execution",
}
UNDER_WAY = ("execution watch", "execution cancel")
NEXT = {
    "running": UNDER_WAY,
    "paused": ("execution resume", "execution cancel"),
    "stuck": ("saga show",),
    "succeeded": ("activation result",),
    "failed": ("execution history", "execution redrive"),
    "timed_out": ("execution history", "execution redrive"),
    "cancelled": ("execution history",),
    "continued": ("execution history",),
}


def show(client: Client, found: dict[str, Any]) -> None:
    """Writes an execution, the event that each of its fibers waits for, and the next commands."""
    entries = list(islice(client.history(found["executionId"]), ENTRIES))
    about = [
        ("execution", found["executionId"]),
        *([("id", found["id"])] if "id" in found else []),
        ("action", f"{found['action']} {found['version']}"),
        ("status", output.status(found["status"])),
        ("started by", _starter(client, found)),
        ("start", output.instant(found["start"])),
    ]
    if "end" in found:
        about.append(("end", output.instant(found["end"])))
    if "continues" in found:
        about.append(("continues", found["continues"]["executionId"]))
    if "next" in found:
        about.append(("continued as", found["next"]["executionId"]))
    if "parent" in found:
        about.append(("part of", found["parent"]["executionId"]))
    if entries and "value" in entries[0]:
        about.append(("input", short(entries[0]["value"])))
    if found["status"] != "succeeded" and (error := _last_error(entries)):
        about.append(("error" if "end" in found else "last error", error))
    about += [("next" if n == 0 else "", line) for n, line in enumerate(_next(found))]
    output.table(("", ""), about, "")
    if found["fibers"]:
        output.console().print()
        attempts = _attempts(entries)
        rows = [(f["fiber"], f["waits"], _for(f, attempts)) for f in found["fibers"]]
        output.table(("fiber", "waits for", "details"), rows, "")


def short(value: Any) -> str:
    """A value as JSON, cut after 200 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def error_text(error: Any) -> str:
    """An error in one line: its code and its message, if it has them."""
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        code = error.get("code")
        return short(f"{code}: {error['message']}" if code else error["message"])
    return short(error)


def _starter(client: Client, found: dict[str, Any]) -> str:
    started = found["startedBy"]
    rule: str | None = started.get("rule")
    if rule is None:
        return STARTS.get(started["how"], str(started["how"]))
    try:
        trigger = client.ask_named("GET", "rules", rule)["trigger"]["name"]
    except ApiError:  # the rule is deleted, or another namespace's
        return f"the rule {rule}"
    return f"the trigger {trigger}, by the rule {rule}"


def _last_error(entries: Iterable[dict[str, Any]]) -> str:
    failures = [entry for entry in entries if entry["type"] in FAILURES]
    if not failures:
        return ""
    last = failures[-1]
    value = last.get("value")
    if isinstance(value, dict) and "code" in value:
        return error_text(value)
    return f"{last['code']}: {error_text(value)}" if "value" in last else str(last["code"])


def _attempts(entries: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The number of the attempt under way, for each fiber that retries a step."""
    found: dict[str, int] = {}
    for entry in entries:
        if entry["type"] == "RetryScheduled":
            found[entry["fiber"]] = entry["attempt"]
        elif entry["type"] == "StepSucceeded":
            found.pop(entry["fiber"], None)
    return found


def _next(found: dict[str, Any]) -> list[str]:
    """Commands that an operator can copy and run now."""
    id = found["executionId"]
    commands = [f"xingqiao {command} {id}" for command in NEXT.get(found["status"], ())]
    if any(fiber["waits"] == "message" for fiber in found["fibers"]):
        return [f"xingqiao execution tell {id} NAME -p NAME VALUE", *commands]
    if any(fiber["waits"] == "answer" for fiber in found["fibers"]):
        return [f"xingqiao execution complete {id} -p NAME VALUE", *commands]
    return commands


def _want(want: Any) -> str:
    """The messages that a fiber waits for, in words."""
    if isinstance(want, str):
        return want
    ((how, parts),) = want.items()
    return "(" + (" or " if how == "any" else " and ").join(map(_want, parts)) + ")"


def _for(fiber: dict[str, Any], attempts: dict[str, int]) -> str:
    """Details of the event that a fiber waits for."""
    parts = [fiber[key] for key in ("action", "function", "path", "kind") if fiber.get(key)]
    if "want" in fiber:
        parts.insert(0, _want(fiber["want"]))
    if "limit" in fiber:
        keyed = f" of {fiber['key']}" if fiber["key"] else ""
        parts.insert(0, f"{fiber['limit']}{keyed} ({fiber['before']} before it)")
    if "code" in fiber:
        parts.append(f"{fiber['code']}: {json.dumps(fiber['error'], ensure_ascii=False)}")
    if fiber["fiber"] in attempts:
        parts.append(f"attempt {attempts[fiber['fiber']]}")
    if "heartbeat" in fiber:
        parts.append(f"heartbeat {short(fiber['heartbeat'])}")
    due = fiber.get("until", fiber.get("due"))
    if due is not None:
        parts.append(f"until {output.instant(due)}")
    return "  ".join(parts)
