"""The result of a simulated execution, and what it has invoked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .names import Name
from .values import Failure, Outcome, Success, copied

if TYPE_CHECKING:
    from .machine.commands import Again, Emit
    from .machine.history import Entry
    from .simulated_messages import Told, Updated
    from .values import JSON


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation of an action. After a crash the same activation may run again."""

    action: str
    params: JSON
    at: float
    activation: str
    again: Again | None = None


@dataclass(frozen=True, slots=True)
class Emitted:
    """A CloudEvent that a composition emitted.

    `attributes` are its type, those that the composition gives, and its version, id and time. A server adds the
    source and the subject if they are not given. `data` is None if it has none.
    """

    attributes: dict[str, JSON]
    data: JSON
    at: float

    @property
    def type(self) -> Any:
        return self.attributes["type"]


def emitted(command: Emit, at: float) -> Emitted:
    """The CloudEvent of a command that is durable at this virtual second."""
    return Emitted({**command.attributes}, copied(command.content.get("data")), at)


@dataclass(slots=True)
class Run:
    """The result of a simulated execution.

    `attributes` are those that the composition gave its execution, whichever the namespace declares. If it has
    continued as new, `continued` are the inputs of the further runs, and `history` is that of the last one.
    """

    outcome: Outcome | None = None
    history: list[Entry] = field(default_factory=list)
    invocations: list[Invocation] = field(default_factory=list)
    elapsed: float = 0.0
    commits: int = 0
    spawned: list[Run] = field(default_factory=list)
    paused: bool = False
    told: list[Told] = field(default_factory=list)
    emitted: list[Emitted] = field(default_factory=list)
    attributes: dict[str, JSON] = field(default_factory=dict)
    continued: list[JSON] = field(default_factory=list)
    answers: list[JSON] = field(default_factory=list)  # to `queries`, by their instants
    updates: list[Updated] = field(default_factory=list)  # by their instants

    @property
    def value(self) -> Any:
        """The result, whose shape is the composition's.

        Raises:
            AssertionError: if there is none; the text has the outcome.
        """
        if not isinstance(self.outcome, Success):
            raise AssertionError(f"the execution did not succeed: {self.outcome}")
        return self.outcome.value

    @property
    def error(self) -> JSON:
        """The error.

        Raises:
            AssertionError: if there is none; the text has the outcome.
        """
        if not isinstance(self.outcome, Failure):
            raise AssertionError(f"the execution did not fail: {self.outcome}")
        return self.outcome.error

    def calls(self, action: str) -> list[JSON]:
        """The parameters of each invocation of this action, in order."""
        name = str(Name.parse(action))
        return [invocation.params for invocation in self.invocations if invocation.action == name]

    def kinds(self) -> list[str]:
        """The kinds of its history entries, in order."""
        return [entry.kind for entry in self.history]
