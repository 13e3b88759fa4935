"""The frames of state machines: the run that a fiber is of, and the state that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....freezing import changed, frozen
from ....machine.frames import OwnFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....values import JSON


@frozen
class Machine(OwnFrame):
    """A state machine's run: what its context object shows of it.

    A `quiet` one is a child of a distributed Map: its events are not its parent's.
    """

    inherited = True

    context: dict[str, JSON]
    quiet: bool = False

    def values(self) -> Iterable[JSON]:
        yield self.context

    def refreshed(self, now_ms: int) -> Machine:  # noqa: ARG002  it has no deadline
        about = self.context.get("Execution", {})
        again = {**about, "RedriveCount": about.get("RedriveCount", 0) + 1}
        return changed(self, context={**self.context, "Execution": again})

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        return {"context": keep(self.context), **({"quiet": True} if self.quiet else {})}

    @classmethod
    def from_json(cls, doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> Machine:
        return cls(**{**doc, "context": load(doc["context"])})


@frozen
class InState(OwnFrame):
    """A state under way, of the EnterState instruction at `at`.

    `value` is its raw input, `event` the number of the event of its entry, `entered_ms` when that was;
    `retried` how often each of its retriers has had it tried again, `prepared` what it works on.
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
    def from_json(cls, doc: dict[str, JSON], load: Callable[[JSON], JSON]) -> InState:
        value, prepared = load(doc["value"]), load(doc["prepared"])
        retried = tuple(doc["retried"])
        return cls(**{**doc, "value": value, "prepared": prepared, "retried": retried})
