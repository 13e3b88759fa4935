"""The packages of `/whisk.system`, which every namespace may use. Each start makes them; they are not stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...actions import Action, Inline, Limits, Package
from ...composer import Name
from ..access import OPERATOR
from ..aws import INTEGRATION
from ..engine import BATCH, PAGE_ACTION
from ..stepfunctions import ACTIVITY, ITEMS, LIMIT_MS, READ, WRITE
from .feed_records import WEBHOOK
from .feeds import FEED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...actions import Clock, Definition
    from ...composer import JSON

Params = dict[str, Any]

EXPONENT_FROM = 1e21  # JavaScript writes larger numbers with an exponent
MAX_LINES = 100_000  # per call


def system_entities(clock: Clock) -> Iterator[Definition]:
    """The packages and their actions."""
    for package, (about, actions) in _packages(clock).items():
        yield Package(
            Name(OPERATOR, None, package), publish=True, annotations={"description": about}
        )
        for name, (does, function) in actions.items():
            yield Action(
                Name(OPERATOR, package, name),
                Inline(function),
                annotations={"description": does, "exec": "inline"},
                publish=True,
            )
    for package, (about, feeds) in FEEDS.items():
        yield Package(
            Name(OPERATOR, None, package), publish=True, annotations={"description": about}
        )
        for name, does in feeds.items():
            yield Action(
                Name(OPERATOR, package, name),
                Inline(_no_function, FEED),
                annotations={"description": does, "exec": FEED, "feed": True},
                publish=True,
            )
    yield Package(Name(OPERATOR, None, STATES), publish=True, annotations={"description": ASKED})
    for name, (kind, does) in TASKS.items():
        yield Action(
            Name(OPERATOR, STATES, name),
            Inline(_no_function, kind),
            limits=Limits(timeout_ms=LIMIT_MS) if kind == ITEMS else Limits(),
            annotations={"description": does, "exec": kind},
            publish=True,
        )
    batches = Name(OPERATOR, None, PAGE_ACTION.package or "")
    yield Package(batches, publish=True, annotations={"description": "Steps of batch operations"})
    yield Action(
        PAGE_ACTION,
        Inline(_no_function, BATCH),
        annotations={"description": "Deals with a page of a batch", "exec": BATCH},
        publish=True,
    )


def _no_function(_: JSON) -> JSON:
    raise AssertionError("an action of another invoker was called as a function")


STATES = "states"
ASKED = "Services of state machines besides functions"
TASKS = {
    ACTIVITY: (ACTIVITY, "Waits for a worker that answers later"),
    INTEGRATION: (INTEGRATION, "Calls a service"),
    READ: (ITEMS, "Reads the items of a distributed Map"),
    WRITE: (ITEMS, "Writes the results of a distributed Map"),
}


FEEDS = {
    "alarms": (
        "Fires triggers at their times",
        {
            "alarm": "Fires on a cron schedule",
            "interval": "Fires at an interval of minutes",
            "once": "Fires at one instant",
        },
    ),
    "webhooks": ("Fires triggers from outside", {WEBHOOK: "Fires on a POST to its URL"}),
}


def _packages(
    clock: Clock,
) -> dict[str, tuple[str, dict[str, tuple[str, Callable[[Params], JSON]]]]]:
    def date(_: Params) -> JSON:
        moment = datetime.fromtimestamp(clock.now_ms() / 1000, UTC)
        return {"date": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")}

    return {
        "utils": (
            "Building blocks that process data",
            {
                "cat": ("Concatenates lines into one text", _cat),
                "date": ("The date and time in ISO 8601 format", date),
                "echo": ("Returns its parameters", _echo),
                "head": ("The first lines", _head),
                "sort": ("Sorts lines", _sort),
                "split": ("Splits a text into lines", _split),
            },
        ),
        "samples": (
            "Actions for trying things out",
            {
                "greeting": ("Greets somebody from somewhere", _greeting),
                "hello": ("Greets somebody", _hello),
                "helloWorld": ("Greets the world", _hello),
                "wordCount": ("Counts the words of a text", _word_count),
            },
        ),
    }


def _echo(params: Params) -> JSON:
    return params


def _lines(params: Params) -> list[JSON] | None:
    """The lines; [] if there are none, as in OpenWhisk's package. A line may be any JSON."""
    lines = params.get("lines") or []
    return lines if isinstance(lines, list) and len(lines) <= MAX_LINES else None


_NO_LINES: dict[str, JSON] = {"error": f"'lines' must be a list of at most {MAX_LINES} texts"}


def _cat(params: Params) -> JSON:
    lines = _lines(params)
    if lines is None:
        return _NO_LINES
    payload = "\n".join("" if line is None else _text(line) for line in lines)
    return {"lines": lines, "payload": payload}


def _head(params: Params) -> JSON:
    lines, count = _lines(params), params.get("num") or 1
    if lines is None or type(count) is not int:
        return _NO_LINES if lines is None else {"error": "'num' must be a whole number"}
    return {"lines": lines[:count], "num": count}


def _sort(params: Params) -> JSON:
    lines = _lines(params)
    if lines is None:
        return _NO_LINES
    ordered = sorted(lines, key=lambda line: _text(line).encode("utf-16-be", "surrogatepass"))
    return {"lines": ordered, "length": len(lines)}


def _text(value: JSON) -> str:
    """A value as a string, as JavaScript converts it."""
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < EXPONENT_FROM:
            return str(int(value))
        case list():
            return ",".join("" if part is None else _text(part) for part in value)
        case dict():
            return "[object Object]"
    return str(value)


def _split(params: Params) -> JSON:
    payload, separator = params.get("payload"), params.get("separator", "\n")
    if not isinstance(payload, str) or not isinstance(separator, str) or not separator:
        return {"error": "'payload' and 'separator' must be texts"}
    return {"lines": [*payload.split(separator)], "payload": payload}


def _greeting(params: Params) -> JSON:
    name, place = params.get("name") or "stranger", params.get("place") or "somewhere"
    return {"payload": f"Hello, {name} from {place}!"}


def _hello(params: Params) -> JSON:
    return {"greeting": f"Hello, {params.get('name') or params.get('payload') or 'World'}!"}


def _word_count(params: Params) -> JSON:
    payload = params.get("payload")
    if not isinstance(payload, str):
        return {"error": "'payload' must be a text"}
    return {"count": len(payload.split())}
