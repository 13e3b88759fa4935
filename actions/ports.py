"""The ports to the outside. `infra` implements them, and `tests/contracts` tests their laws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from ..composer import JSON
    from .attributes import Indexed
    from .documents import Document
    from .filters import Filter
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
    """Makes ids. Law: never the same id twice."""

    def execution_id(self, now_ms: int) -> str:
        """32 lowercase hexadecimal digits that begin with the time, so that neighbours are stored together."""


# --- the system of record ----------------------------------------------------------------------


class ExecutionRow(NamedTuple):
    """A stored execution. `ended_ms` is None while it is under way; `body` is JSON."""

    id: str
    namespace: str
    name: str
    status: str
    started_ms: int
    ended_ms: int | None
    body: bytes


class FiberRow(NamedTuple):
    """A stored fiber.

    `due_ms` is the time of its timer; `active` is True if recovery must resume the fiber at once after a crash,
    and False if the fiber waits for an event.
    """

    execution: str
    fiber: str
    due_ms: int | None
    active: bool
    body: bytes


class ActivationRow(NamedTuple):
    """A stored record of an activation.

    `name` is the action's with its package, `status` OpenWhisk's 0 to 3, `body` the record's JSON,
    `kind` a kind of code, or `sequence`, `composition`, `trigger`, ...

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
class Expiry:
    """A request to delete what is old: about `count` activations that began before an instant.

    A store deletes whole commits, the oldest first, until they have `count` records, and only those whose
    activations all began before the instant; then executions that ended before it and have no activations
    left, with their histories and large values. The store sets `more` if it may have left some for the next
    request. `now_ms` is the time of the request: what a store must write again counts as written then.
    """

    before_ms: int
    count: int
    more: bool = False
    now_ms: int = 0


@dataclass(slots=True)
class Write:
    """Changes that are committed together, or not at all.

    executions, fibers, activations, documents: replace rows with the same key.
    forgotten: executions to delete with all their rows, except activations and the values these refer to.
    dropped: fibers of an execution whose ids begin with a prefix ("" for all).
    history: (execution, number of the first entry, a JSON list of entries); read in order of number.
    values: (execution, key, JSON): large values, referred to from elsewhere.
    indexed: the values under which executions are found; an execution's replace those before, and go with it.
    expired: deletes some of what is old.
    """

    executions: list[ExecutionRow] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    fibers: list[FiberRow] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    history: list[tuple[str, int, bytes]] = field(default_factory=list)
    activations: list[ActivationRow] = field(default_factory=list)
    values: list[tuple[str, str, bytes]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    indexed: list[Indexed] = field(default_factory=list)
    expired: Expiry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for executions or activations. Times are inclusive, in milliseconds since the epoch.

    `namespace` None is for all namespaces. `cause` and `kind` apply to activations only. `where` applies to
    executions, and says their order; with it, `after` are the instant that they are ordered by, and the id, of
    the execution after which the page begins.
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
    where: Filter | None = None
    after: tuple[int, str] | None = None


TAIL_LISTS = 32  # lists of entries: between two rows of a fiber lie at most so many


@dataclass(frozen=True, slots=True)
class Saved:
    """A stored execution with its fibers.

    `tail` are the newest lists of its history, at most `TAIL_LISTS`, the oldest of them first; None if the
    history was not read.
    """

    execution: ExecutionRow
    fibers: list[FiberRow]
    tail: list[tuple[int, bytes]] | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything under way when a server starts, or a page of it in the order of executions' ids.

    `active` are the executions to resume at once; `timers` those of all fibers: (due_ms, execution, fiber);
    `executions` the rows of all that have not ended and have fibers, active or waiting. `last` is the id after
    which the next page begins; None for the last page. `saved` are the executions that were asked for by id.
    """

    active: list[str]
    timers: list[tuple[int, str, str]]
    executions: list[ExecutionRow] = field(default_factory=list)
    last: str | None = None
    saved: list[Saved] = field(default_factory=list)


Record = TypeVar("Record", ExecutionRow, ActivationRow)


class Store(Protocol):
    """The system of record.

    Laws: a commit is all or nothing, and durable when it returns; every later read sees its changes; fibers are
    dropped after those of the same commit are put; a write whose documents do not have their expected versions
    has no effect and is reported, and does not affect the other writes. An operation that is impossible at present
    raises `UnavailableError` with the reason: then a commit has had no effect and never will. If that is not
    certain the error is an `InDoubtError`; committing the same writes again finds out.
    """

    async def commit(self, writes: Sequence[Write]) -> list[int]:
        """Commits all writes at once, in order. Returns the indexes of refused writes."""

    async def standing(
        self, after: str = "", limit: int | None = None, *, of: Sequence[str] | None = None
    ) -> Standing:
        """Everything under way, or at most `limit` executions after an id.

        With `of`, only `saved`: these executions that exist, in any order, each with its fibers and the tail of
        its history. One whose rows are damaged is left out: `load` says what is wrong.
        """

    async def load(self, execution: str) -> Saved | None:
        """An execution and its fibers."""

    async def history(self, execution: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        """At most `limit` lists of entries, from the one that holds entry `after` + 1 on."""

    async def values(self, execution: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Large values by key."""

    async def find(self, kind: type[Record], query: Query) -> list[Record]:
        """Executions or activations that match, the newest first."""

    async def count(self, kind: type[ExecutionRow | ActivationRow], query: Query) -> int:
        """The number of matches, regardless of the query's page."""

    def documents(
        self, kind: str, prefix: str = "", *, after: str | None = None, limit: int | None = None
    ) -> AsyncIterator[Document]:
        """Documents of a kind whose keys begin with `prefix`, in order: at most `limit` of those after a key."""


# --- invokers ----------------------------------------------------------------------------------


class Invoker(Protocol):
    """Runs actions of some kinds.

    Laws: `invoke` returns at once, and `done` is called exactly once for it, later and in the event
    loop, in any case; after `cancel` it is called soon. An invoker never raises for a failure of an action.
    """

    kinds: frozenset[str]

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Runs an action, and calls `done` with its completion."""

    def cancel(self, activation: str) -> None:
        """Stops an action whose result nothing waits for any more, if that is possible."""


@runtime_checkable
class PromptInvoker(Invoker, Protocol):
    """Runs some actions in this process, so that a caller who can take the completion at once need not wait.

    Laws: as `Invoker`'s; `done` is called exactly once for a `run` that returns None, and never for another.
    """

    def run(self, invocation: Invocation, done: Callable[[Completion], None]) -> Completion | None:
        """Runs an action as `invoke` does. Returns its completion if it has ended by then."""


@runtime_checkable
class RemoteInvoker(Invoker, Protocol):
    """Runs actions on clouds, which may accept a run and return its result later.

    Laws: as `Invoker`'s; a completion with a ticket is not the end: `resume` is called with the ticket once it
    is durable, and again after each crash; then `done` is called exactly once more.
    """

    def resume(
        self,
        invocation: Invocation,
        ticket: dict[str, JSON],
        done: Callable[[Completion], None],
    ) -> None:
        """Polls for the result of an accepted action, and calls `done` with its completion."""
