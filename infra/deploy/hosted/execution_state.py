"""An execution in memory: read from the table or a message, advanced, and written as the next change.

No clock and no I/O: `conductor` decides what happens; this module knows the changes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ....composer import (
    DIALECTS,
    Abandon,
    Acquire,
    Annotate,
    Emit,
    Execution,
    Fiber,
    Invoke,
    Invoking,
    Joining,
    Limits,
    Spawn,
)
from .ports import MAX_ROWS, Change, Record
from .records import About, Row, Unsent
from .user_code import VALUE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....composer import JSON, Changes, Event, Outcome, Program

ROOT = "0"
PATIENCE_MS = 40_000  # a message that is not sent by then is lost: longer than a conductor may live
MARGIN_MS = 300_000  # added to an action's limit: a message that must come again takes a while
MINUTE_MS = 60_000

# Few instructions between two commits keep each commit small: see MAX_ROWS.
LIMITS = Limits(instructions=50, fork_width=1_000, value_bytes=VALUE_BYTES)

FiberInvoke: TypeAlias = "tuple[str, Invoke]"
"""A fiber, and the invocation that it waits for."""


def plain(value: JSON) -> JSON:
    """Returns the value itself: values are not stored apart."""
    return value


@dataclass(slots=True)
class Gathered:
    """The changes since the last commit."""

    fibers: dict[str, Fiber] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)  # the beginnings of their ids
    commands: list[tuple[str, Invoke | Abandon | Acquire | Spawn | Annotate | Emit]] = field(
        default_factory=list
    )
    again: set[str] = field(default_factory=set)  # fibers whose action is asked once more
    outcome: Outcome | None = None

    def take(self, changes: Changes) -> None:
        """Adds changes."""
        for parent, turn in changes.dropped:
            prefix = f"{parent}/{turn}."
            self.dropped.append(prefix)
            for name in [name for name in self.fibers if name.startswith(prefix)]:
                del self.fibers[name]
        self.fibers.update(changes.fibers)
        self.commands += changes.commands
        self.outcome = changes.outcome or self.outcome


class ExecutionState:
    """One execution in memory, since its last commit.

    Args:
        record: the execution in the table.
        execution: the same, restored.
        is_local: true for an invocation that the conductor answers itself.
    """

    def __init__(
        self, record: Record, execution: Execution, is_local: Callable[[Invoke], bool]
    ) -> None:
        self.record, self.execution, self._is_local = record, execution, is_local
        self.gathered = Gathered()
        self._local: deque[FiberInvoke] = deque()
        self._invokes: dict[tuple[str, int], Invoke] = {}
        self.before = dict(execution.fibers)

    @classmethod
    def begun(
        cls, id: str, program: Program, about: About, is_local: Callable[[Invoke], bool]
    ) -> ExecutionState:
        """An execution that is not in the table yet."""
        record = Record(id=id, version=0, about=about.to_json())
        return cls(record, Execution(id, program, LIMITS), is_local)

    @classmethod
    def restored(
        cls, record: Record, program: Program, is_local: Callable[[Invoke], bool], now_ms: int
    ) -> ExecutionState:
        """The execution as it was at its last commit."""
        fibers = [
            Fiber.from_json(Row.from_json(row).fiber, plain, DIALECTS.frame)
            for row in record.fibers.values()
        ]
        execution = Execution.restore(record.id, program, _related(fibers), LIMITS)
        state = cls(record, execution, is_local)
        state._note(execution.pending(now_ms))
        return state

    # --- what happens ------------------------------------------------------------------------

    def take(self, changes: Changes) -> None:
        """Gathers changes."""
        self.gathered.take(changes)
        self._note(changes.commands)

    def deliver(self, fiber: str, event: Event, now_ms: int) -> bool:
        """Delivers an event to a fiber. Returns False if it is stale."""
        changes = self.execution.deliver(fiber, event, now_ms)
        self.take(changes)
        return not changes.stale

    def cancel(self, now_ms: int) -> bool:
        """Cancels the execution. Returns False if that was done before."""
        changes = self.execution.cancel(now_ms)
        self.take(changes)
        return not changes.stale

    def invoke_again(self, fiber: str, command: Invoke) -> None:
        """Invokes the action once more: no answer has come."""
        self.gathered.commands.append((fiber, command))
        self.gathered.again.add(fiber)

    def next_local(self) -> FiberInvoke | None:
        """An invocation that the conductor answers, and that a fiber still waits for."""
        while self._local:
            fiber, command = self._local.popleft()
            if self._waits_for(fiber, command.turn):
                return fiber, command
        return None

    # --- the work left -----------------------------------------------------------------------

    @property
    def more(self) -> bool:
        """True if there is work that needs no message."""
        waited = any(self._waits_for(fiber, command.turn) for fiber, command in self._local)
        return self.gathered.outcome is None and (waited or self.execution.ready)

    @property
    def wide(self) -> bool:
        """True if so much has changed that it should be committed now."""
        return len(self.changed()) >= MAX_ROWS // 2

    def issued(self) -> list[FiberInvoke]:
        """Invocations since the last commit that run elsewhere and are still waited for."""
        return [
            (fiber, command)
            for fiber, command in self.gathered.commands
            if isinstance(command, Invoke)
            and not self._is_local(command)
            and self._waits_for(fiber, command.turn)
        ]

    def pending(self) -> list[FiberInvoke]:
        """Invocations under way elsewhere."""
        return [
            (fiber, command)
            for (fiber, turn), command in self._invokes.items()
            if not self._is_local(command) and self._waits_for(fiber, turn)
        ]

    @property
    def spawned(self) -> list[Spawn]:
        """Parts of the composition that begin by themselves."""
        return [command for _, command in self.gathered.commands if isinstance(command, Spawn)]

    @property
    def abandoned(self) -> list[Invoke]:
        """Invocations that nobody waits for any more, since the last commit."""
        places = [
            (fiber, command.turn)
            for fiber, command in self.gathered.commands
            if isinstance(command, Abandon)
        ]
        return [self._invokes[place] for place in places if place in self._invokes]

    def _note(
        self, commands: Iterable[tuple[str, Invoke | Abandon | Acquire | Spawn | Annotate | Emit]]
    ) -> None:
        for fiber, command in commands:
            if isinstance(command, Invoke):
                self._invokes[fiber, command.turn] = command
                if self._is_local(command):
                    self._local.append((fiber, command))

    def _waits_for(self, fiber: str, turn: int) -> bool:
        standing = self.execution.fibers.get(fiber)
        return (
            standing is not None and standing.turn == turn and isinstance(standing.wait, Invoking)
        )

    def row(self, fiber: str) -> Row | None:
        """The row of a fiber in the table; None for a new fiber."""
        row = self.record.fibers.get(fiber)
        return None if row is None else Row.from_json(row)

    def committed(self, change: Change) -> None:
        """Notes that the change is in the table: a new one begins."""
        record = self.record
        for name in change.dropped:
            record.fibers.pop(name, None)
        record.fibers.update(change.fibers)
        record.version, record.outcome = change.version, change.outcome
        if change.unsent:
            unsent = Unsent(at_ms=change.at_ms, sends=change.unsent)
            record.unsent[change.version] = unsent.to_json()
        self.gathered = Gathered()
        self.before = dict(self.execution.fibers)

    def changed(self) -> dict[str, Fiber]:
        """The fibers to write. A fiber that has not run yet is known by its parent."""
        live = self.execution.fibers
        changed = {name: live.get(name, fiber) for name, fiber in self.gathered.fibers.items()}
        for name, fiber in live.items():
            if name in changed or self.before.get(name) is fiber:
                continue
            if name in self.before or fiber.wait is not None:
                changed[name] = fiber
        for name in self.gathered.again & live.keys():
            changed[name] = live[name]
        return changed


def _related(fibers: list[Fiber]) -> list[Fiber]:
    """The fibers whose parent waits for them: rows of others were not removed in time."""
    kept: dict[str, Fiber] = {}
    for fiber in sorted(fibers, key=lambda fiber: fiber.id.count("/")):
        parent, _, place = fiber.id.rpartition("/")
        waits = kept.get(parent)
        if fiber.id == ROOT or (
            waits is not None
            and isinstance(waits.wait, Joining)
            and place.startswith(f"{waits.turn}.")
        ):
            kept[fiber.id] = fiber
    return list(kept.values())
