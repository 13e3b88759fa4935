"""An execution taken out of the table (or a message), advanced, and made into the next change.

No clock and no I/O: `conducting` decides what happens, this knows what is to be written then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ....composer import (
    DIALECTS,
    Abandon,
    Execution,
    Fiber,
    Invoke,
    Invoking,
    Joining,
    Limits,
    Spawn,
)
from .ports import MAX_ROWS, Change, Record
from .running import VALUE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ....composer import JSON, Changes, Event, Outcome, Program

ROOT = "0"
ROW_BYTES = 380_000  # DynamoDB's items have at most 400 KB
PATIENCE_MS = 40_000  # what is not sent by then is lost: longer than a conductor may live
MARGIN_MS = 300_000  # an answer is expected so long after the limit: a message that must come again takes a while
MINUTE_MS = 60_000

# Little runs between two commits, so that what one commit holds is little: see MAX_ROWS.
LIMITS = Limits(instructions=50, fork_width=1_000, value_bytes=VALUE_BYTES)

Asked: TypeAlias = "tuple[str, Invoke]"


def plain(value: JSON) -> JSON:
    """Values stand in place."""
    return value


@dataclass(slots=True)
class Gathered:
    """What has changed since the last commit."""

    fibers: dict[str, Fiber] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)  # the beginnings of their ids
    commands: list[tuple[str, Invoke | Abandon | Spawn]] = field(default_factory=list)
    again: set[str] = field(default_factory=set)  # fibers whose action is asked once more
    outcome: Outcome | None = None

    def take(self, changes: Changes) -> None:
        """Adds what has happened now."""
        for parent, turn in changes.dropped:
            prefix = f"{parent}/{turn}."
            self.dropped.append(prefix)
            for name in [name for name in self.fibers if name.startswith(prefix)]:
                del self.fibers[name]
        self.fibers.update(changes.fibers)
        self.commands += changes.commands
        self.outcome = changes.outcome or self.outcome


class State:
    """One execution in memory, since its last commit.

    Args:
        record: what the table has of it.
        execution: the same, restored.
        is_here: whether an invocation is answered by the conductor itself.
    """

    def __init__(
        self, record: Record, execution: Execution, is_here: Callable[[Invoke], bool]
    ) -> None:
        self.record, self.execution, self._is_here = record, execution, is_here
        self.gathered = Gathered()
        self._here: deque[Asked] = deque()
        self._asked: dict[tuple[str, int], Invoke] = {}
        self.before = dict(execution.fibers)

    @classmethod
    def begun(
        cls, id: str, program: Program, about: dict[str, JSON], is_here: Callable[[Invoke], bool]
    ) -> State:
        """An execution that is not in the table yet."""
        record = Record(id=id, version=0, about=about)
        return cls(record, Execution(id, program, LIMITS), is_here)

    @classmethod
    def restored(
        cls, record: Record, program: Program, is_here: Callable[[Invoke], bool], now_ms: int
    ) -> State:
        """As it was at its last commit."""
        fibers = [
            Fiber.from_json(row["fiber"], plain, DIALECTS.frame) for row in record.fibers.values()
        ]
        execution = Execution.restore(record.id, program, _related(fibers), LIMITS)
        state = cls(record, execution, is_here)
        state._note(execution.pending(now_ms))
        return state

    # --- what happens ------------------------------------------------------------------------

    def take(self, changes: Changes) -> None:
        """Gathers what has happened."""
        self.gathered.take(changes)
        self._note(changes.commands)

    def deliver(self, fiber: str, event: Event, now_ms: int) -> bool:
        """Hands an event to a fiber. False when it is stale."""
        changes = self.execution.deliver(fiber, event, now_ms)
        self.take(changes)
        return not changes.stale

    def cancel(self, now_ms: int) -> bool:
        """Asks it to stop. False when it has been asked before."""
        changes = self.execution.cancel(now_ms)
        self.take(changes)
        return not changes.stale

    def ask_again(self, fiber: str, command: Invoke) -> None:
        """No answer has come: the action is to be asked once more."""
        self.gathered.commands.append((fiber, command))
        self.gathered.again.add(fiber)

    def next_here(self) -> Asked | None:
        """An invocation that the conductor answers, and that is still waited for."""
        while self._here:
            fiber, command = self._here.popleft()
            if self._waits_for(fiber, command.turn):
                return fiber, command
        return None

    # --- what there is to do -----------------------------------------------------------------

    @property
    def more(self) -> bool:
        """Whether there is work that needs no message."""
        waited = any(self._waits_for(fiber, command.turn) for fiber, command in self._here)
        return self.gathered.outcome is None and (waited or self.execution.ready)

    @property
    def wide(self) -> bool:
        """Whether what has changed had better be committed before more does."""
        return len(self.changed()) >= MAX_ROWS // 2

    def invokes(self) -> list[Asked]:
        """What was asked since the last commit, is still waited for and runs elsewhere."""
        return [
            (fiber, command)
            for fiber, command in self.gathered.commands
            if isinstance(command, Invoke)
            and not self._is_here(command)
            and self._waits_for(fiber, command.turn)
        ]

    def asked(self) -> list[Asked]:
        """What is under way elsewhere."""
        return [
            (fiber, command)
            for (fiber, turn), command in self._asked.items()
            if not self._is_here(command) and self._waits_for(fiber, turn)
        ]

    @property
    def spawned(self) -> list[Spawn]:
        """What is to begin by itself."""
        return [command for _, command in self.gathered.commands if isinstance(command, Spawn)]

    @property
    def abandoned(self) -> list[Invoke]:
        """What nobody waits for any more, since the last commit."""
        places = [
            (fiber, command.turn)
            for fiber, command in self.gathered.commands
            if isinstance(command, Abandon)
        ]
        return [self._asked[place] for place in places if place in self._asked]

    def _note(self, commands: Iterable[tuple[str, Invoke | Abandon | Spawn]]) -> None:
        for fiber, command in commands:
            if isinstance(command, Invoke):
                self._asked[fiber, command.turn] = command
                if self._is_here(command):
                    self._here.append((fiber, command))

    def _waits_for(self, fiber: str, turn: int) -> bool:
        standing = self.execution.fibers.get(fiber)
        return (
            standing is not None and standing.turn == turn and isinstance(standing.wait, Invoking)
        )

    def row(self, fiber: str) -> dict[str, JSON]:
        """What the table says of a fiber; of one that is new, nothing."""
        row: dict[str, JSON] = self.record.fibers.get(fiber, {})
        return row

    def committed(self, change: Change) -> None:
        """The change is in the table: what happens from now on belongs to the next one."""
        record = self.record
        for name in change.dropped:
            record.fibers.pop(name, None)
        record.fibers.update(change.fibers)
        record.version, record.outcome = change.version, change.outcome
        if change.unsent:
            record.unsent[change.version] = {"at": change.at_ms, "sends": change.unsent}
        self.gathered = Gathered()
        self.before = dict(self.execution.fibers)

    def changed(self) -> dict[str, Fiber]:
        """The fibers to be written. One that has not run yet is known by its parent."""
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
    """Those whose parent waits for them: the rows of others were not removed in time."""
    kept: dict[str, Any] = {}
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
