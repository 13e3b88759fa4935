"""An execution in the engine's memory, and the rows that store it.

Large values are stored once, under a key of their own: a fiber, a history entry and an activation that
carry the same one carry a reference. They are recognised by identity, for as long as a
fiber holds them; values are never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from ...actions import (
    COMPOSITION,
    SEQUENCE,
    WAITING,
    ActivationRow,
    Closed,
    Code,
    ExecutionRow,
    FiberRow,
    closed,
    status_of,
)
from ...composer import CONDUCTING, Failure
from .message_rows import documents
from .packing import packed_activation, packed_entries
from .stored_values import SEEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from ...actions import Clock, Completion, Conducted, Opened, Write
    from ...composer import JSON, Changes, Entry, Execution, Fiber, InboxChanges, Invoke
    from .joint import Joint
    from .origins import Origin
    from .stored_values import Stored

_NONE: frozenset[Any] = frozenset()  # an empty set takes 216 bytes, and most executions need none
FEW_FIBERS = 16  # of so few fibers it is cheap to read all values
INLINE_BYTES = 2048  # a larger value is stored by itself
RUNNING, PAUSED, STUCK, SUCCEEDED, FAILED, CANCELLED, TIMED_OUT, CONTINUED = (
    "running", "paused", "stuck", "succeeded", "failed", "cancelled", "timed_out", "continued",
)  # fmt: skip
HELD = (PAUSED, STUCK)  # wait for an operator


@dataclass(slots=True)
class ActiveInvocation:
    """An invocation under way: its activation, and the kind of invoker or the execution that runs it.

    With `later` its success says only that it was accepted; its token answers it. `ending` is true if
    it is an execution that is to end at once, without finalizers, if nobody waits for it any more. `joint` is
    set if it is a whole transaction.
    """

    opened: Opened
    kind: str
    child: str | None = None
    later: bool = False
    ending: bool = False
    joint: Joint | None = None

    @property
    def answers_later(self) -> bool:
        return self.later or self.opened.action.answers_later


class _Kept(NamedTuple):
    """A value that is written down: itself (so that its identity is not reused), how, and its size."""

    value: JSON
    doc: Stored
    size: int


class LiveExecution:
    """An execution under way, in memory."""

    __slots__ = (
        "_large",
        "_memo",
        "_session",
        "_values",
        "adopted",
        "buffer",
        "conducted_us",
        "doubtful",
        "entries",
        "execution",
        "given",
        "handing",
        "has_messages",
        "held",
        "id",
        "invocations",
        "memory_mb",
        "next",
        "offset_ms",
        "on_hold",
        "origin",
        "paused",
        "put_off",
        "redriven_ms",
        "resent",
        "slots",
        "steps_ms",
        "stuck_ms",
        "suspended",
        "terminated",
        "unsettled",
        "width",
    )  # fmt: skip

    def __init__(self, execution: Execution, origin: Origin, now_ms: int, entries: int = 0) -> None:
        self.id = execution.id
        self.execution = execution
        self.origin = origin
        self.entries = execution.entries = entries  # in its history
        self.invocations: dict[tuple[str, int], ActiveInvocation] = {}
        self.steps_ms = 0  # the sum of its parts
        self.memory_mb = 0  # of the largest of its parts
        self.conducted_us = 0.0  # the conductor's own time
        self.paused = False
        self.suspended = False  # an operator has paused it: no further step begins
        self.on_hold: list[tuple[str, Invoke]] = []  # its steps that wait for the operator
        self.put_off: set[tuple[str, int]] = (
            set()
        )  # steps that begin when others have had their turn
        self.terminated = False  # the executions that it started end at once, too
        self.width = 0  # its count: see `bounds`
        self.offset_ms: int | None = None  # its time, less the machine's elapsed time
        self.stuck_ms = 0  # since when
        self.redriven_ms = 0  # when it was redriven for the last time
        self.resent: AbstractSet[tuple[str, int]] = (
            _NONE  # steps of a saga that were sent before a crash
        )
        self.held: AbstractSet[str] = (
            _NONE  # steps that were not sent because the server was stopping
        )
        self.slots: dict[str, set[int]] | None = None  # fibers and turns: see `limits`
        self.unsettled = 0  # changes of it that are not committed yet
        self.adopted: dict[
            str, str
        ] = {}  # steps whose executions a redrive has taken over: their ids
        self.buffer: list[Entry] = []  # of an express execution
        self.given: JSON = None  # to a single action that nobody waits for
        self.has_messages = False  # its row says that there may be undelivered messages
        self.next = ""  # the run of its chain that goes on in its place
        self.handing: tuple[str, Invoke] | None = (
            None  # its step that begins this run, when updates are answered
        )
        self.doubtful = False  # whether a step of it has failed and may have had an effect
        self._large: dict[int, _Kept] = {}
        self._memo: dict[int, _Kept] = {}
        self._session, self._values = now_ms, 0  # so that keys are new after a restart, too

    @property
    def recorded(self) -> bool:
        """True if it is stored while it runs, and each of its steps has a record: it is not express, or one action."""
        return self.origin.solo or not self.origin.express

    @property
    def dormant(self) -> bool:
        """True if it may leave memory: nothing runs, and it waits for timers or for people."""
        busy = self.invocations or self.put_off or self.unsettled or self.execution.ready
        return not (busy or self.origin.express)

    @property
    def kind(self) -> str:
        """The kind in its activation; for a conductor action, not the kind of its code."""
        action = self.origin.action
        if self.origin.solo or not isinstance(action.exec, Code):
            return action.kind
        return SEQUENCE if self.execution.program is CONDUCTING else COMPOSITION

    @property
    def standing(self) -> str:
        """Its status while it is under way."""
        if self.execution.stuck:
            return STUCK
        return PAUSED if self.paused or self.suspended else RUNNING

    # --- its time ----------------------------------------------------------------------------

    def ahead_ms(self, clock: Clock, before_ms: int | None = None) -> int:
        """The difference between its time and the elapsed time, as it was when it came into memory.

        That is the clock's then, or what it was `before_ms` it left; more if a fiber began to wait later than that.
        """
        if self.offset_ms is None:
            elapsed_ms = int(clock.elapsed_us() // 1000)
            ahead_ms = clock.now_ms() - elapsed_ms if before_ms is None else before_ms
            self.offset_ms = max(ahead_ms, self.execution.since_ms - elapsed_ms)
        return self.offset_ms

    def now_ms(self, clock: Clock, least_ms: int = 0) -> int:
        """Its time. It goes on whatever the clock is set to, and is never before an instant that it waited for."""
        elapsed_ms, ahead_ms = int(clock.elapsed_us() // 1000), self.ahead_ms(clock)
        self.offset_ms = max(ahead_ms, least_ms - elapsed_ms)
        return elapsed_ms + self.offset_ms

    # --- writing -----------------------------------------------------------------------------

    def doubt(self, write: Write) -> None:
        """Notes that a step failed and may have had an effect: its parent's saga must know, also after a crash."""
        if self.origin.parent is None or self.doubtful:
            return
        self.doubtful = True
        if not self.origin.express:
            write.executions.append(self.row(self.standing, None))

    def hold_back(self, fiber: str, turn: int) -> None:
        """Notes that a step has not been sent because the server stops, or an operator has paused it."""
        if not isinstance(self.held, set):
            self.held = set(self.held)
        self.held.add(f"{fiber}:{turn}")

    def hold(self, fiber: str, turn: int, write: Write) -> None:
        """Notes that a step has not been sent, so that it is known not to have run after a crash."""
        self.hold_back(fiber, turn)
        if self.recorded:
            write.executions.append(self.row(self.standing, None))

    def write(self, changes: Changes, write: Write) -> None:
        """Writes the changes; those of an express execution only at its end."""
        if not self.recorded:
            self.buffer += changes.entries
            self.execution.entries = len(self.buffer)
            if changes.outcome is None:
                return
            entries, self.buffer = self.buffer, []
        else:
            entries = changes.entries
        origin = self.origin
        if entries and not origin.solo:
            keep = self.keeper(write)
            write.history.append((self.id, self.entries + 1, packed_entries(entries, keep)))
            self.entries += len(entries)
            self.execution.entries = self.entries
        if origin.express:
            return
        if changes.messages is not None:
            self._write_messages(changes.messages, write)
        for fiber in changes.fibers.values():
            write.fibers.append(self._fiber_row(fiber, write))
        for parent, turn in changes.dropped:
            write.dropped.append((self.id, f"{parent}/{turn}."))
        if changes.outcome is not None and not origin.solo:
            write.dropped.append((self.id, ""))

    def _write_messages(self, queued: InboxChanges, write: Write) -> None:
        write.documents += documents(self.id, queued, self.keeper(write))
        if queued.added and not self.has_messages:
            self.has_messages = True
            write.executions.append(self.row(self.standing, None))

    def forget_memo(self) -> None:
        """Forgets the values that were remembered for one write."""
        self._memo.clear()
        if self._large and len(self.execution.fibers) <= FEW_FIBERS:
            held = {id(v) for fiber in self.execution.fibers.values() for v in fiber.values()}
            self._large = {key: kept for key, kept in self._large.items() if key in held}

    def _fiber_row(self, fiber: Fiber, write: Write) -> FiberRow:
        body = {**fiber.to_json(self.keeper(write)), SEEN: self.entries}
        return FiberRow(self.id, fiber.id, fiber.due_ms, fiber.active, orjson.dumps(body))

    def keeper(self, write: Write) -> Callable[[JSON], Stored]:
        """A function from a value to its stored form."""
        return lambda value: self.keep(value, write).doc

    def keep(self, value: JSON, write: Write, text: bytes | None = None) -> _Kept:
        """The stored form of a value: in place, or a reference; `text` is its JSON, if known."""
        known = self._memo.get(id(value)) or self._large.get(id(value))
        if known is not None:
            return known
        if text is None:
            text = orjson.dumps(value)
        kept = _Kept(value, {"v": orjson.Fragment(text)}, len(text))
        if len(text) > INLINE_BYTES:
            self._values += 1
            key = f"{self._session:x}.{self._values}"
            write.values.append((self.id, key, text))
            kept = self._large[id(value)] = _Kept(value, {"r": key}, len(text))
        self._memo[id(value)] = kept
        return kept

    # --- rows --------------------------------------------------------------------------------

    def row(self, status: str, ended_ms: int | None, answers: Stored | None = None) -> ExecutionRow:
        """The execution as it is stored; once it has ended, with where its last answers are."""
        origin = self.origin
        action = origin.action
        body: Stored = {
            "program": self.execution.program.hash,
            "action": action.listed_as.text,
            "version": action.version,
            "kind": self.kind,
            "limits": action.limits.to_list(),
        }
        if status == STUCK:
            body["stuck"] = self.stuck_ms
        if answers is not None:
            body["answers"] = answers
        body |= self._beyond_defaults() | origin.beyond_defaults(self.id)
        return ExecutionRow(
            id=self.id,
            namespace=origin.namespace,
            name=action.listed_as.path,
            status=status,
            started_ms=origin.started_ms,
            ended_ms=ended_ms,
            body=orjson.dumps(body),
        )

    def _beyond_defaults(self) -> Stored:
        """The members of a row that most executions do without."""
        told: Stored = {
            "generation": self.execution.generation,
            "next": self.next,
            "adopted": self.adopted,
            "suspended": self.suspended,
            "held": sorted(self.held),
            "doubtful": self.doubtful,
            "messages": self.has_messages,
            "redriven": self.redriven_ms,
        }
        return {name: value for name, value in told.items() if value}

    def waiting(
        self, opened: Opened, completion: Completion, fiber: str, until_ms: int | None, write: Write
    ) -> None:
        """Writes the record of an activation that has run and waits for its callback."""
        waited_ms = max(0, completion.started_ms - opened.asked_ms)
        body: Stored = {
            "about": orjson.Fragment(opened.action.about),
            "execution": self.id,
            "closed": [*Closed(None, None, waited_ms, False, None, None, completion.logs)],
            "waiting": {
                "executionId": self.id,
                "fiber": fiber,
                "since": completion.ended_ms,
                "until": until_ms,
            },
        }
        row = _activation_row(opened, completion, WAITING, orjson.dumps(body))
        write.activations.append(row)

    def activation(
        self,
        opened: Opened,
        completion: Completion,
        write: Write,
        conducted: Conducted | None = None,
    ) -> None:
        """Writes the record of an activation that has ended."""
        outcome = completion.outcome
        kept = self.keep(outcome.value, write)
        code = outcome.code if isinstance(outcome, Failure) else None
        how = closed(opened, completion, conducted)
        body = packed_activation(opened, how, (kept.size, kept.doc), code, self.id)
        write.activations.append(_activation_row(opened, completion, status_of(outcome), body))


def _activation_row(
    opened: Opened, completion: Completion, status: int, body: bytes
) -> ActivationRow:
    return ActivationRow(
        opened.id,
        opened.namespace,
        opened.name or opened.action.listed_as.path,
        completion.started_ms,
        status,
        opened.cause,
        body,
        opened.kind or opened.action.kind,
    )
