"""One entity, as a state machine over the messages it is sent: pure, so that it can be simulated.

It performs one operation at a time. An answer and its writes belong together: the caller commits both
at once, so a message that is answered has had its effect, once. A transaction works on a copy of the
state; `two_phase` has its votes and decisions.

Messages may be delivered once each (`Request.once`: a step of a composition in the same store, whose
token is used up in the same commit). Other messages may be lost, late or doubled: for these the entity
keeps tombstones, for longer than any message may take.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..actions import EntitySettings
from ..composer import Failure, Success
from .effects import Answer, Perform
from .errors import (
    CONFLICT,
    ENDED,
    LOCKED,
    LOST,
    NEWER_STATE,
    VERSION_CONFLICT,
    refusal,
)
from .locks import Claim, claim_of
from .operations import MAX_RESULTS, ActiveRequest, Performed, reads
from .pending import PendingRequests
from .protocol import UPGRADE, Decide, Operate, Prepare, Work
from .records import Row
from .tombstones import Tombstones
from .two_phase import TwoPhaseCommit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..composer import JSON, Outcome
    from .effects import Effect, Request
    from .protocol import Call, Transaction
    from .records import EntityWrite, Prepared, Tombstone


class Participant:
    """An entity in memory.

    Args:
        row: as it is stored.
        prepared: votes of yes, undecided or decided by an operator.
        ended: tombstones of transactions and operations that have ended here.
        settings: of its type.
    """

    def __init__(
        self,
        row: Row | None = None,
        prepared: Iterable[Prepared] = (),
        ended: Iterable[Tombstone] = (),
        settings: EntitySettings | None = None,
    ) -> None:
        self.settings = settings or EntitySettings()
        self.room = MAX_RESULTS  # bytes for the results of a message
        self._tombstones = Tombstones(ended)
        self._commit = TwoPhaseCommit(row or Row(), prepared, self._tombstones)
        self._pending = PendingRequests()
        self._active: ActiveRequest | None = None
        self._followers: dict[str, list[Request]] = {}  # repeated requests, by the id of the first
        self._effects: list[Effect] = []
        if (vote := self._commit.prepared) is not None:
            self._pending.lock.take(claim_of(vote.transaction, exclusive=True))

    @property
    def row(self) -> Row:
        return self._commit.row

    @property
    def prepared(self) -> Prepared | None:
        """The vote of yes that waits for its decision."""
        return self._commit.prepared

    @property
    def idle(self) -> bool:
        """True if the entity need not stay in memory."""
        return self._pending.lock.free and self._active is None

    @property
    def due_ms(self) -> int | None:
        """The time to call `expire`: the deadline of the first transaction that has or wants the lock."""
        copies = self._commit.copies
        if not (copies or self._pending.queue):
            return None
        active = self._active.request.transaction if self._active else ""  # it is not interrupted
        dues = []
        for id, copy in copies.items():
            if not copy.kept and id != active:
                dues.append(copy.transaction.deadline_ms)
        for request in self._pending.queue.values():
            if not isinstance(request.message, Operate):
                dues.append(request.message.transaction.deadline_ms)  # noqa: PERF401
        return min(dues, default=None)

    # --- events --------------------------------------------------------------------------------

    def receive(self, request: Request, now_ms: int) -> list[Effect]:
        """Takes a message."""
        match request.message:
            case Operate() as message:
                once = request.once or (message.token or message.undoes) is None
                if once or not self._known_token(request, message, now_ms):
                    claim = Claim(request.id, exclusive=not reads(message.call))
                    self._claim(request, claim, now_ms)
            case Decide() as message:
                self._decide(request, message, now_ms)
            case message:
                self._enter(request, message, now_ms)
        return self._flush()

    def performed(self, outcome: Outcome, now_ms: int) -> list[Effect]:
        """Takes the outcome of the operation that `Perform` asked for."""
        active = self._active
        assert active is not None  # noqa: S101  an outcome follows a `Perform`
        if active.dropped:
            self._active = None
            self._leave(active.request, now_ms)
        elif isinstance(outcome, Failure):
            self._fail(active, outcome, now_ms)
        elif (why := active.take(outcome.value)) is not None:
            self._fail(active, why, now_ms)
        else:
            self._continue(active, now_ms)
        return self._flush()

    def cancel(self, id: str, now_ms: int) -> list[Effect]:
        """Withdraws a request that needs no answer any more: it has no effect."""
        self._withdraw(id, now_ms)
        for again in self._followers.pop(id, ()):
            why = refusal(LOST, "the request that this one repeats was withdrawn")
            self._refuse(again, why, now_ms)
        return self._flush()

    def expire(self, now_ms: int) -> list[Effect]:
        """Takes the lock from transactions past their deadlines, and refuses those that wait for it."""
        for owner, request in self._pending.waiting:
            message = request.message
            if isinstance(message, Operate) or not self._pending.waits(owner):
                continue  # it has the lock by now, or may wait as long as it takes
            if message.transaction.past(now_ms):
                self._stop_waiting(owner, now_ms)
                why = refusal(LOCKED, "the lock could not be had before the deadline")
                self._refuse(request, why, now_ms)
        active = self._active.request.transaction if self._active is not None else ""
        for id in self._commit.expired(now_ms, active):
            self._pending.lock.release(id)
        self._grant(now_ms)
        return self._flush()

    def objection(self, transaction: Transaction, number: int, now_ms: int) -> Failure | None:
        """Returns the reason why a transaction that has worked here cannot be committed; None if it can."""
        copy = self._commit.copies.get(transaction.id)
        if copy is not None and copy.kept and copy.number == number:
            return None
        return self._commit.refused(Prepare(transaction, number, None), now_ms)

    def conclude(
        self, transaction: str, *, commits: bool, now_ms: int
    ) -> tuple[tuple[EntityWrite, ...], list[Effect]]:
        """Ends a transaction that has worked here, without a vote: the caller decides for all participants.

        Returns:
            The writes, to be committed together with those of the other participants, and the effects for
            those who have waited.
        """
        copy, row = self._commit.copies.pop(transaction, None), self._commit.row
        writes: tuple[EntityWrite, ...] = ()
        if copy is not None and commits and self._pending.lock.holds(transaction, exclusive=True):
            self._commit.row = row = row.changed(copy.state, copy.schema, now_ms)
            writes = (row,)
        self._pending.lock.release(transaction)
        self._grant(now_ms)
        return writes, self._flush()

    def decide_by_hand(self, *, commits: bool, by: str, reason: str, now_ms: int) -> list[Effect]:
        """Takes an operator's decision about the vote that waits for the coordinator's."""
        prepared = self._commit.prepared
        assert prepared is not None  # noqa: S101  the caller looks
        save = self._commit.decide_by_hand(commits=commits, by=by, reason=reason, now_ms=now_ms)
        self._effects.append(save)
        self._pending.lock.release(prepared.transaction.id)
        self._grant(now_ms)
        return self._flush()

    def forget(self, transaction: str) -> None:
        """Forgets an operator's decision."""
        self._commit.forget(transaction)

    def _flush(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        if self._followers:
            for effect in effects[:]:
                if isinstance(effect, Answer):
                    again = self._followers.pop(effect.request.id, ())
                    effects += [Answer(request, effect.outcome) for request in again]
        return self._tombstones.with_deletions(effects) if self._tombstones.deleted else effects

    # --- messages that may come twice ----------------------------------------------------------

    def _known_token(self, request: Request, message: Operate, now_ms: int) -> bool:
        """Answers an operation that was done before, and one that undoes an operation that was not done."""
        known = self._tombstones.answer_of(message.token)
        if known is not None:
            self._effects.append(Answer(request, known))
            return True
        if message.undoes is not None and not self._tombstones.succeeded(message.undoes):
            self._stop(lambda other: _token(other) == message.undoes, now_ms)
            nothing = Success({})
            writes: list[EntityWrite] = [self._tombstones.remember(message.undoes, now_ms, None)]
            if message.token is not None:
                writes.append(self._tombstones.remember(message.token, now_ms, nothing))
            self._effects.append(Answer(request, nothing, tuple(writes)))
            return True
        for other in self._under_way():
            if message.token is not None and _token(other) == message.token:
                self._followers.setdefault(other.id, []).append(request)
                return True
        return False

    def _repeated(self, request: Request, message: Work | Prepare) -> bool:
        """Answers a message that was answered before: the first answer may have been lost."""
        id = message.transaction.id
        if (vote := self._commit.vote_of(id)) is not None:
            if isinstance(message, Prepare):
                results: list[JSON] = [*vote.results]
                yes = Success({"vote": "yes", "results": results})
                self._effects.append(Answer(request, yes))
            return True
        copy = self._commit.copies.get(id)
        if isinstance(message, Work) and copy and copy.last and message.number == copy.number:
            self._effects.append(Answer(request, copy.last))
            return True
        for other in self._under_way():
            if other.transaction == id:
                self._followers.setdefault(other.id, []).append(request)
                return True
        return False

    def _under_way(self) -> list[Request]:
        if self.idle:
            return []
        active = [self._active.request] if self._active else []
        return [*self._pending, *active]

    def _stop(self, meant: Callable[[Request], bool], now_ms: int) -> None:
        """Refuses requests whose end has come before they had an effect."""
        for other in filter(meant, self._under_way()):
            self._withdraw(other.id, now_ms)
            self._refuse(
                other,
                refusal(ENDED, "the transaction or operation was ended or undone meanwhile"),
                now_ms,
            )

    def _withdraw(self, id: str, now_ms: int) -> None:
        for owner, request in self._pending.waiting:
            if request.id == id and self._pending.waits(owner):
                self._stop_waiting(owner, now_ms)
        for request in self._pending.remove_granted(id):
            self._leave(request, now_ms)
        if self._active is not None and self._active.request.id == id:
            self._active.dropped = True

    # --- transactions --------------------------------------------------------------------------

    def _enter(self, request: Request, message: Work | Prepare, now_ms: int) -> None:
        """Takes a message of a transaction that is not decided yet."""
        id = message.transaction.id
        if (known := self._tombstones.answer_of(id)) is not None:
            if isinstance(known, Failure):
                self._refuse(request, known, now_ms)
            else:  # the decision that was made here
                self._effects.append(Answer(request, known))
        elif (why := self._commit.refused(message, now_ms)) is not None:
            self._refuse(request, why, now_ms)
        elif self._repeated(request, message):
            pass
        elif isinstance(message, Prepare) and message.calls is None:
            copy = self._commit.copies[id]
            self._vote(request, message, Performed(copy.state, copy.schema), now_ms)
        else:
            exclusive = not all(map(reads, message.calls or ()))
            self._claim(request, claim_of(message.transaction, exclusive=exclusive), now_ms)

    def _vote(self, request: Request, message: Prepare, performed: Performed, now_ms: int) -> None:
        id = message.transaction.id
        writes = self._pending.lock.holds(id, exclusive=True)
        self._effects.append(self._commit.vote(request, message, performed, now_ms, writes=writes))
        if self._commit.vote_of(id) is None:  # it has committed, or has only read
            self._pending.lock.release(id)
        self._grant(now_ms)

    def _refuse(self, request: Request, why: Failure, now_ms: int) -> None:
        self._effects.append(self._commit.refuse(request, why, now_ms))

    def _decide(self, request: Request, message: Decide, now_ms: int) -> None:
        id = message.transaction.id
        if (fenced := self._commit.fenced(message.transaction)) is not None:
            self._effects.append(Answer(request, fenced))
            return
        if not message.commits and not self._commit.voted_yes(id):
            self._stop(lambda other: other.transaction == id, now_ms)
        self._effects += self._commit.decide(request, message, now_ms)
        self._pending.lock.release(id)
        self._grant(now_ms)

    # --- the lock ------------------------------------------------------------------------------

    def _claim(self, request: Request, claim: Claim, now_ms: int) -> None:
        status = self._pending.ask(request, claim)
        if status == "granted":
            self._proceed(now_ms)
        elif status == "refused":
            why = refusal(CONFLICT, "another transaction is under way here")
            self._refuse(request, why, now_ms)

    def _grant(self, now_ms: int) -> None:
        if self._pending.queue:
            self._pending.grant()
        self._proceed(now_ms)

    def _leave(self, request: Request, now_ms: int) -> None:
        """Releases the lock of a request that is over; a transaction keeps the lock until it ends."""
        if isinstance(request.message, Operate):
            self._pending.lock.release(request.id)
        elif isinstance(request.message, Prepare) or request.transaction not in self._commit.copies:
            self._pending.lock.release(request.transaction)
        self._grant(now_ms)

    def _stop_waiting(self, owner: str, now_ms: int) -> None:
        self._pending.stop_waiting(owner)
        self._grant(now_ms)

    def _proceed(self, now_ms: int) -> None:
        """Begins requests that hold the lock, one at a time."""
        while self._active is None and self._pending.granted:
            self._begin(self._pending.granted.popleft(), now_ms)

    # --- operations ----------------------------------------------------------------------------

    def _begin(self, request: Request, now_ms: int) -> None:
        message, row = request.message, self._commit.row
        assert not isinstance(message, Decide)  # noqa: S101  decisions need no lock
        if (why := self._unfit(message)) is not None:
            if isinstance(message, Operate):
                self._answer_operation(request, why, (), now_ms)
            else:
                self._refuse(request, why, now_ms)
            self._leave(request, now_ms)
            return
        state, schema, calls = row.state, row.schema, _calls(message)
        if isinstance(message, Work):
            copy = self._commit.working_copy(message)
            state, schema = copy.state, copy.schema
        active = ActiveRequest(request, calls, state, schema, self.settings, row, self.room)
        self._active = active
        if not active.upgraded and schema > self.settings.version:
            text = f"the state is of version {schema}; the entity's code knows "
            self._fail(active, refusal(NEWER_STATE, f"{text}{self.settings.version}"), now_ms)
        else:
            self._continue(active, now_ms)

    def _unfit(self, message: Operate | Work | Prepare) -> Failure | None:
        """Returns the reason why the entity, as it is now, must not do this."""
        flag = self._commit.row.flag
        if isinstance(message, Operate):
            expected, version = message.expected_version, self._commit.row.version
            if expected is not None and expected != version:
                text = f"the entity has version {version}, not {expected}: it has changed"
                return refusal(VERSION_CONFLICT, text)
            if flag is None or reads(message.call):
                return None
        if flag not in (None, message.by):
            return refusal(LOCKED, f"the entity is locked by {flag}")
        return None

    def _continue(self, active: ActiveRequest, now_ms: int) -> None:
        """Performs the calls that are left, up to one that needs the entity's code."""
        while active.calls:
            call = active.calls[0]
            if not active.upgraded:
                older: JSON = {"version": active.schema}
                self._effects.append(Perform(active.request, UPGRADE, active.state, older))
                return
            if not call.operation.startswith("$"):
                perform = Perform(active.request, call.operation, active.state, call.params)
                self._effects.append(perform)
                return
            if (why := active.perform_built_in()) is not None:
                self._fail(active, why, now_ms)
                return
        self._finish(active, now_ms)

    def _fail(self, active: ActiveRequest, why: Failure, now_ms: int) -> None:
        self._active = None
        request = active.request
        match request.message:
            case Prepare() as message:
                self._refuse(request, why, now_ms)
                self._commit.copies.pop(message.transaction.id, None)
            case Work() as message:
                self._commit.copies[message.transaction.id].answered(message, why)
                self._effects.append(Answer(request, why))
            case _:
                self._answer_operation(request, why, (), now_ms)
        self._leave(request, now_ms)

    def _finish(self, active: ActiveRequest, now_ms: int) -> None:
        self._active = None
        request = active.request
        match request.message:
            case Prepare() as message:
                self._vote(request, message, active.performed, now_ms)
                self._proceed(now_ms)
            case Work() as message:
                several: dict[str, JSON] = {"results": [*active.results]}
                if message.kept:
                    several["vote"] = "yes"
                outcome = Success(several if message.several else active.results[-1])
                copy = self._commit.copies[message.transaction.id]
                copy.state, copy.schema = active.state, active.schema
                copy.answered(message, outcome)
                self._effects.append(Answer(request, outcome))
                self._proceed(now_ms)
            case message:
                assert isinstance(message, Operate)  # noqa: S101  decisions perform nothing
                before, row = self._commit.row, active.row
                if active.state is not before.state and not reads(message.call):
                    row = row.changed(active.state, active.schema, now_ms)
                self._commit.row = row
                writes = (row,) if row is not before else ()
                self._answer_operation(request, Success(active.results[-1]), writes, now_ms)
                self._leave(request, now_ms)

    def _answer_operation(
        self, request: Request, outcome: Outcome, writes: tuple[EntityWrite, ...], now_ms: int
    ) -> None:
        """Answers an operation, and remembers the outcome if the request may come again."""
        stones = self._tombstones.operation_ended(request, outcome, now_ms)
        self._effects.append(Answer(request, outcome, (*writes, *stones)))


def _token(request: Request) -> str | None:
    return request.message.token if isinstance(request.message, Operate) else None


def _calls(message: Operate | Work | Prepare) -> deque[Call]:
    return deque((message.call,) if isinstance(message, Operate) else message.calls or ())
