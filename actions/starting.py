"""What a caller may say of an execution that it starts, beside the input."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from ..composer import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..composer import JSON

OPEN_POLICIES = ("fail", "use", "same", "terminate")
CLOSED_POLICIES = ("allow", "allow_failed", "reject")


@frozen
class StartOptions:
    """Options of a start.

    Args:
        id: the user's id of the execution; "" if it has none.
        on_open: what happens when an execution with this id is open, one of `OPEN_POLICIES`.
        on_closed: what happens when the newest with this id has ended, one of `CLOSED_POLICIES`.
        digest: of the action and the input, for `same`. The engine sets it.
        parent: the id of the execution that has started it as its child; "" if none has.
        close: what happens to a child when its parent ends: `terminate`, `cancel` or `abandon`.
        depth: the number of executions above it; the engine sets it.
        hops: the number of CloudEvents that have led to it; the engine sets it.
        attributes: by which it can be found, by name.
        memo: shown with it, and not found by.
        execution_timeout_ms: of the whole chain of its runs; None if there is no limit.
        run_timeout_ms: of one run; None if there is no limit.
    """

    id: str = ""
    on_open: str = "fail"
    on_closed: str = "allow"
    digest: str = ""
    parent: str = ""
    close: str = ""
    depth: int = 0
    hops: int = 0
    attributes: dict[str, JSON] = field(default_factory=dict)
    memo: JSON = None
    execution_timeout_ms: int | None = None
    run_timeout_ms: int | None = None

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> StartOptions:
        """Reads what `to_json` wrote."""
        return cls(**doc)

    def to_json(self) -> dict[str, JSON]:
        """The members that are not the defaults."""
        doc: dict[str, JSON] = {}
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                doc[name] = value
        return doc


_DEFAULTS: dict[str, Any] = {
    "id": "", "on_open": "fail", "on_closed": "allow", "digest": "", "parent": "", "close": "", "depth": 0, "hops": 0, "attributes": {}, "memo": None,
    "execution_timeout_ms": None, "run_timeout_ms": None,
}  # fmt: skip
PLAIN = StartOptions()
