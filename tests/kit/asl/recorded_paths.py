"""What AWS was recorded to do: `choices.json`, `passes.json`; placeholders stand for what differs each time."""

from __future__ import annotations

import json
import re
from pathlib import Path

WILD = {
    "RandomNumberGenerated",
    "date",
    "datetime",
    "entered-time",
    "generated-uuid",
    "start-time",
    "timestamp",
}
JSONPATH = Path(__file__).parents[2] / "composer/languages/asl/jsonpath"
_PLACEHOLDER = re.compile(r"<[^<>]*>")


def recorded(name):
    return json.loads((JSONPATH / f"{name}.json").read_text("utf-8"))


def agrees(expected, actual):
    """Whether the value is the recorded one, placeholders apart."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            agrees(member, actual[name]) for name, member in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(agrees, expected, actual))
    if isinstance(expected, str) and expected in WILD:
        return True
    if isinstance(expected, str) and _PLACEHOLDER.search(expected):
        pattern = ".*".join(map(re.escape, _PLACEHOLDER.split(expected)))
        return isinstance(actual, str) and re.fullmatch(pattern, actual, re.DOTALL) is not None
    return type(expected) is type(actual) and expected == actual
