"""A composition that updates change, for tests of the engine and of what stands before it."""

from __future__ import annotations

from xingqiao import composer
from xingqiao.composer import path, var

HANDLERS = {
    "add": composer.on_update(
        validate=path("$.item").exists(),
        body="check",
        sets={"items": {"item": path("$.item"), "rest": var("items")}},
        answer={"items": var("items")},
    ),
    "ping": composer.on_update(),
    "fails": composer.on_update(body="fail"),
}
LISTING = composer.let(
    {"items": None}, composer.updates("work", **HANDLERS), composer.select(var("items"))
)
LATER = composer.sequence("work", LISTING)
"""Its updates are handled once its first step has ended."""


def items(made):
    """The items of such a list, the oldest first."""
    found, made = [], None if made == {"value": None} else made
    while made is not None:
        found.append(made["item"])
        made = made["rest"]
    return found[::-1]
