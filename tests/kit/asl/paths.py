"""Paths, and a document to find something in."""

from __future__ import annotations

from xingqiao.composer.languages.asl.jsonpath.paths import (
    Path,
    Scope,
)

ITEMS = [
    {"x": 1, "name": "apple", "tags": ["a", "b"]},
    {"x": 5, "name": "Pear", "tags": []},
    {"x": None, "name": "fig", "other": {"x": 7}},
]


DOCUMENT = {
    "items": ITEMS,
    "a-b": {"c d": 2},
    "one": 1,
    "nil": None,
    "names": ["fig"],
    "n": [0, 1, 2, 3],
}


def find(path, document=DOCUMENT, **scope):
    return Path.compile(path).find(Scope(document, **scope))
