"""Findings of `xingqiao doctor`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check.

    Args:
        check: name of the check.
        state: `ok`, `warn` or `fail`.
        text: one sentence.
        fix: instruction; "" if there is nothing to fix.
        rows: details as a table of (subject, state).
    """

    check: str
    state: State
    text: str
    fix: str = ""
    rows: list[tuple[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON document."""
        rows = [{"what": what, "is": how} for what, how in self.rows]
        return {
            "check": self.check,
            "state": self.state,
            "text": self.text,
            "fix": self.fix,
            **({"rows": rows} if rows else {}),
        }
