"""One entity, as a state machine over the messages it is sent: pure, so that it can be simulated.

It runs one operation at a time. What it answers and what it has to write belong together: whoever runs
it commits both at once, so a message that is answered has had its effect, once. A transaction works on
a copy; a vote of yes is written down before it is heard, with the copy, and from then on only the
decision (or an operator) ends it, whatever time passes and however often the server dies.

Whoever delivers messages may do so once each (`Request.once`: a step of a composition in the same
store, whose token is used up in the same commit). Others may be lost, late or doubled: for these the
entity remembers what has ended here, for longer than any message may take.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from ..actions import EntitySettings
from ..composer import APPLICATION_ERROR, Failure, Success, boxed
from .effects import Answer, Damage, Gone, Run, Save
from .errors import (
    CONFLICT,
    ENDED,
    EXPIRED,
    FENCED,
    LOCKED,
    LOST,
    NEWER_STATE,
    RETRYABLE,
    VERSION_CONFLICT,
    refusal,
)
from .jobs import MAX_RESULTS, Copy, Job, reads
from .locks import Claim, Lock, claim_of
from .memory import Memory
from .protocol import MAX_LOCK_MS, UPGRADE, Decide, Operate, Prepare, Transaction, Work
from .records import Prepared, Row, Tombstone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..composer import JSON, Outcome
    from .effects import Effect, Request, Write


class Participant:
    """An entity in memory.

    Args:
        row: as it is stored.
        prepared: votes of yes: one that waits for its decision, and those an operator has decided.
        ended: tombstones: transactions that have ended here.
        settings: of its type.
    """

    def __init__(
        self,
        row: Row | None = None,
        prepared: Iterable[Prepared] = (),
        ended: Iterable[Tombstone] = (),
        settings: EntitySettings | None = None,
    ) -> None:
        self.row = row or Row()
        self.prepared: Prepared | None = None
        self.settled: dict[str, Prepared] = {}  # by an operator
        self.settings = settings or EntitySettings()
        self.room = MAX_RESULTS  # for results
        self._memory = Memory(ended)
        self._lock = Lock()
        self._copies: dict[str, Copy] = {}
        self._waiting: dict[str, Request] = {}  # by the owner of its claim
        self._granted: deque[Request] = deque()  # hold the lock and wait for the one that runs
        self._job: Job | None = None
        self._followers: dict[str, list[Request]] = {}  # that repeat a request, by its id
        self._effects: list[Effect] = []
        for vote in prepared:
            if vote.heuristic is not None and not vote.damaged:
                self.settled[vote.transaction.id] = vote
            elif vote.heuristic is None:
                self.prepared = vote
                self._lock.take(claim_of(vote.transaction, exclusive=True))

    @property
    def idle(self) -> bool:
        """Whether it need not be kept in memory."""
        return self._lock.free and self._job is None

    @property
    def due_ms(self) -> int | None:
        """When `expire` must be called: a transaction holds or waits for the lock no longer than so."""
        if not (self._copies or self._waiting):
            return None
        runs = self._job.request.transaction if self._job else ""  # it is not interrupted
        dues = [c.transaction.deadline_ms for id, c in self._copies.items() if id != runs]
        messages = [request.message for request in self._waiting.values()]
        dues += [m.transaction.deadline_ms for m in messages if not isinstance(m, Operate)]
        return min(dues, default=None)

    # --- what can happen to it -----------------------------------------------------------------

    def receive(self, request: Request, now_ms: int) -> list[Effect]:
        """A message has come."""
        message = request.message
        if isinstance(message, Decide):
            self._decide(request, message, now_ms)
        elif isinstance(message, Operate):
            once = request.once or (message.token or message.undoes) is None
            if once or not self._known_token(request, message, now_ms):
                self._claim(request, Claim(request.id, exclusive=not reads(message.call)), now_ms)
        elif (told := self._memory.told(message.transaction.id)) is not None:
            if isinstance(told, Failure):
                self._vote_no(request, told, now_ms)
            else:  # what was decided here
                self._effects.append(Answer(request, told))
        elif (why := self._refused(message, now_ms)) is not None:
            self._vote_no(request, why, now_ms)
        elif not self._repeated(request, message):
            self._enter(request, message, now_ms)
        return self._done()

    def ran(self, outcome: Outcome, now_ms: int) -> list[Effect]:
        """The operation that was to be run has come to this."""
        job = self._job
        assert job is not None  # noqa: S101  only what runs can have run
        if job.dropped:
            self._job = None
            self._leave(job.request, now_ms)
        elif isinstance(outcome, Failure):
            self._fail(job, outcome, now_ms)
        elif (why := job.take(outcome.value)) is not None:
            self._fail(job, why, now_ms)
        else:
            self._continue(job, now_ms)
        return self._done()

    def cancel(self, id: str, now_ms: int) -> list[Effect]:
        """Nobody waits for the answer to this request any more: it has no effect."""
        self._withdraw(id, now_ms)
        for again in self._followers.pop(id, ()):
            self._vote_no(again, refusal(LOST, "what this repeats was withdrawn"), now_ms)
        return self._done()

    def _withdraw(self, id: str, now_ms: int) -> None:
        for owner, request in list(self._waiting.items()):
            if request.id == id and owner in self._waiting:
                self._wait_no_more(owner, now_ms)
        for request in [request for request in self._granted if request.id == id]:
            self._granted.remove(request)
            self._leave(request, now_ms)
        if self._job is not None and self._job.request.id == id:
            self._job.dropped = True

    def expire(self, now_ms: int) -> list[Effect]:
        """Transactions that have had the lock, or waited for it, for too long have it no longer."""
        for owner, request in list(self._waiting.items()):
            message = request.message
            if isinstance(message, Operate) or owner not in self._waiting:
                continue  # it need not wait any more, or may wait for as long as it takes
            if message.transaction.past(now_ms):
                self._wait_no_more(owner, now_ms)
                self._vote_no(
                    request, refusal(LOCKED, "the lock was not to be had in time"), now_ms
                )
        running = self._job.request.message if self._job is not None else None
        for id, copy in list(self._copies.items()):
            busy = isinstance(running, (Work, Prepare)) and running.transaction.id == id
            if copy.transaction.past(now_ms) and not busy:
                del self._copies[id]
                self._lock.release(id)
        self._grant(now_ms)
        return self._done()

    def resolve(self, *, commits: bool, by: str, reason: str, now_ms: int) -> list[Effect]:
        """An operator decides what the coordinator has not: recorded until that is heard of."""
        prepared = self.prepared
        assert prepared is not None  # noqa: S101  the caller looks
        settled = replace(prepared, heuristic="commit" if commits else "abort", by=by, why=reason)
        writes: list[Write] = [settled]
        if commits:
            self.row = prepared.applied(self.row, now_ms)
            writes.append(self.row)
        self.prepared, self.settled[prepared.transaction.id] = None, settled
        self._lock.release(prepared.transaction.id)
        self._effects.append(Save(tuple(writes)))
        self._grant(now_ms)
        return self._done()

    # --- operations that may come twice --------------------------------------------------------

    def _known_token(self, request: Request, message: Operate, now_ms: int) -> bool:
        """Answers an operation that was done before, and one that undoes what was not."""
        told = self._memory.told(message.token)
        if told is not None:
            self._effects.append(Answer(request, told))
            return True
        if message.undoes is not None and not self._memory.succeeded(message.undoes):
            self._stop(lambda other: _token(other) == message.undoes, now_ms)
            nothing = Success({})
            writes: list[Write] = [self._memory.remember(message.undoes, now_ms, None)]
            if message.token is not None:
                writes.append(self._memory.remember(message.token, now_ms, nothing))
            self._effects.append(Answer(request, nothing, tuple(writes)))
            return True
        for other in self._under_way():
            if message.token is not None and _token(other) == message.token:
                self._followers.setdefault(other.id, []).append(request)
                return True
        return False

    # --- transactions --------------------------------------------------------------------------

    def _refused(self, message: Work | Prepare, now_ms: int) -> Failure | None:
        """Why a transaction may do nothing here."""
        transaction = message.transaction
        known = self._known(transaction.id)
        if known is not None and transaction.epoch < known.epoch:
            return refusal(FENCED, "the transaction has another coordinator by now")
        if self.prepared is not None and self.prepared.transaction.id == transaction.id:
            return None
        if transaction.past(now_ms) or transaction.deadline_ms > now_ms + MAX_LOCK_MS:
            return refusal(EXPIRED, "the transaction has taken too long")
        copy = self._copies.get(transaction.id)
        done = copy.number if copy is not None else 0
        if isinstance(message, Work):
            lost = message.number not in (done, done + 1)
        else:
            lost = message.calls is None and message.number != done
        return refusal(LOST, "what the transaction had done here is gone") if lost else None

    def _known(self, id: str) -> Transaction | None:
        if self.prepared is not None and self.prepared.transaction.id == id:
            return self.prepared.transaction
        copy = self._copies.get(id)
        return copy.transaction if copy is not None else None

    def _repeated(self, request: Request, message: Work | Prepare) -> bool:
        """Answers what has been answered before, for the first answer may have been lost."""
        id, prepared = message.transaction.id, self.prepared
        if prepared is not None and prepared.transaction.id == id:
            if isinstance(message, Prepare):
                vote = {"vote": "yes", "results": list(prepared.results)}
                self._effects.append(Answer(request, Success(vote)))
            return True
        copy = self._copies.get(id)
        if isinstance(message, Work) and copy and copy.last and message.number == copy.number:
            self._effects.append(Answer(request, copy.last))
            return True
        for other in self._under_way():
            if other.transaction == id:
                self._followers.setdefault(other.id, []).append(request)
                return True
        return False

    def _under_way(self) -> list[Request]:
        running = [self._job.request] if self._job else []
        return [*self._waiting.values(), *self._granted, *running]

    def _stop(self, meant: Callable[[Request], bool], now_ms: int) -> None:
        """Requests that have come too late, though before what ends them, have no effect."""
        for other in filter(meant, self._under_way()):
            self._withdraw(other.id, now_ms)
            self._vote_no(other, refusal(ENDED, "it has been ended, or undone"), now_ms)

    def _enter(self, request: Request, message: Work | Prepare, now_ms: int) -> None:
        transaction = message.transaction
        if isinstance(message, Prepare) and message.calls is None:
            copy = self._copies[transaction.id]
            self._vote(request, message, (copy.state, copy.schema), [], now_ms)
            return
        calls = message.calls or ()
        self._claim(request, claim_of(transaction, exclusive=not all(map(reads, calls))), now_ms)

    def _decide(self, request: Request, message: Decide, now_ms: int) -> None:
        id = message.transaction.id
        writes: list[Write] = []
        known = self._known(id)
        if known is not None and message.transaction.epoch < known.epoch:
            why = refusal(FENCED, "the transaction has another coordinator by now")
            self._effects.append(Answer(request, why))
            return
        if self.prepared is not None and self.prepared.transaction.id == id:
            writes.append(Gone(id))
            if message.commits:
                self.row = self.prepared.applied(self.row, now_ms)
                writes.append(self.row)
            self.prepared = None
        elif id in self.settled:
            writes.append(self._compared(self.settled.pop(id), message))
        elif not message.commits:
            self._stop(lambda other: other.transaction == id, now_ms)
        if not request.once:
            writes.append(self._memory.bury(message.transaction, now_ms))
        done: JSON = {"done": "commit" if message.commits else "abort"}
        self._effects.append(Answer(request, Success(done), tuple(writes)))
        self._copies.pop(id, None)
        self._lock.release(id)
        self._grant(now_ms)

    def _compared(self, settled: Prepared, message: Decide) -> Write:
        """What an operator had decided, beside the decision: the record stays when they differ."""
        if (settled.heuristic == "commit") == message.commits:
            return Gone(settled.transaction.id)
        damaged = replace(settled, damaged=True)
        self._effects.append(Damage(damaged, message.commits))
        return damaged

    # --- the lock ------------------------------------------------------------------------------

    def _claim(self, request: Request, claim: Claim, now_ms: int) -> None:
        match self._lock.ask(claim):
            case "granted":
                self._granted.append(request)
                self._proceed(now_ms)
            case "waits":
                self._waiting[claim.owner] = request
            case _:
                why = refusal(CONFLICT, "another transaction is under way here")
                self._vote_no(request, why, now_ms)

    def _grant(self, now_ms: int) -> None:
        for claim in self._lock.granted():
            self._granted.append(self._waiting.pop(claim.owner))
        self._proceed(now_ms)

    def _leave(self, request: Request, now_ms: int) -> None:
        """A request is over: a plain one lets go of the lock; a transaction does so when it ends."""
        if isinstance(request.message, Operate):
            self._lock.release(request.id)
        elif isinstance(request.message, Prepare) or request.transaction not in self._copies:
            self._lock.release(request.transaction)
        self._grant(now_ms)

    def _wait_no_more(self, owner: str, now_ms: int) -> None:
        """Lets nobody wait in its name; what a transaction has of the lock already it keeps."""
        del self._waiting[owner]
        held = [claim for claim in self._lock.holders if claim.owner == owner]
        self._lock.release(owner)
        for claim in held:
            self._lock.take(claim)
        self._grant(now_ms)

    def _proceed(self, now_ms: int) -> None:
        """Runs those who have the lock, one at a time."""
        while self._job is None and self._granted:
            self._begin(self._granted.popleft(), now_ms)

    # --- running operations --------------------------------------------------------------------

    def _begin(self, request: Request, now_ms: int) -> None:
        message, state, schema = request.message, self.row.state, self.row.schema
        if isinstance(message, Operate):
            if (why := self._unfit(message)) is not None:
                self._effects.append(Answer(request, why, self._memory.kept(request, why, now_ms)))
                self._leave(request, now_ms)
                return
            calls = [message.call]
        elif (flag := self.row.flag) not in (None, message.by):  # type: ignore[union-attr]
            self._vote_no(request, refusal(LOCKED, f"the entity is locked by {flag}"), now_ms)
            self._leave(request, now_ms)
            return
        elif isinstance(message, Work):
            new = Copy(message.transaction, state, schema)
            copy = self._copies.setdefault(message.transaction.id, new)
            calls, state, schema = [*message.calls], copy.state, copy.schema
        else:
            assert isinstance(message, Prepare)  # noqa: S101  decisions need no lock
            calls = list(message.calls or ())
        job = Job(request, deque(calls), state, schema, self.settings, self.row, self.room)
        self._job = job
        if not job.upgraded and schema > self.settings.version:
            text = f"the state is of version {schema}; the entity's code knows "
            self._fail(job, refusal(NEWER_STATE, f"{text}{self.settings.version}"), now_ms)
        else:
            self._continue(job, now_ms)

    def _unfit(self, message: Operate) -> Failure | None:
        """Why an operation of its own accord may not be done now."""
        expected, flag = message.expected_version, self.row.flag
        if expected is not None and expected != self.row.version:
            text = f"the entity has version {self.row.version}, not {expected}: it has changed"
            return refusal(VERSION_CONFLICT, text)
        if flag not in (None, message.by) and not reads(message.call):
            return refusal(LOCKED, f"the entity is locked by {flag}")
        return None

    def _continue(self, job: Job, now_ms: int) -> None:
        """Runs what is left of it, as far as that goes without code."""
        while job.calls:
            call = job.calls[0]
            if not job.upgraded:
                older = {"version": job.schema}
                self._effects.append(Run(job.request, UPGRADE, job.state, older))
                return
            if not call.operation.startswith("$"):
                self._effects.append(Run(job.request, call.operation, job.state, call.params))
                return
            if (why := job.built_in()) is not None:
                self._fail(job, why, now_ms)
                return
        self._finish(job, now_ms)

    def _fail(self, job: Job, why: Failure, now_ms: int) -> None:
        self._job = None
        message = job.request.message
        if isinstance(message, Prepare):
            self._vote_no(job.request, why, now_ms)
            self._copies.pop(message.transaction.id, None)
        elif isinstance(message, Work):
            self._copies[message.transaction.id].done(message, why)
            self._effects.append(Answer(job.request, why))
        else:
            writes = self._memory.kept(job.request, why, now_ms)
            self._effects.append(Answer(job.request, why, writes))
        self._leave(job.request, now_ms)

    def _finish(self, job: Job, now_ms: int) -> None:
        self._job = None
        message, result = job.request.message, job.results[-1]
        if isinstance(message, Work) and message.several:
            result = {"results": job.results}
        if isinstance(message, Prepare):
            self._vote(job.request, message, (job.state, job.schema), job.results, now_ms)
            self._proceed(now_ms)
            return
        outcome = Success(result)
        if isinstance(message, Work):
            copy = self._copies[message.transaction.id]
            copy.state, copy.schema = job.state, job.schema
            copy.done(message, outcome)
            self._effects.append(Answer(job.request, outcome))
            self._proceed(now_ms)
            return
        before, self.row = self.row, job.row
        if job.state is not before.state and not reads(message.call):  # type: ignore[union-attr]
            self.row = self.row.changed(job.state, job.schema, now_ms)
        writes: tuple[Write, ...] = (self.row,) if self.row is not before else ()
        writes += self._memory.kept(job.request, outcome, now_ms)
        self._effects.append(Answer(job.request, outcome, writes))
        self._leave(job.request, now_ms)

    # --- votes ---------------------------------------------------------------------------------

    def _vote(
        self,
        request: Request,
        message: Prepare,
        made: tuple[JSON, int],
        results: list[JSON],
        now_ms: int,
    ) -> None:
        """All is done that was asked, and has `made` this state, of this version of the type."""
        transaction = message.transaction
        writes: list[Write] = []
        id = transaction.id
        self._copies.pop(id, None)
        answer: JSON = {"vote": "read", "results": results}
        if not self._lock.holds(id, exclusive=True):
            self._lock.release(id)
        elif message.commits:
            self.row = self.row.changed(*made, now_ms)
            writes.append(self.row)
            answer = {"vote": "committed", "results": results}
            if not request.once:
                writes.append(self._memory.remember(id, now_ms, Success(answer)))
            self._lock.release(id)
        else:
            self.prepared = Prepared(transaction, *made, tuple(results), now_ms)
            writes.append(self.prepared)
            answer = {"vote": "yes", "results": results}
        self._effects.append(Answer(request, Success(answer), tuple(writes)))
        self._grant(now_ms)

    def _vote_no(self, request: Request, why: Failure, now_ms: int) -> None:
        if isinstance(request.message, Prepare):
            retryable = why.code in RETRYABLE
            reason = why.error if why.code == APPLICATION_ERROR else boxed(why.error)
            no = Success({"vote": "no", "reason": reason, "retryable": retryable})
            id = request.transaction
            writes: tuple[Write, ...] = ()
            if request.message.commits and not request.once and id not in self._memory:
                writes = (self._memory.remember(id, now_ms, no),)  # it may be asked again
            self._effects.append(Answer(request, no, writes))
        else:
            self._effects.append(Answer(request, why))

    def _done(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        if self._followers:
            for effect in effects[:]:
                if isinstance(effect, Answer):
                    again = self._followers.pop(effect.request.id, ())
                    effects += [Answer(request, effect.outcome) for request in again]
        return self._memory.tidied(effects)


def _token(request: Request) -> str | None:
    return request.message.token if isinstance(request.message, Operate) else None
