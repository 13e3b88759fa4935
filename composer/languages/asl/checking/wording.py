"""Our words for AWS' findings: the line, the value that is wrong, and the field or the state that is meant."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from .diagnostics import errors
from .schema import STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ....values import JSON
    from .diagnostic import Diagnostic

MAX_TOLD = 10  # findings: the first ones usually cause the rest
MAX_VALUE = 80  # characters of a value
_SOURCE = re.compile(r"line: (\d+), column: (\d+)\]$")
_LOCATED = re.compile(r"\s*at \[Source:.*", re.DOTALL)


def advice(definition: str, found: list[Diagnostic]) -> str:
    """The errors among the findings in plain words, each with its place; "" if we know none better than AWS'."""
    wrong = errors(found)[:MAX_TOLD]
    try:
        document: JSON = json.loads(definition)
    except RecursionError:
        return ""
    except ValueError:
        return "; ".join(map(partial(_not_json, definition), wrong))
    told = (_told(document, finding) for finding in wrong)
    return "; ".join(text for text in told if text)


def _told(document: JSON, finding: Diagnostic) -> str | None:
    place = finding.location or "/"
    for pattern, words in _WORDS.items():
        if match := re.fullmatch(pattern, finding.message):
            value = _at(document, place)
            return words(place, value, match[1] if match.re.groups else "", document)
    return None


def _not_json(definition: str, finding: Diagnostic) -> str:
    found = _SOURCE.search(finding.location or "")
    if found is None:
        return "the definition is not valid JSON"
    line, column = int(found[1]), int(found[2]) - 1
    lines = definition.splitlines()[:line]
    read = "\n".join([*lines[:-1], *(last[:column] for last in lines[-1:])])
    comma = re.search(r",\s*[}\]]$", read)
    why = "remove the comma before the bracket" if comma else _LOCATED.sub("", finding.message)
    return f"line {line}, column {column}: the definition is not valid JSON: {why}"


def _at(document: JSON, place: str) -> JSON:
    """The value at a place; None if nothing is there. A name in the place may contain `/`."""
    rest = place.strip("/")
    value = document
    while rest:
        if not isinstance(value, dict):
            return None
        names = [name for name in value if rest == name or rest.startswith(f"{name}/")]
        if not names:
            return None
        name = max(names, key=len)
        value, rest = value[name], rest[len(name) + 1 :]
    return value


def _shown(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."


def _meant(name: JSON, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return f": did you mean {close[0]!r}?" if close else ""


def _choice(place: str, value: JSON, listed: str, _: JSON) -> str:
    known = listed.split(", ")
    return f"{place} is {_shown(value)}{_meant(value, known) or f': use one of {listed}'}"


def _field(place: str, value: JSON, name: str, _: JSON) -> str:
    kind = value.get("Type") if isinstance(value, dict) else None
    shape = STATES.get(kind) if isinstance(kind, str) else None
    known = shape.fields if shape is not None else ()
    of = f"a {kind} state does not have" if shape is not None else "does not exist here"
    return f"{place} has the field {name!r}, which {of}{_meant(name, known)}"


def _path(place: str, value: JSON, _: str, __: JSON) -> str:
    return f"{place} is {_shown(value)}: a JSONPath starts with '$', such as '$.order'"


def _required(place: str, _: JSON, listed: str, __: JSON) -> str:
    return f"{place} lacks {listed}: add the field"


def _target(place: str, _: JSON, name: str, document: JSON) -> str:
    states = document.get("States") if isinstance(document, dict) else None
    known = states if isinstance(states, dict) else ()
    return f"{place} names the state {name!r}, which does not exist{_meant(name, known)}"


def _unreachable(place: str, _: JSON, name: str, __: JSON) -> str:
    return (
        f"{place} is never reached: name {name!r} in 'Next' of another state, or delete the state"
    )


def _one_of(place: str, _: JSON, listed: str, __: JSON) -> str:
    return f"{place} needs one of the fields {listed}: add one of them"


def _endless(_: str, __: JSON, ___: str, ____: JSON) -> str:
    return 'no state ends the machine: add "End": true to the last state'


_WORDS: Mapping[str, Callable[[str, JSON, str, JSON], str]] = {
    r"Value should be one of the following: \[(.*)\]": _choice,
    r"Field '(.*)' is not supported": _field,
    r"Value must be a valid JSONPath\.": _path,
    r"These fields are required: \[(.*)\]": _required,
    r"This object should have only one of the following fields: \[(.*)\]": _one_of,
    r"Missing 'Next' target: (.*)": _target,
    r'State "(.*)" is not reachable\.': _unreachable,
    r"Workflow has no terminal state": _endless,
}
