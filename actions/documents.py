"""Documents: the records that are stored under a name, such as definitions and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY  # noqa: TC003  the record reads it
from typing import Any, TypeAlias

from ..composer import frozen

# JSON that a `to_json` of ours wrote and that was read back: its writer has checked its shape.
Stored: TypeAlias = Mapping[str, Any]


@frozen
class Document:
    """A record with a name that is neither an execution nor an activation: an action, a program, a namespace.

    A `body` of None deletes the document. `expected` is the version that the stored document must have, 0 if there
    must be none, and None if any will do. The commit sets the version to one more than that.
    """

    _: KW_ONLY
    kind: str
    key: str
    body: bytes | None
    expected: int | None = None
    version: int = 0
