"""Votes of yes that wait for their decisions, and the inquiries to coordinators that are silent."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ....composer import decision
from ....transactions import Decide, Request, Transaction
from ..timers import Timers
from .documents import PREPARED, read_vote

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from ....transactions import Prepared
    from ..live import LiveExecution
    from ..shared import Parts
    from ..tick import Tick

log = logging.getLogger(__name__)

Found: TypeAlias = "Callable[[str], Awaitable[LiveExecution | None]]"
"""Brings an execution into memory by its id; None if it has ended."""

ASK_AT_MOST_MS = 60_000  # between inquiries about a decision


class Doubts:
    """Keeps votes until their transactions end, and asks coordinators for overdue decisions.

    Args:
        parts: of the engine.
        tick: commits what coordinators have decided, before an entity acts on it.
        found: brings the execution that coordinates into memory.
        tasks: of the engine; an inquiry is one.
        deliver: delivers a decision to an entity, given its name.
    """

    def __init__(
        self,
        parts: Parts,
        tick: Tick,
        found: Found,
        tasks: asyncio.TaskGroup,
        deliver: Callable[[str, Request], None],
    ) -> None:
        self._store, self._clock = parts.store, parts.clock
        self._tick, self._found, self._tasks, self._deliver = tick, found, tasks, deliver
        self._inquiry_ms = parts.settings.pacing.inquiry_ms
        self._votes: dict[str, dict[str, Prepared]] = {}  # by entity and transaction
        self._waits_ms: dict[str, int] = {}  # before the next inquiry, by transaction
        self._timers: Timers[str] = Timers(parts.clock, self._ring)

    @property
    def votes(self) -> Mapping[str, Mapping[str, Prepared]]:
        """The votes whose transactions have not ended, by the entity's name and the transaction."""
        return self._votes

    async def load(self) -> None:
        """Loads the stored votes; call it before any entity receives a message."""
        async for document in self._store.documents(PREPARED):
            name, vote = read_vote(document)
            id = vote.transaction.id
            self._votes.setdefault(name, {})[id] = vote
            if vote.heuristic is None:
                self.ask_later(name, id)

    def stop(self) -> None:
        """Stops the inquiries."""
        self._timers.stop()

    def votes_of(self, name: str) -> Iterable[Prepared]:
        """The votes of one entity."""
        return self._votes.get(name, {}).values()

    def put(self, name: str, vote: Prepared) -> None:
        """Keeps a vote, new or changed."""
        id = vote.transaction.id
        new = id not in self._votes.get(name, {})
        self._votes.setdefault(name, {})[id] = vote
        if new:
            self.ask_later(name, id)

    def remove(self, name: str, id: str) -> None:
        """Drops the vote of a transaction that has ended."""
        self._votes[name].pop(id)
        if not self._votes[name]:
            del self._votes[name]

    def gauges(self) -> dict[str, int]:
        """The number of votes in doubt, and the age of the oldest in seconds."""
        votes = [vote for found in self._votes.values() for vote in found.values()]
        since = [vote.since_ms for vote in votes if vote.heuristic is None]
        now_ms = self._clock.now_ms()
        longest_ms = max(0, now_ms - min(since, default=now_ms))
        return {"in_doubt": len(since), "in_doubt_longest_s": longest_ms // 1000}

    # --- inquiries -----------------------------------------------------------------------------

    def ask_later(self, name: str, id: str) -> None:
        """Asks the coordinator for its decision after a while, unless the decision comes first."""
        wait_ms = self._waits_ms.get(id, self._inquiry_ms)
        self._waits_ms[id] = min(2 * wait_ms, ASK_AT_MOST_MS)
        self._timers.arm(self._clock.now_ms() + wait_ms, name, id)

    def _ring(self, name: str, id: str) -> None:
        self._tasks.create_task(self._inquire(name, id))

    async def _inquire(self, name: str, id: str) -> None:
        vote = self._votes.get(name, {}).get(id)
        if vote is None or vote.heuristic is not None:
            self._waits_ms.pop(id, None)
            return
        try:
            decided = await self._decision(vote)
        except Exception:
            log.exception("the coordinator of transaction %s cannot be asked; trying later", id)
            decided = "undecided"
        if decided == "undecided":
            self.ask_later(name, id)
            return
        decide = partial(self._decide, name, vote, commits=decided == "commit")
        self._tick.gathering.effects.append(decide)  # the decision may not be durable yet
        self._tick.wake()

    async def _decision(self, vote: Prepared) -> str:
        """Asks the coordinator. A coordinator that does not exist has committed nothing."""
        if vote.transaction.coordinator is None:
            return "undecided"
        execution = vote.transaction.coordinator.partition("/")[0]
        saved = await self._store.load(execution)
        if saved is None or saved.execution.ended_ms is not None:
            return "abort"  # it stays until every participant knows that it has committed
        run = await self._found(execution)
        if run is None:
            return "undecided"
        return decision(run.execution.fibers.values(), vote.transaction.id)

    def _decide(self, name: str, vote: Prepared, *, commits: bool) -> None:
        id = vote.transaction.id
        if id not in self._votes.get(name, {}):
            return
        transaction = Transaction(id, started_ms=0, deadline_ms=0, epoch=vote.transaction.epoch)
        self._deliver(name, Request(f"decided {id}", Decide(transaction, commits)))
