"""What this service needs of the world. `infra` has the implementations, `tests/contracts` the laws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ..composer import JSON
    from .documents import Document
    from .invocation import Invocation
    from .outcome import Completion


class Clock(Protocol):
    """The time.

    Laws: `now_ms` goes back only when the machine's own clock is set back; `elapsed_us` never does, and counts
    on while the machine sleeps, if the machine can tell.
    """

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def elapsed_us(self) -> float:
        """Microseconds since some instant, whatever the clock is set to; for durations."""


class Ids(Protocol):
    """Names for what has none. Law: never the same twice."""

    def execution_id(self, now_ms: int) -> str:
        """32 lowercase hexadecimal digits that begin with the time, so that neighbours lie together."""


# --- the system of record ----------------------------------------------------------------------


class ExecutionRow(NamedTuple):
    """An execution as it is stored. `ended_ms` is None while it is under way; `body` is JSON."""

    id: str
    namespace: str
    name: str
    status: str
    started_ms: int
    ended_ms: int | None
    body: bytes


class FiberRow(NamedTuple):
    """A fiber as it is stored.

    `due_ms` is when its timer fires; `active` whether it must be taken up at once after a crash,
    rather than when something happens to it.
    """

    execution: str
    fiber: str
    due_ms: int | None
    active: bool
    body: bytes


class ActivationRow(NamedTuple):
    """An activation's record.

    `name` is the action's with its package, `status` OpenWhisk's 0 to 3, `body` the record's JSON,
    `kind` what ran: a kind of code, `sequence`, `composition`, `trigger`, ...

    `cause` is the execution that it is a step of; the ids of both begin with the same 12 digits.
    """

    id: str
    namespace: str
    name: str
    started_ms: int
    status: int
    cause: str | None
    body: bytes
    kind: str = ""


@dataclass(slots=True)
class Write:
    """What is committed as a whole, or not at all.

    executions, fibers, activations, documents: put in place of what has the same key.
    forgotten: executions of which nothing is to be left but activations, and values these refer to.
    dropped: fibers of an execution whose ids begin with a prefix ("" for all).
    history: (execution, number of the first entry, a JSON list of entries); read in order of number.
    values: (execution, key, JSON): large values, referred to from elsewhere.
    expired: (instant, count): so many activations at most that began before the instant are deleted,
        the oldest first, and executions that ended before it, with their large values.
    """

    executions: list[ExecutionRow] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    fibers: list[FiberRow] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    history: list[tuple[str, int, bytes]] = field(default_factory=list)
    activations: list[ActivationRow] = field(default_factory=list)
    values: list[tuple[str, str, bytes]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    expired: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which records to list. Times are inclusive, in milliseconds since the epoch.

    `namespace` None is for all of them. `cause` and `kind` are not asked of executions.
    """

    namespace: str | None
    id: str | None = None
    name: str | None = None
    status: str | int | None = None
    cause: str | None = None
    kind: str | None = None
    since_ms: int | None = None
    upto_ms: int | None = None
    skip: int = 0
    limit: int = 30


@dataclass(frozen=True, slots=True)
class Saved:
    """An execution as it was stored, with its fibers."""

    execution: ExecutionRow
    fibers: list[FiberRow]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a server finds when it starts.

    `active` are the executions to be taken up at once; `timers` those of all fibers: (due_ms,
    execution, fiber); `executions` the rows of all that have not ended and have fibers, active or waiting.
    """

    active: list[str]
    timers: list[tuple[int, str, str]]
    executions: list[ExecutionRow] = field(default_factory=list)


Record = TypeVar("Record", ExecutionRow, ActivationRow)


class Store(Protocol):
    """The system of record.

    Laws: a commit is all or nothing and durable when it returns; what a commit has written is read by
    every later read; fibers are dropped after those of the same commit are put; a write whose
    documents are not as it expects has no effect and is reported, and has no effect on the others.
    Whatever cannot be done now raises `UnavailableError`, whose text says why: then a commit has had no
    effect and never will have. When that is not certain it is an `InDoubtError`; the same writes
    committed again find out.
    """

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        """Commits all writes at once, in order. Returns the indexes of those refused."""

    async def standing(self) -> Standing:
        """Everything under way."""

    async def load(self, execution: str) -> Saved | None:
        """An execution and its fibers."""

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        """At most `limit` lists of entries, from the one that holds entry `after` + 1 on."""

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Large values by key."""

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        """Executions or activations that fit, the newest first."""

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        """How many fit, whatever the query's page."""

    def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        """Documents of a kind whose key begins with `prefix`, by key: those after one, so many."""


# --- what runs actions -------------------------------------------------------------------------


class Invoker(Protocol):
    """Runs actions of some kinds.

    Laws: `invoke` returns at once and `done` is called exactly once for it, later and in the event
    loop, whatever happens; after `cancel` it is called soon. An invoker never raises for what an
    action does.
    """

    kinds: frozenset[str]

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Runs an action and hands in what came of it."""

    def cancel(self, activation: str) -> None:
        """Nobody waits for it any more: stop it if that can be done."""


@runtime_checkable
class RemoteInvoker(Invoker, Protocol):
    """Runs actions elsewhere, where one may be taken in now and answer later.

    Laws: as `Invoker`'s; a completion with a ticket is no end, and `resume` is called with it once it
    is durable, and again after each crash; then `done` is called exactly once more.
    """

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        """Asks after an action that was taken in, and hands in what came of it."""
