"""The continuation: one sequential thread of control, as data.

A fiber is known by its id within an execution: the first is "0"; one forked by fiber P in its turn n
as member i is "P/n.i". Its turn counts its waits; (execution, fiber, turn) is the token that a
completion must show. Frames stand on a stack, the innermost last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from ..freezing import changed, frozen
from ..values import JSON, Outcome, outcome_from_json, outcome_to_json
from .frames import Deadline, Frame, OwnFrame, Slot
from .sagas.compensations import Log, log_from_json, log_to_json
from .waits import Acquiring, Invoking, Joining, Sleeping, Wait, invoking, polling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .stored import Document, Part

ROOT = "0"
NOWHERE = -1  # where a fiber stands that has ended

FrameNamed: TypeAlias = "Callable[[str], type[OwnFrame]]"
"""Finds a frame that a language adds, by its name. See `dialect.Dialects.frame`."""


@frozen
class Fiber:
    """The continuation. Without a wait and an outcome it is ready to run.

    `steps` counts its steps and those of its forks; `origin` is the turn whose failure is being handled; `pc` is
    the instruction that runs next. `log` is the log of a branch of a saga that has ended. Where events are
    numbered, `event` is the number of the one that its next event follows. `told` is a later number that was
    given: to an event that nothing follows, or, before a `Stretch`, to the execution's last.
    """

    id: str
    pc: int
    value: JSON
    frames: tuple[Frame, ...] = ()
    turn: int = 0
    steps: int = 0
    origin: int | None = None
    wait: Wait | None = None
    outcome: Outcome | None = None
    log: Log = ()
    event: int = 0
    told: int = 0

    @property
    def due_ms(self) -> int | None:
        """The instant of its next timer: the end of its sleep or its nearest deadline."""
        due = self.deadline_ms
        if type(self.wait) is Sleeping:
            until = self.wait.until_ms
            return until if due is None else min(due, until)
        return due

    @property
    def deadline_ms(self) -> int | None:
        """Its nearest deadline."""
        due = None
        for frame in self.frames:
            if type(frame) is Deadline and frame.at_ms is not None:
                due = frame.at_ms if due is None else min(due, frame.at_ms)
        return due

    @property
    def by_clock_ms(self) -> int | None:
        """The instant of the machine's clock that it sleeps until, if it does."""
        wait = self.wait
        return wait.until_ms if type(wait) is Sleeping and wait.by_clock else None

    @property
    def active(self) -> bool:
        """True if recovery must resume this fiber immediately, because a crash interrupts its work."""
        wait = self.wait
        if self.outcome is not None:
            return False
        if wait is None or type(wait) is Joining or invoking(wait) or polling(wait):
            return True
        return self.limited

    @property
    def limited(self) -> bool:
        """True if it holds a slot of a limit, or waits for one: the lines are made again of such fibers."""
        if type(self.wait) is Acquiring:
            return True
        return any([type(frame) is Slot for frame in self.frames])  # noqa: C419  it is quicker

    def values(self) -> Iterator[JSON]:
        """The values that it holds."""
        yield self.value
        for frame in self.frames:
            yield from frame.values()
        if self.wait is not None:
            yield from self.wait.values()

    def refreshed(self, now_ms: int) -> Fiber:
        """The fiber for a redrive: attempts counted anew, deadlines from now, its action not yet run."""
        return changed(
            self,
            frames=tuple(frame.refreshed(now_ms) for frame in self.frames),
            wait=Invoking() if isinstance(self.wait, Invoking) else self.wait,
        )

    def to_json(self, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
        """The fiber as JSON; `keep` writes a value, or a reference to where it is stored."""
        doc: dict[str, JSON] = {"id": self.id, "turn": self.turn, "steps": self.steps}
        if self.event:
            doc["event"] = self.event
        if self.told:
            doc["told"] = self.told
        if self.outcome is not None:
            doc |= {"origin": self.origin, "outcome": outcome_to_json(self.outcome, keep)}
            if self.log:
                doc["log"] = log_to_json(self.log, keep)
            return doc
        doc |= {
            "pc": self.pc,
            "value": keep(self.value),
            "frames": [_part_to_json(frame, keep) for frame in self.frames],
            "origin": self.origin,
            "wait": None if self.wait is None else _part_to_json(self.wait, keep),
        }
        return doc

    @classmethod
    def from_json(cls, doc: Document, load: Callable[[Any], JSON], frame: FrameNamed) -> Fiber:
        """Reads what `to_json` wrote; `load` reads what `keep` wrote, `frame` finds frames of languages."""
        if "outcome" in doc:
            outcome = outcome_from_json(doc["outcome"], load)
            log = log_from_json(doc.get("log", ()), load)
            return cls(**{**doc, "pc": NOWHERE, "value": None, "outcome": outcome, "log": log})
        wait = doc["wait"]
        return cls(
            **{
                **doc,
                "value": load(doc["value"]),
                "frames": tuple(_part_from_json(item, load, frame) for item in doc["frames"]),
                "wait": None if wait is None else _part_from_json(wait, load, frame),
            }
        )


def parent_of(fiber: str) -> tuple[str, int, int]:
    """The fiber that forked this one, in which turn, and as which member."""
    parent, _, place = fiber.rpartition("/")
    turn, _, index = place.partition(".")
    return parent, int(turn), int(index)


def member_id(parent: str, turn: int, index: int) -> str:
    """The id of member `index` of the fork that `parent` made in `turn`."""
    return f"{parent}/{turn}.{index}"


_PARTS: dict[str, type[Part]] = {
    kind.stored_name(): kind for kind in (*get_args(Frame), *get_args(Wait)) if kind is not OwnFrame
}


def _part_to_json(part: Frame | Wait, keep: Callable[[JSON], JSON]) -> dict[str, JSON]:
    return {"is": part.stored_name(), **part.to_json(keep)}


def _part_from_json(doc: Document, load: Callable[[JSON], JSON], frame: FrameNamed) -> Any:
    members = {name: value for name, value in doc.items() if name != "is"}
    kind = _PARTS.get(doc["is"]) or frame(doc["is"])
    return kind.from_json(members, load)
