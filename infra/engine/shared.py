"""The parts, settings and counters that the engine's modules share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from ...actions import MAX_BATCH_BYTES, MAX_EVENTS, Quotas, Usage
from ...composer import MAX_EVENT_BYTES, Limits
from .hooks import NoHooks
from .threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...actions import Catalog, Clock, Ids, Store
    from .hooks import Hooks
    from .live import LiveExecution

AT_ONCE = 600  # steps of expressions in one transition, about 2 us each; a thread makes longer ones


@dataclass(slots=True)
class Counters:
    """Counts of events since the start, for metrics."""

    started: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    continued: int = 0  # as another run of their chains
    steps: int = 0
    steps_failed: int = 0
    stale: int = 0  # completions, timers and cancellations that came late or twice
    recovered: int = 0
    withdrawn: int = 0  # executions that the store did not take in time
    damaged: int = 0  # transactions that an operator had decided otherwise
    letters: int = 0  # calls that became dead letters
    letters_dropped: int = 0  # dead letters that went for newer ones
    events_accepted: int = 0  # CloudEvents that are durable
    events_duplicates: int = 0  # CloudEvents that were accepted before
    events_conflicts: int = 0  # of these, those with another content
    events_refused: int = 0  # CloudEvents for which there was no room
    events_matched: int = 0  # CloudEvents that reached a trigger
    events_unclaimed: int = 0  # CloudEvents that no trigger was there for

    def ended(self, status: str) -> None:
        """Counts an execution that has ended like this."""
        if status == "succeeded":
            self.succeeded += 1
        elif status == "cancelled":
            self.cancelled += 1
        elif status == "continued":
            self.continued += 1
        else:
            self.failed += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """The deadlines of commits, and the pauses before something is tried again.

    Args:
        commit_deadline_s: of a commit, until nobody is kept waiting for it.
        commit_grace_s: in which an attempt that is under way may still say that it has failed.
        commit_retry_s: between attempts to commit, when the store fails.
        recovery_retry_s: before the second attempt to recover an execution that cannot be loaded.
        visit_retry_s: before the second attempt to load an execution that something asks for.
        entity_retry_s: between attempts to read an entity, when the store fails.
        inquiry_ms: before an entity asks for the decision about a transaction the first time.
        look_s: between looks at the clock, which may be set.
    """

    commit_deadline_s: float = 1.5
    commit_grace_s: float = 0.4
    commit_retry_s: float = 0.25
    recovery_retry_s: float = 5.0
    visit_retry_s: float = 0.5
    entity_retry_s: float = 0.5
    inquiry_ms: int = 1_000
    look_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBounds:
    """The limits of CloudEvents.

    Args:
        batch: CloudEvents that are accepted at once.
        batch_bytes: their size, as JSON.
        event_bytes: size of one, as JSON.
        pending: CloudEvents of a namespace that are accepted and not matched with triggers yet.
        pending_bytes: their size.
        all_pending: those of all namespaces.
        all_pending_bytes: their size.
        horizon_ms: how long a second delivery of a CloudEvent is recognized.
        remembered_bytes: size of the documents in which the rules of a namespace keep what they remember.
    """

    batch: int = MAX_EVENTS
    batch_bytes: int = MAX_BATCH_BYTES
    event_bytes: int = MAX_EVENT_BYTES
    pending: int = 10_000
    pending_bytes: int = 64 << 20
    all_pending: int = 100_000
    all_pending_bytes: int = 256 << 20
    horizon_ms: int = 7 * 24 * 3600 * 1000
    remembered_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The limits of executions.

    Args:
        limits: of the machine, for each execution.
        quotas: of a namespace, by its name.
        nesting: compositions that invoke compositions.
        result_bytes: of results of actions of these kinds, where they may have more than other values.
        letters: dead letters that are kept of a namespace.
        mailboxes: entities that stay in memory without requests.
        dormant: executions that were told messages lately and stay in memory while they wait.
        definitions: hashes of stored definitions that are remembered.
        express_events: history entries of an execution that is in memory only.
        followed: activations that a reader of logs may be behind.
        page_bytes: size of the records in one page of logs; an action may log megabytes.
        pacing: deadlines and pauses.
        events: limits of CloudEvents.
    """

    limits: Limits = field(default_factory=lambda: Limits(one_store=True))
    quotas: Callable[[str], Quotas] = lambda _: Quotas()
    nesting: int = 32
    result_bytes: Mapping[str, int] = field(default_factory=dict)
    letters: int = 1000
    mailboxes: int = 10_000
    dormant: int = 2_000
    definitions: int = 10_000
    express_events: int = 200_000
    followed: int = 10_000
    page_bytes: int = 4 << 20
    pacing: Pacing = field(default_factory=Pacing)
    events: EventBounds = field(default_factory=EventBounds)

    def signed(self, key: bytes) -> Self:
        """The settings with the key that signs tasks' tokens, and a bound for expressions if they have none."""
        limits = replace(self.limits, signing=key)
        if limits.at_once is None:
            limits = replace(limits, at_once=AT_ONCE)
        return replace(self, limits=limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that all of the engine's modules use."""

    clock: Clock
    ids: Ids
    catalog: Catalog
    store: Store
    settings: EngineSettings
    hooks: Hooks = field(default_factory=NoHooks)
    runs: dict[str, LiveExecution] = field(default_factory=dict)  # those in memory
    ended: set[str] = field(default_factory=set)  # those whose end is not committed yet
    handed: dict[str, str] = field(
        default_factory=dict
    )  # of those, the runs that go on in their place
    usage: dict[str, Usage] = field(default_factory=dict)  # by namespace
    counters: Counters = field(default_factory=Counters)
    threads: Threads = field(default_factory=Threads)
    stuck: dict[str, int] = field(default_factory=dict)  # executions, and since when
    attributes: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # types, by namespace and name
    offspring: dict[str, dict[str, str]] = field(default_factory=dict)  # see `children`

    def used(self, namespace: str) -> Usage:
        """The current usage of a namespace."""
        usage = self.usage.get(namespace)
        if usage is None:
            usage = self.usage[namespace] = Usage()
        return usage
