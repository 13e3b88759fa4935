"""Whole transactions: all participants are entities of this store, so no vote and no decision is stored.

The participants are locked in order; each performs its operations on a copy of its state, which it keeps with
its lock until the transaction ends. When all have worked, the transaction commits in one turn: the new rows of
all participants are the documents of one completion, committed with the step that asked for them. Until then
nothing of the transaction is stored, so that a crash, a refusal or a cancellation leaves nothing to be undone.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ....actions import INTERNAL_ERROR, Completion, Invocation
from ....composer import Failure, Success, boxed
from ....transactions import APART, LOST, Request, Work, no_vote, refusal
from .deliveries import ENVELOPE_BYTES
from .documents import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Opened
    from ....composer import JSON
    from ....transactions import Effect, Participant, Share
    from ..joint import Joint
    from ..shared import Parts
    from .deliveries import Deliveries
    from .mailbox import Done, Mailbox

log = logging.getLogger(__name__)


class _Whole:
    """A transaction under way: how far it has come, and what its participants have answered."""

    __slots__ = ("boxes", "by", "done", "joint", "key", "over", "results", "started_ms", "waiting")

    def __init__(self, joint: Joint, by: str, key: str | None, done: Done, now_ms: int) -> None:
        self.joint, self.by, self.key, self.done, self.started_ms = joint, by, key, done, now_ms
        self.boxes: list[Mailbox] = []  # of those that have been asked
        self.results: list[JSON] = []  # of those that have answered
        self.waiting = False  # for an answer that comes later
        self.over = False

    @property
    def asked(self) -> Opened:
        """The activation of the participant that works now."""
        return self.joint.members[len(self.results)].opened


class Together:
    """Performs whole transactions.

    Args:
        parts: of the engine.
        mailbox: finds or makes the mailbox of an entity, by its name.
        deliveries: hands requests to entities.
    """

    def __init__(
        self, parts: Parts, mailbox: Callable[[str], Mailbox], deliveries: Deliveries
    ) -> None:
        self._clock, self._mailbox, self._deliveries = parts.clock, mailbox, deliveries
        self._room = parts.settings.limits.value_bytes - ENVELOPE_BYTES
        self._under_way: dict[str, _Whole] = {}  # by activation

    def begin(self, joint: Joint, by: str, key: str | None, done: Done) -> None:
        """Begins a transaction.

        Args:
            joint: the transaction.
            by: the execution that asks for it.
            key: its idempotency key, if it has one.
            done: takes the completion, whose documents must be committed with it.
        """
        whole = _Whole(joint, by, key, done, self._clock.now_ms())
        self._under_way[joint.id] = whole
        self._work(whole)

    def withdraw(self, activation: str) -> bool:
        """Ends a transaction that needs no answer any more: it has no effect.

        Returns:
            False if there is none with this activation.
        """
        whole = self._under_way.pop(activation, None)
        if whole is None:
            return False
        whole.over = True
        self._deliveries.withdraw(whole.asked.id)
        self._release(whole)
        return True

    # --- work ----------------------------------------------------------------------------------

    def _work(self, whole: _Whole) -> None:
        """Asks the participants, one after the other. One that answers at once does not nest."""
        members = whole.joint.members
        while (at := len(whole.results)) < len(members):
            member = members[at]
            box = self._mailbox(name_of(member.type, member.share.key))
            whole.boxes.append(box)
            if member.share.calls is None:
                whole.results.append(None)
                continue
            whole.waiting = False
            self._ask(whole, box, member.opened, member.share)
            if whole.over:
                return
            if len(whole.results) == at:
                whole.waiting = True
                return
        self._conclude(whole)

    def _ask(self, whole: _Whole, box: Mailbox, opened: Opened, share: Share) -> None:
        work = Work(whole.joint.transaction, 1, share.calls or (), True, whole.by, True)
        invocation = Invocation(
            opened.id,
            opened.action,
            {"key": share.key},
            opened.namespace,
            "",
            transaction=whole.by,
            key=whole.key,
        )
        heard = partial(self._heard, whole, opened)
        self._deliveries.begin(box, Request(opened.id, work), invocation, heard)

    def _heard(self, whole: _Whole, opened: Opened, completion: Completion) -> None:
        """A participant has answered."""
        if whole.over:
            return
        outcome = completion.outcome
        if isinstance(outcome, Failure):
            told = replace(completion, outcome=Success(no_vote(outcome)))
            whole.joint.ended.append((opened, told))
            self._refuse(whole, outcome)
            return
        whole.joint.ended.append((opened, completion))
        whole.results.append(boxed(outcome.value)["results"])
        if whole.waiting:
            self._work(whole)

    # --- the end -------------------------------------------------------------------------------

    def _conclude(self, whole: _Whole) -> None:
        """Commits all participants, if all can commit."""
        now_ms = self._clock.now_ms()
        participants: list[Participant] = []
        for box, member in zip(whole.boxes, whole.joint.members, strict=True):
            participant = box.participant
            why = self._objection(whole, box, member.share, now_ms)
            if why is not None or participant is None:
                self._refuse(whole, why or refusal(LOST, "the entity is not loaded"))
                return
            participants.append(participant)
        if len(orjson.dumps(whole.results)) > self._room:  # each may have as much by itself
            self._release(whole)
            self._end(whole, Completion(Success({"vote": APART}), whole.started_ms, now_ms))
            return
        self._commit(whole, participants, now_ms)

    def _objection(self, whole: _Whole, box: Mailbox, share: Share, now_ms: int) -> Failure | None:
        """Returns the reason why a participant cannot commit; None if it can."""
        if box.participant is None or box.discarded:
            return refusal(LOST, "the work of the transaction on this entity is lost")
        number = share.number if share.calls is None else 1
        return box.participant.objection(whole.joint.transaction, number, now_ms)

    def _commit(self, whole: _Whole, participants: list[Participant], now_ms: int) -> None:
        id, documents = whole.joint.transaction.id, []
        waking: list[tuple[Mailbox, list[Effect]]] = []
        try:
            for box, participant in zip(whole.boxes, participants, strict=True):
                writes, effects = participant.conclude(id, commits=True, now_ms=now_ms)
                documents += self._deliveries.documents(box, writes)
                waking.append((box, effects))
        except Exception:
            log.exception("transaction %s fails because of a bug", id)
            self._end(whole, Completion(Failure(INTERNAL_ERROR, _BUG), whole.started_ms, now_ms))
            for box in whole.boxes:  # nothing of it is stored: they are read again
                self._deliveries.fail(box, _BUG)
            return
        answer: dict[str, JSON] = {"vote": "committed", "participants": whole.results}
        ended = Completion(Success(answer), whole.started_ms, now_ms, documents=documents)
        self._end(whole, ended)
        for box, effects in waking:
            self._deliveries.carry_out(box, effects)

    def _refuse(self, whole: _Whole, why: Failure) -> None:
        self._release(whole)
        now_ms = self._clock.now_ms()
        self._end(whole, Completion(Success(no_vote(why)), whole.started_ms, now_ms))

    def _release(self, whole: _Whole) -> None:
        """Takes the locks from all participants; nothing of their work stays."""
        id, now_ms = whole.joint.transaction.id, self._clock.now_ms()
        whole.over = True
        for box in whole.boxes:
            if box.participant is not None and not box.discarded:
                self._deliveries.apply(box, _dropped, box.participant, id, now_ms)

    def _end(self, whole: _Whole, completion: Completion) -> None:
        whole.over = True
        self._under_way.pop(whole.joint.id, None)
        whole.done(completion)


_BUG = "The transaction could not be committed; the log has the cause."


def _dropped(participant: Participant, id: str, now_ms: int) -> list[Effect]:
    return participant.conclude(id, commits=False, now_ms=now_ms)[1]
