"""The ticket of an accepted step: what the server must know of the step when it is answered."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...actions import Remoted
from ...composer import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...composer import JSON


@frozen
class Ticket:
    """A step that was accepted, and is answered later or polled for; the fiber that waits for it keeps it.

    Args:
        activation: the id of its activation.
        action: the full name of its action.
        asked_ms: when it was asked for.
        started_ms: when it started; None in rows of early versions.
        logs: its last lines so far.
        kind: the kind of actions whose invoker polls for it; None if it is not polled for.
        poll: what that invoker polls with.
        remote: where it ran and for how long, if it answers by its completion trigger.
        narrated: further members, which only the language of the execution reads.
    """

    activation: str
    action: str
    asked_ms: int
    started_ms: int | None
    logs: list[str]
    kind: str | None
    poll: dict[str, JSON]
    remote: Remoted | None
    narrated: Mapping[str, JSON]

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Ticket:
        """Reads what `to_json` wrote, but for the members that only the language reads."""
        return cls(
            doc["activation"],
            doc["action"],
            doc["asked"],
            doc.get("started"),
            doc.get("logs", []),
            doc.get("kind"),
            doc.get("poll", {}),
            Remoted(**doc["remote"]) if "remote" in doc else None,
            {},
        )

    def to_json(self) -> dict[str, JSON]:
        doc: dict[str, JSON] = {}
        if self.kind is not None:
            doc |= {"poll": self.poll, "kind": self.kind}
        if self.remote is not None:
            doc["remote"] = asdict(self.remote)
        return {
            **doc,
            **self.narrated,
            "activation": self.activation,
            "action": self.action,
            "asked": self.asked_ms,
            "started": self.started_ms,
            "logs": [*self.logs],
        }


def read_ticket(doc: JSON) -> Ticket | None:
    """The ticket that a fiber or a command carries, if it has one."""
    return Ticket.from_json(doc) if isinstance(doc, dict) else None
