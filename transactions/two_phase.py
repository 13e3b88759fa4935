"""An entity's side of two-phase commits: its row, working copies, votes and decisions.

A vote of yes is stored before it is sent, with the new state. From then on only the decision, or an
operator, ends it, however long that takes and however often the server dies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..composer import APPLICATION_ERROR, Failure, Success, boxed
from .effects import Answer, Damage, Save
from .errors import EXPIRED, FENCED, LOST, RETRYABLE, refusal
from .operations import WorkingCopy
from .protocol import MAX_LOCK_MS, Prepare, Work
from .records import DeletePrepared, Prepared, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..composer import JSON
    from .effects import Effect, Request
    from .operations import Performed
    from .protocol import Decide, Transaction
    from .records import EntityWrite
    from .tombstones import Tombstones


class TwoPhaseCommit:
    """The records that transactions change. Methods return the effects that make changes durable.

    Args:
        row: as it is stored.
        prepared: votes of yes, undecided or decided by an operator.
        tombstones: of the entity.
    """

    def __init__(self, row: Row, prepared: Iterable[Prepared], tombstones: Tombstones) -> None:
        self.row = row
        self.prepared: Prepared | None = None  # the vote that waits for its decision
        self.copies: dict[str, WorkingCopy] = {}  # by transaction
        self._heuristics: dict[str, Prepared] = {}  # votes decided by an operator, by transaction
        self._tombstones = tombstones
        for vote in prepared:
            if vote.heuristic is None:
                self.prepared = vote
            elif not vote.damaged:
                self._heuristics[vote.transaction.id] = vote

    def transaction(self, id: str) -> Transaction | None:
        """Returns the transaction if it is under way here."""
        if self.prepared is not None and self.prepared.transaction.id == id:
            return self.prepared.transaction
        copy = self.copies.get(id)
        return copy.transaction if copy is not None else None

    def vote_of(self, id: str) -> Prepared | None:
        """Returns the transaction's undecided vote of yes."""
        found = self.prepared
        return found if found is not None and found.transaction.id == id else None

    # --- work ----------------------------------------------------------------------------------

    def fenced(self, transaction: Transaction) -> Failure | None:
        """Refuses a coordinator that has been replaced."""
        known = self.transaction(transaction.id)
        if known is not None and transaction.epoch < known.epoch:
            return refusal(FENCED, "the transaction has another coordinator by now")
        return None

    def refused(self, message: Work | Prepare, now_ms: int) -> Failure | None:
        """Returns the reason why a transaction must not work or vote here."""
        transaction = message.transaction
        if (fenced := self.fenced(transaction)) is not None:
            return fenced
        if self.vote_of(transaction.id) is not None:
            return None
        if transaction.past(now_ms) or transaction.deadline_ms > now_ms + MAX_LOCK_MS:
            return refusal(EXPIRED, "the transaction has taken too long")
        copy = self.copies.get(transaction.id)
        done = copy.number if copy is not None else 0
        if isinstance(message, Work):
            lost = message.number not in (done, done + 1)
        else:
            lost = message.calls is None and message.number != done
        return refusal(LOST, "the work of the transaction on this entity is lost") if lost else None

    def working_copy(self, message: Work) -> WorkingCopy:
        """Returns the transaction's copy of the state, which begins as the entity's."""
        transaction = message.transaction
        new = WorkingCopy(transaction, self.row.state, self.row.schema, kept=message.kept)
        return self.copies.setdefault(transaction.id, new)

    def expired(self, now_ms: int, active: str) -> list[str]:
        """Drops the copies of transactions past their deadlines, but the active one's.

        Returns:
            The ids of these transactions.
        """
        found = [id for id, copy in self.copies.items() if copy.late(now_ms) and id != active]
        for id in found:
            del self.copies[id]
        return found

    # --- votes ---------------------------------------------------------------------------------

    def vote(
        self, request: Request, message: Prepare, performed: Performed, now_ms: int, *, writes: bool
    ) -> Answer:
        """Votes, after all operations were performed.

        Args:
            request: to answer.
            message: of the request.
            performed: the state to commit, and the results.
            now_ms: the time.
            writes: if the transaction holds the lock to write; else it has only read.
        """
        transaction, id = message.transaction, message.transaction.id
        self.copies.pop(id, None)
        results: list[JSON] = [*performed.results]
        if not writes:
            return Answer(request, Success({"vote": "read", "results": results}))
        if not message.commits:
            self.prepared = Prepared(
                transaction, performed.state, performed.schema, performed.results, now_ms
            )
            vote = Success({"vote": "yes", "results": results})
            return Answer(request, vote, (self.prepared,))
        self.row = self.row.changed(performed.state, performed.schema, now_ms)
        committed = Success({"vote": "committed", "results": results})
        if request.once:
            return Answer(request, committed, (self.row,))
        stone = self._tombstones.remember(id, now_ms, committed)
        return Answer(request, committed, (self.row, stone))

    def refuse(self, request: Request, why: Failure, now_ms: int) -> Answer:
        """Votes no, or fails a request that asks for no vote."""
        message = request.message
        if not isinstance(message, Prepare):
            return Answer(request, why)
        no = Success(no_vote(why))
        id = message.transaction.id
        if message.commits and not request.once and id not in self._tombstones:
            return Answer(request, no, (self._tombstones.remember(id, now_ms, no),))
        return Answer(request, no)

    # --- decisions -----------------------------------------------------------------------------

    def voted_yes(self, id: str) -> bool:
        """True if the transaction has a vote of yes here, undecided or decided by an operator."""
        return self.vote_of(id) is not None or id in self._heuristics

    def decide(self, request: Request, message: Decide, now_ms: int) -> list[Effect]:
        """Ends a transaction as its coordinator has decided."""
        id = message.transaction.id
        writes: list[EntityWrite] = []
        effects: list[Effect] = []
        if (vote := self.vote_of(id)) is not None:
            writes.append(DeletePrepared(id))
            if message.commits:
                self.row = vote.applied(self.row, now_ms)
                writes.append(self.row)
            self.prepared = None
        elif id in self._heuristics:
            vote = self._heuristics.pop(id)
            if (vote.heuristic == "commit") == message.commits:
                writes.append(DeletePrepared(id))
            else:  # the record stays, for the operator
                damaged = replace(vote, damaged=True)
                effects.append(Damage(damaged, message.commits))
                writes.append(damaged)
        if not request.once:
            writes.append(self._tombstones.transaction_ended(message.transaction, now_ms))
        done: dict[str, JSON] = {"done": "commit" if message.commits else "abort"}
        self.copies.pop(id, None)
        return [*effects, Answer(request, Success(done), tuple(writes))]

    def decide_by_hand(self, *, commits: bool, by: str, reason: str, now_ms: int) -> Save:
        """Applies an operator's decision, and keeps it until the coordinator's is known."""
        prepared = self.prepared
        assert prepared is not None  # noqa: S101  the caller looks
        decided = replace(prepared, heuristic="commit" if commits else "abort", by=by, why=reason)
        self.prepared, self._heuristics[prepared.transaction.id] = None, decided
        if not commits:
            return Save((decided,))
        self.row = prepared.applied(self.row, now_ms)
        return Save((decided, self.row))

    def forget(self, id: str) -> None:
        """Forgets an operator's decision."""
        self._heuristics.pop(id, None)


def no_vote(why: Failure) -> dict[str, JSON]:
    """Returns the vote of no for this reason."""
    reason = why.error if why.code == APPLICATION_ERROR else boxed(why.error)
    return {"vote": "no", "reason": reason, "retryable": why.code in RETRYABLE}
