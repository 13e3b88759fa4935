"""The working copy of a fiber while the machine advances it.

Instructions change it; `conductor.advance` makes it from a fiber and turns it into a Transition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from ..expressions import Scope
from ..freezing import changed, frozen
from ..names import activation_id
from ..values import boxed
from . import history
from .frames import Attempts, Deadline, Finalizing, Mask, Uncounted, Variables, quiet
from .history import NOTHING, Entry
from .sagas.compensations import Compensating, Compensations, SagaStep
from .transactions.coordinator import UNDISTURBED, Coordinating
from .unwind_reasons import Exhaustion
from .waits import Invoking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..values import JSON, Outcome
    from .commands import Command, Invoke
    from .fiber import Fiber
    from .frames import Frame
    from .instructions import Instruction
    from .sagas.compensations import Log
    from .unwind_reasons import UnwindReason
    from .waits import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one execution.

    Args:
        steps: actions invoked, rounds of loops and retries, all forks together.
        fork_width: fibers started by one fork.
        value_bytes: of any value that the conductor makes, roughly, as JSON.
        instructions: that a fiber runs before the others have their turn.
        evaluation_steps: that the expressions of one state take together; this many take 0.1 to 0.3 s.
        at_once: the evaluation steps that all expressions of one transition take together; the fiber stops
            before an evaluation that takes more, and a `Stretch` makes it. None for any number.
        events: of a history that numbers them; None for any number.
        entries: of a history that does not number its events.
        signing: the key that signs task tokens, which is as fixed as the limits. Without a key, tokens are not
            signed.
        one_store: True if the host commits all participants of a transaction together when they are entities of
            its store; see `transactions.coordinator`.
    """

    steps: int = 10_000_000
    fork_width: int = 10_000
    value_bytes: int = 1 << 20
    instructions: int = 1_000
    evaluation_steps: int = 120_000
    at_once: int | None = None
    events: int | None = 25_000
    entries: int = 50_000
    signing: bytes = field(default=b"", repr=False)
    one_store: bool = False


UNANSWERED = Invoking()
REPLAYED = (history.STEP_SUCCEEDED, history.STEP_FAILED)  # by a redrive, which reads no events


class Cursor:
    """A fiber being advanced, with the commands and the history entries of the transition."""

    __slots__ = (
        "commands", "entries", "event", "events", "execution", "exhausted", "frames", "generation", "id", "instructions", "limits", "log", "now_ms",
        "origin", "outcome", "pc", "places", "room", "spent", "steps", "stop", "stopped", "told", "turn", "value", "wait", "work",
    )  # fmt: skip

    def __init__(self, fiber: Fiber, instructions: Sequence[Instruction], context: Context) -> None:
        self.execution, self.generation = context.execution, context.generation
        self.now_ms: int = context.now_ms
        self.room = context.room
        self.limits = context.limits
        self.instructions = instructions
        self.id = fiber.id
        self.pc: int = fiber.pc
        self.value: JSON = fiber.value
        self.frames = fiber.frames
        self.turn = fiber.turn
        self.steps = fiber.steps
        self.origin = fiber.origin
        self.wait: Wait | None = None
        self.outcome: Outcome | None = None
        self.exhausted = False
        self.work = 0  # steps of expressions that the instruction under way has taken
        self.spent = 0  # steps that the instructions before it have taken
        self.places = 0  # the places where the fiber could have stopped, see `stops`
        self.stop: int | None = None  # the place where it stops, counted from 1
        self.stopped = False
        self.log: Log = ()
        self.event, self.events, self.told = fiber.event, context.events, fiber.told
        self.commands: list[Command] = []
        self.entries: list[Entry] = []

    @property
    def at_once(self) -> int | None:
        """Steps of expressions that the transition may still take; None for any number."""
        most = self.limits.at_once
        return None if most is None else most - self.spent - self.work

    @property
    def remains(self) -> tuple[Frame, ...]:
        """The frames that the fiber leaves when it has ended: see `queries`."""
        return ()

    def push(self, frame: Frame) -> None:
        self.frames = (*self.frames, frame)

    def pop(self) -> Frame:
        frame = self.frames[-1]
        self.frames = self.frames[:-1]
        return frame

    def innermost(self, *kinds: type[Any]) -> Any:
        """The innermost frame of one of these kinds, or None."""
        for frame in reversed(self.frames):
            if isinstance(frame, kinds):
                return frame
        return None

    def note(
        self,
        kind: str,
        detail: dict[str, JSON] | None = None,
        value: JSON = NOTHING,
        events: Sequence[NarratedEvent] = (),
    ) -> None:
        """Writes a history entry about the current turn, with its `events` if the history numbers them."""
        detail = detail or {}
        if events:
            if not quiet(self.frames):
                detail = {**detail, "events": self._numbered(events)}
            else:
                self.event += len(events)
                if kind not in REPLAYED:
                    return
        self.entries.append(Entry(self.now_ms, self.id, self.turn, kind, detail, value))

    def _numbered(self, events: Sequence[NarratedEvent]) -> list[JSON]:
        """The events as history entries hold them: number, number of the event before, type, details."""
        made: list[JSON] = []
        number, before = self.events, self.event
        for type, about in events:
            number += 1
            made.append([number, before, type, about])
            before = number
        self.events = self.event = self.told = number
        return made

    def variables(self) -> dict[str, JSON]:
        """The visible variables, inner ones over outer ones."""
        visible: dict[str, JSON] = {}
        for frame in self._visible():
            for name, value in frame.variables.items():
                visible.setdefault(name, value)
        return visible

    def _visible(self) -> list[Variables]:
        """Variables frames that no Mask hides, the innermost first."""
        found, hidden = [], 0
        for frame in reversed(self.frames):
            if type(frame) is Mask:
                hidden += 1
            elif type(frame) is Variables:
                if hidden:
                    hidden -= 1
                else:
                    found.append(frame)
        return found

    def assign(self, changes: dict[str, JSON]) -> str | None:
        """Sets variables where they are declared. Returns the name that no visible `let` declares."""
        for name, value in changes.items():
            owner = next((f for f in self._visible() if name in f.variables), None)
            if owner is None:
                return name
            if owner.variables[name] is not value:
                at = next(i for i, frame in enumerate(self.frames) if frame is owner)
                assigned = Variables({**owner.variables, name: value})
                self.frames = (*self.frames[:at], assigned, *self.frames[at + 1 :])
        return None

    def scope(self) -> Scope:
        """The scope in which an expression is evaluated."""
        return Scope(self.value, self.variables(), self.limits.value_bytes)

    def count_steps(self, steps: int = 1) -> bool:
        """Counts steps. False if the limit is exceeded: the cursor is then exhausted, and the caller does nothing more."""
        self.steps += steps
        within = self.steps <= self.limits.steps
        if within and len(self.entries) < self.room:
            return True
        if self._unlimited or (within and self._finishing):
            return True
        self.exhausted = True
        return False

    @property
    def _finishing(self) -> bool:
        """True if a finalizer runs because a limit is exceeded: it may take a few steps more."""
        return any(
            isinstance(frame, Finalizing) and isinstance(frame.unwind_reason, Exhaustion)
            for frame in self.frames
        )

    @property
    def _unlimited(self) -> bool:
        """True if the fiber is undoing a saga or telling a decision, which it must finish."""
        return any(
            isinstance(frame, (Compensating, Uncounted))
            or (isinstance(frame, Coordinating) and frame.phase in UNDISTURBED)
            for frame in self.frames
        )

    def replace(self, old: Frame, new: Frame) -> None:
        """Puts a frame in place of another."""
        if self.frames[-1] is old:
            self.frames = (*self.frames[:-1], new)
            return
        self.frames = tuple(new if frame is old else frame for frame in self.frames)

    def key_of(self, turn: int) -> str | None:
        """The idempotency key of the invocation of this turn: the same in all attempts of its saga's step."""
        return key_of(self.frames, turn)

    def await_action(
        self,
        path: str,
        command: Invoke,
        value: JSON = NOTHING,
        events: Sequence[NarratedEvent] = (),
    ) -> None:
        """Asks for an action and waits for it; `command` is for the turn after this one."""
        if not self.count_steps():
            return
        self.turn = command.turn
        self.commands.append(command)
        self.wait = UNANSWERED
        self.note(history.STEP_SCHEDULED, step_detail(path, command), value, events)

    def activation_of(self, turn: int) -> str:
        return activation_id(self.execution, self.id, turn, self.generation)


@frozen
class Context:
    """The facts that the machine is given with each event.

    They are the id of the execution and the number of its redrives, the time, the limits, the number of
    events so far in a history that numbers them, and how many entries the history may still have.
    """

    execution: str
    now_ms: int
    limits: Limits
    generation: int = 0
    events: int = 0
    room: float = inf


def stops(cursor: Cursor) -> bool:
    """Counts a place where the fiber can stop: before an instruction, or before a language unwinds a frame.

    True if the fiber stops here.
    """
    cursor.places += 1
    if cursor.places == cursor.stop:
        cursor.stopped = True
    return cursor.stopped


NarratedEvent: TypeAlias = "tuple[str, dict[str, JSON]]"
"""An event of a history that numbers them, before it has its number: its type and its details."""

Reaction: TypeAlias = "UnwindReason | None"
"""The result of an operation: None, or the reason to unwind."""


def step_detail(path: str, command: Invoke) -> dict[str, JSON]:
    """The detail of the history entry for a step that is asked for."""
    targets = {"action": command.action, "function": command.function}
    named = {what: name for what, name in targets.items() if name is not None}
    detail: dict[str, JSON] = {"path": path, **named, "activation": command.activation}
    if command.restart:
        return {**detail, "next": command.activation}
    if command.tell is not None:
        return {**detail, "tell": command.tell.name, "to": command.tell.execution}
    if type(command.params) is dict and type(about := command.params.get("transaction")) is dict:
        detail |= {"message": about.get("kind"), "key": command.params.get("key")}
        if type(shares := command.params.get("participants")) is list:
            told = [boxed(share) for share in shares]
            detail["entities"] = [[share.get("action"), share.get("key")] for share in told]
    return detail


def popped(cursor: Cursor, kind: type[Any]) -> Any:
    """Pops the innermost frame, which must be of this kind."""
    frame = cursor.pop()
    if type(frame) is not kind:
        raise AssertionError(f"compiled wrong: {frame} where a {kind.__name__} frame must be")
    return frame


def key_of(frames: Sequence[Frame], turn: int) -> str | None:
    """The idempotency key of the invocation of a turn; see `Cursor.key_of`."""
    shift = 0
    for frame in reversed(frames):
        match frame:
            case Attempts():
                shift += frame.shift
            case SagaStep():
                return f"{frame.key}.{turn - shift - frame.turn}"
            case Compensating(undoing=undo) if undo is not None:
                return f"{undo.key}.undo.{turn - shift - frame.turn}"
            case Compensations(key=key) if key is not None:
                return f"{key}.{turn - shift}"
            case Compensations() | Compensating():
                return None
    return None


def count_from_now(cursor: Cursor, which: Callable[[Deadline], bool]) -> None:
    """Makes the deadlines for which `which` holds count from now."""
    for frame in cursor.frames:
        if type(frame) is Deadline and which(frame):
            cursor.replace(frame, changed(frame, at_ms=cursor.now_ms + frame.timeout_ms))
