"""What is stored under a name: all that is neither an execution nor an activation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Anything else with a name: an action, a program, a namespace.

    `body` None deletes it. `expected` is the version it must have now, 0 for none; the version after
    is one more. None writes it whatever there is.
    """

    kind: str
    key: str
    body: bytes | None
    expected: int | None = None
    version: int = 0
