"""The frames of state machines: the execution that a fiber belongs to, and the state that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ....freezing import changed, frozen
from ....machine.frames import OwnFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ....values import JSON

ContextObject: TypeAlias = dict[str, Any]
"""The context object: the server made its `Execution` and `StateMachine`, and this dialect its `State` and `Map`."""


@frozen
class Machine(OwnFrame):
    """The execution of a state machine that a fiber belongs to, with its context object.

    A `quiet` one is a child of a distributed Map: its events are not its parent's.
    """

    inherited = True

    context: ContextObject
    quiet: bool = False

    @property
    def execution(self) -> ContextObject:
        """The context object's `Execution`; empty for a state that is run alone."""
        execution: ContextObject = self.context.get("Execution", {})
        return execution

    @property
    def arn(self) -> str:
        """The execution's ARN, or an empty text."""
        arn: str = self.execution.get("Id", "")
        return arn

    @property
    def machine_arn(self) -> str:
        """The state machine's ARN, or an empty text."""
        arn: str = self.context.get("StateMachine", {}).get("Id", "")
        return arn

    def values(self) -> Iterable[JSON]:
        yield self.context

    def refreshed(self, now_ms: int) -> Machine:  # noqa: ARG002  it has no deadline
        about = self.execution
        again = {**about, "RedriveCount": about.get("RedriveCount", 0) + 1}
        return changed(self, context={**self.context, "Execution": again})

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"context": keep(self.context), **({"quiet": True} if self.quiet else {})}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any], load: Callable[[JSON], JSON]) -> Machine:
        return cls(**{**doc, "context": load(doc["context"])})


@frozen
class InState(OwnFrame):
    """A state under way, of the EnterState instruction at `at`.

    `value` is its raw input, `event` the number of the event of its entry, `entered_ms` the time of its entry;
    `retried` counts the retries of each of its retriers, `prepared` is its effective input.
    """

    inherited = True

    at: int
    value: JSON
    event: int
    entered_ms: int
    retried: tuple[int, ...] = ()
    prepared: JSON = None

    def values(self) -> Iterable[JSON]:
        yield self.value
        yield self.prepared

    def refreshed(self, now_ms: int) -> InState:  # noqa: ARG002  it has no deadline
        return changed(self, retried=(0,) * len(self.retried))

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {
            "at": self.at, "value": keep(self.value), "event": self.event, "entered_ms": self.entered_ms,
            "retried": list(self.retried), "prepared": keep(self.prepared),
        }  # fmt: skip

    @classmethod
    def from_json(cls, doc: Mapping[str, Any], load: Callable[[JSON], JSON]) -> InState:
        value, prepared = load(doc["value"]), load(doc["prepared"])
        retried = tuple(doc["retried"])
        return cls(**{**doc, "value": value, "prepared": prepared, "retried": retried})
