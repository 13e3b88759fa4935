"""The entities in the engine's memory: each has a mailbox, and performs one operation at a time.

The writes of an entity are committed with the step that they answer: if the completion of a step is
durable, so is the step's effect on the entity, and otherwise there is none. Therefore entities remember
nothing of steps. Other messages (a call of a single action) may come twice, and leave a tombstone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ....actions import Completion, UnavailableError
from ....transactions import (
    MALFORMED,
    DeletePrepared,
    MessageError,
    Operate,
    Participant,
    Request,
    key_of,
    parsed,
    refusal,
)
from ..timers import Timers
from .deliveries import Deliveries
from .documents import STATE, name_of, read_entity
from .doubts import Doubts
from .mailbox import Mailbox
from .together import Together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....actions import Document, Invocation, Invoker
    from ....transactions import Prepared
    from ..joint import Joint
    from ..shared import Parts
    from ..tick import Tick
    from .doubts import Found
    from .mailbox import Done

log = logging.getLogger(__name__)


class Mailboxes:
    """Loads entities, hands them their messages, and removes those at rest from memory."""

    def __init__(
        self,
        parts: Parts,
        tick: Tick,
        invokers: Mapping[str, Invoker],
        found: Found,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._store, self._clock, self._tasks = parts.store, parts.clock, tasks
        self._settings = parts.settings
        self._boxes: OrderedDict[str, Mailbox] = OrderedDict()
        self._to_load: list[Mailbox] = []
        self._stopped = False
        self._timers: Timers[str] = Timers(parts.clock, self._ring)
        self._doubts = Doubts(parts, tick, found, tasks, self._receive_decision)
        self._deliveries = Deliveries(
            parts, tick, invokers, self._doubts, self._timers, self._discard
        )

        self._together = Together(parts, self._mailbox, self._deliveries)

    async def load(self) -> None:
        """Loads the votes in doubt; call it before any entity receives a message."""
        await self._doubts.load()

    def stop(self) -> None:
        """Stops all timers."""
        self._stopped = True
        self._timers.stop()
        self._doubts.stop()

    def gauges(self) -> dict[str, int]:
        """Current numbers for the metrics."""
        return {"entities_in_memory": len(self._boxes), **self._doubts.gauges()}

    # --- messages ------------------------------------------------------------------------------

    def receive(self, invocation: Invocation, done: Done, *, once: bool) -> None:
        """Delivers a message to an entity.

        Args:
            invocation: of the entity's action; the parameters are the message.
            done: takes the completion, whose documents must be committed with it.
            once: if the message cannot come twice.
        """
        try:
            name = name_of(str(invocation.action.name), key_of(invocation.params))
            message = parsed(invocation.params)
        except MessageError as error:
            now_ms = self._clock.now_ms()
            done(Completion(refusal(MALFORMED, str(error)), now_ms, now_ms))
            return
        if not once and not isinstance(message, Operate):
            stranger = replace(message.transaction, coordinator=None)  # not one that we can ask
            message = replace(message, transaction=stranger)
        request = Request(invocation.activation, message, once)
        self._deliveries.begin(self._mailbox(name), request, invocation, done)

    def transact(self, joint: Joint, by: str, key: str | None, done: Done) -> None:
        """Performs a whole transaction; see `Together.begin`."""
        self._together.begin(joint, by, key, done)

    def withdraw(self, activation: str) -> bool:
        """Withdraws a message, or a whole transaction, that needs no answer any more.

        Returns:
            False if there is none.
        """
        return self._together.withdraw(activation) or self._deliveries.withdraw(activation)

    def _mailbox(self, name: str) -> Mailbox:
        """Returns the mailbox of an entity, which is loaded if it is not in memory."""
        box = self._boxes.get(name)
        if box is None:
            box = self._boxes[name] = Mailbox(name)
            self._to_load.append(box)
            if len(self._to_load) == 1:
                self._tasks.create_task(self._load_all())
        elif box.participant is not None:
            self._boxes.move_to_end(name)
        return box

    def _ring(self, name: str, _: str) -> None:
        """A transaction has held or wanted a lock for too long."""
        box = self._boxes.get(name)
        if box is not None and box.participant is not None:
            box.due_ms = 0
            self._deliveries.apply(box, box.participant.expire, self._clock.now_ms())

    # --- loading and sweeping ------------------------------------------------------------------

    async def _load_all(self) -> None:
        while self._to_load:
            await self._load(self._to_load.pop(0))
        self._sweep()

    async def _load(self, box: Mailbox) -> None:
        """Loads an entity, and delivers the requests that have come meanwhile."""
        try:
            stored = read_entity(box.name, await self._documents(box.name))
        except Exception:
            log.exception("entity %s cannot be loaded", box.name.strip())
            self._deliveries.fail(box, "The entity could not be read; the log has the cause.")
            return
        votes = self._doubts.votes_of(box.name)
        box.participant = Participant(stored.row, votes, stored.tombstones)
        box.loaded.set()
        self._deliveries.begin_early(box, box.participant)

    async def _documents(self, name: str) -> list[Document]:
        """Reads an entity's documents, and tries again while the store is unavailable."""
        while True:
            try:
                return [document async for document in self._store.documents(STATE, name)]
            except UnavailableError as error:
                if self._stopped:
                    raise
                log.warning("entity %s cannot be read; trying again: %s", name.strip(), error)
                await asyncio.sleep(self._settings.pacing.entity_retry_s)  # noqa: TID251  the store may work again soon

    async def _present(self, name: str) -> Mailbox:
        """Returns an entity's mailbox when it is loaded, or could not be."""
        box = self._boxes.get(name)
        if box is None:
            box = self._boxes[name] = Mailbox(name)
            await self._load(box)
        await box.loaded.wait()
        return box

    def _sweep(self) -> None:
        """Removes mailboxes at rest from memory, the longest unused first, if there are too many."""
        surplus = len(self._boxes) - self._settings.mailboxes
        if surplus <= 0:
            return
        for name, box in list(self._boxes.items())[: 2 * surplus]:
            if box.at_rest:
                del self._boxes[name]

    def _discard(self, box: Mailbox) -> None:
        self._boxes.pop(box.name, None)

    # --- decisions -----------------------------------------------------------------------------

    def _receive_decision(self, name: str, request: Request) -> None:
        """Delivers a decision that the coordinator has given when it was asked."""
        box = self._boxes.get(name)
        if box is not None and box.participant is not None:
            self._deliveries.apply(box, box.participant.receive, request, self._clock.now_ms())
        else:
            self._tasks.create_task(self._load_and_decide(name, request))

    async def _load_and_decide(self, name: str, request: Request) -> None:
        box = await self._present(name)
        if box.participant is not None:
            self._deliveries.apply(box, box.participant.receive, request, self._clock.now_ms())
        else:  # it cannot be read now
            self._doubts.ask_later(name, request.transaction)

    @property
    def votes(self) -> Mapping[str, Mapping[str, Prepared]]:
        """The votes whose transactions have not ended, by the entity's name and the transaction."""
        return self._doubts.votes

    async def decide_by_hand(
        self, name: str, transaction: str, *, commits: bool, by: str, reason: str
    ) -> None:
        """Applies an operator's decision to an entity in doubt."""
        box = await self._present(name)
        participant = box.participant
        prepared = participant.prepared if participant is not None else None
        if participant is not None and prepared and prepared.transaction.id == transaction:
            now_ms = self._clock.now_ms()
            decide = partial(
                participant.decide_by_hand, commits=commits, by=by, reason=reason, now_ms=now_ms
            )
            self._deliveries.apply(box, decide)

    async def forget(self, name: str, transaction: str) -> None:
        """Forgets an operator's decision."""
        box = await self._present(name)
        if box.participant is not None:
            box.participant.forget(transaction)
        self._deliveries.save(box, [DeletePrepared(transaction)])
