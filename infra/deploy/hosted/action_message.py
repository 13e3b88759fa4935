"""The message that has an action run: the conductor writes it, the action's wrapper reads it.

A wrapper starts cold with this module: it imports nothing but `typing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....composer import JSON


class ActionMessage(NamedTuple):
    """An action to run.

    token: names the wait that the answer resumes; it comes back as it went.
    key: the idempotency key; the same if the action is invoked again for the same step.
    deadline_ms: when the action's time limit ends.
    until_ms: when the conductor stops waiting for this message; None in a message of an older bundle.
    """

    token: dict[str, JSON]
    params: JSON
    action: str
    activation: str
    key: str
    deadline_ms: int
    until_ms: int | None

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> ActionMessage:
        """Reads the JSON that `to_json` wrote, perhaps in another version."""
        return cls(
            token=doc["token"],
            params=doc["params"],
            action=doc["action"],
            activation=doc["activation"],
            key=doc["key"],
            deadline_ms=doc["deadline"],
            until_ms=doc.get("until"),
        )

    def to_json(self) -> dict[str, JSON]:
        return {
            "token": self.token,
            "params": self.params,
            "action": self.action,
            "activation": self.activation,
            "key": self.key,
            "deadline": self.deadline_ms,
            "until": self.until_ms,
        }


def completion_token(token: Mapping[str, Any]) -> str:
    """The text that names a wait to the client that completes it. The text may stand in a URL."""
    fiber = token["fiber"].replace("/", "_")
    return f"{token['execution']}-{token['turn']}-{fiber}"
