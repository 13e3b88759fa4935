"""Calls that nobody waits for: a signal to an entity, an asynchronous invocation, a rule's, an event of Lambda's, a schedule's run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...composer import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...composer import JSON

SIGNAL, INVOKE, TRIGGER, EVENT, SCHEDULE = "signal", "invoke", "trigger", "event", "schedule"
ALARM, CLOUDEVENT = "alarm", "cloudevent"  # they fire a trigger


@frozen
class Unwaited:
    """A call that nobody waits for: how it was made, by which rule or schedule, and the how-manieth attempt it is."""

    how: str
    rule: str = ""
    attempts: int = 1

    def tried(self, more: int) -> Unwaited:
        """The same, tried so many times more."""
        return Unwaited(self.how, self.rule, self.attempts + more)

    @classmethod
    def from_json(cls, doc: Sequence[Any]) -> Unwaited:
        """Reads what `to_json` wrote."""
        how, rule, attempts = doc
        return cls(how, rule, attempts)

    def to_json(self) -> list[JSON]:
        return [self.how, self.rule, self.attempts]
