"""Entities in the engine's memory: each has a mailbox, and does one thing at a time.

What an entity writes is committed with the step that it answers: a step whose completion is durable has
had its effect, and any other has had none. So nothing has to be remembered of steps; of messages from
elsewhere (a call of a single action may come twice) the entity keeps a tombstone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import orjson

from ....actions import INTERNAL_ERROR, Completion, Document, Invocation, UnavailableError
from ....composer import Failure, decision
from ....transactions import (
    MALFORMED,
    Answer,
    Damage,
    Forgotten,
    Gone,
    MessageError,
    Operate,
    Participant,
    Prepared,
    Request,
    Row,
    Run,
    Save,
    Tombstone,
    key_of,
    parsed,
    refusal,
)
from ..timers import Timers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from ....actions import Invoker
    from ....composer import JSON
    from ....transactions import Effect, Write
    from ..live import LiveExecution
    from ..shared import Parts
    from ..tick import Tick

log = logging.getLogger(__name__)

STATE = (
    "state"  # documents of entities: the row, then tombstones, by `name_of` and what they are of
)
PREPARED = "prepared"  # documents of votes that wait for their decision
IDLE = 10_000  # entities that stay in memory though nothing happens to them
ENVELOPE_BYTES = 1 << 14  # of a vote, around the results of its operations
AGAIN_S = 0.5  # between attempts to read an entity, when the store fails
ASK_MS, ASK_AT_MOST_MS = 1_000, 60_000  # between inquiries about a decision

Done: TypeAlias = "Callable[[Completion], None]"
Found: TypeAlias = (
    "Callable[[str], Awaitable[LiveExecution | None]]"  # an execution under way, by its id
)


@dataclass(slots=True)
class _Asked:
    """A request under way: who is to be answered, and what running it has shown so far."""

    invocation: Invocation
    done: Done
    started_ms: int
    last: Completion | None = None


@dataclass(slots=True)
class _Mailbox:
    """An entity in memory; without a participant while it is being loaded."""

    name: str
    participant: Participant | None = None
    asked: dict[Request, _Asked] = field(default_factory=dict)
    early: list[Request] = field(default_factory=list)  # that have come while it is being loaded
    unsettled: int = 0  # writes that are not committed yet
    due_ms: int = 0  # of the timer that is armed
    filled: asyncio.Event = field(default_factory=asyncio.Event)


def name_of(action: str, key: str) -> str:
    """What an entity's documents are known by: the full name of its type, and its key."""
    return f"{action}:{key}\n"


def parts_of(name: str) -> tuple[str, str]:
    """The full name of its type, and its key."""
    action, _, key = name.rstrip("\n").partition(":")
    return action, key


class Mailboxes:
    """Runs entities. `found` brings an execution into memory: it may coordinate a transaction."""

    def __init__(
        self,
        parts: Parts,
        tick: Tick,
        invokers: Mapping[str, Invoker],
        found: Found,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._parts, self._tick, self._invokers = parts, tick, invokers
        self._found, self._tasks, self._clock = found, tasks, parts.clock
        self._boxes: OrderedDict[str, _Mailbox] = OrderedDict()
        self._requests: dict[str, tuple[_Mailbox, Request]] = {}  # by activation
        self._prepared: dict[str, dict[str, Prepared]] = {}  # by name and transaction
        self._inquiries: dict[str, int] = {}  # how long to wait before the next, by transaction
        self._to_fill: list[_Mailbox] = []
        self._stopped = False
        self._timers = Timers(parts.clock, self._ring)

    # --- its life ------------------------------------------------------------------------------

    async def load(self) -> None:
        """Takes up what is in doubt, before anything else may happen to it."""
        async for document in self._parts.store.documents(PREPARED):
            name, _, id = document.key.partition("\n")
            vote = Prepared.from_json(orjson.loads(document.body or b""))
            self._prepared.setdefault(f"{name}\n", {})[id] = vote
            if vote.heuristic is None:
                self._doubt(f"{name}\n", id)

    def stop(self) -> None:
        """Rings no more."""
        self._stopped = True
        self._timers.stop()

    # --- messages ------------------------------------------------------------------------------

    def receive(self, invocation: Invocation, done: Done, *, once: bool) -> None:
        """A message to an entity.

        Args:
            invocation: of the entity's action; the message is its parameters.
            done: is told what came of it, and with that what must be committed.
            once: whether it cannot come twice.
        """
        now_ms = self._clock.now_ms()
        try:
            name = name_of(str(invocation.action.name), key_of(invocation.params))
            message = parsed(invocation.params)
        except MessageError as error:
            done(Completion(refusal(MALFORMED, str(error)), now_ms, now_ms))
            return
        if not once and not isinstance(message, Operate):
            stranger = replace(message.transaction, coordinator=None)  # not one that we can ask
            message = replace(message, transaction=stranger)
        request = Request(invocation.activation, message, once)
        box = self._boxes.get(name)
        if box is None:
            box = self._boxes[name] = _Mailbox(name)
            self._to_fill.append(box)
            if len(self._to_fill) == 1:
                self._tasks.create_task(self._fill_all())
        box.asked[request] = _Asked(invocation, done, now_ms)
        self._requests[request.id] = box, request
        if box.participant is None:
            box.early.append(request)
        else:
            self._boxes.move_to_end(name)
            self._receive(box, box.participant, request)

    def _receive(self, box: _Mailbox, participant: Participant, request: Request) -> None:
        participant.room = self._parts.settings.limits.value_bytes - ENVELOPE_BYTES
        participant.settings = box.asked[request].invocation.action.entity or participant.settings
        self._do(box, partial(participant.receive, request, self._clock.now_ms()))

    def gauges(self) -> dict[str, int]:
        """How much there is of what, just now."""
        votes = [vote for found in self._prepared.values() for vote in found.values()]
        return {
            "entities_in_memory": len(self._boxes),
            "in_doubt": len(doubts := [v.since_ms for v in votes if v.heuristic is None]),
            "in_doubt_longest_s": (self._clock.now_ms() - min(doubts)) // 1000 if doubts else 0,
        }

    def withdraw(self, activation: str) -> bool:
        """Nobody waits for the answer any more: what has no effect yet will have none.

        Returns:
            Whether there was such a message.
        """
        found = self._requests.pop(activation, None)
        if found is None:
            return False
        box, request = found
        box.asked.pop(request, None)
        if box.participant is None:
            box.early.remove(request)
        else:
            self._do(box, partial(box.participant.cancel, request.id, self._clock.now_ms()))
        return True

    async def _fill_all(self) -> None:
        while self._to_fill:
            await self._fill(self._to_fill.pop(0))
        self._evict()

    async def _fill(self, box: _Mailbox) -> None:
        """Loads an entity, and hands it what has come meanwhile."""
        try:
            bodies = await self._stored(box.name)
            row = Row.from_json(bodies.pop(box.name)) if box.name in bodies else None
            stones = [Tombstone.from_json(body) for body in bodies.values()]
        except Exception:
            log.exception("an entity cannot be loaded")
            self._fail_all(box, "The entity could not be read; the log says why.")
            return
        votes = self._prepared.get(box.name, {}).values()
        box.participant = Participant(row, votes, stones)
        box.filled.set()
        early, box.early = box.early, []
        for request in early:
            if request in box.asked:
                self._receive(box, box.participant, request)

    async def _stored(self, name: str) -> dict[str, JSON]:
        """What is stored of an entity, by key, as soon as it can be read."""
        while True:
            try:
                found = [each async for each in self._parts.store.documents(STATE, name)]
            except UnavailableError as error:
                if self._stopped:
                    raise
                log.warning("the entity %s cannot be read; trying again: %s", name.strip(), error)
                await asyncio.sleep(AGAIN_S)  # noqa: TID251  the store may work again soon
            else:
                return {document.key: orjson.loads(document.body or b"") for document in found}

    def _fail_all(self, box: _Mailbox, text: str) -> None:
        """Forgets an entity: what is stored of it is right, and is read again."""
        self._boxes.pop(box.name, None)
        box.filled.set()
        now_ms = self._clock.now_ms()
        for request, asked in list(box.asked.items()):
            self._requests.pop(request.id, None)
            asked.done(Completion(Failure(INTERNAL_ERROR, text), now_ms, now_ms))

    def _evict(self) -> None:
        """Forgets entities that nothing has happened to for longest, when there are many."""
        surplus = len(self._boxes) - IDLE
        if surplus <= 0:
            return
        for name, box in list(self._boxes.items())[: 2 * surplus]:
            if box.participant is not None and box.participant.idle and not box.unsettled:
                del self._boxes[name]

    # --- what comes of them --------------------------------------------------------------------

    def _do(self, box: _Mailbox, change: Callable[[], list[Effect]]) -> None:
        """Makes a change and follows it: the boundary that no mistake of ours crosses."""
        try:
            effects = change()
        except Exception:
            log.exception("an entity fails by a mistake of ours: %s", box.name.strip())
            self._fail_all(box, "The entity could not do it; the log says why.")
        else:
            self._follow(box, effects)

    def _follow(self, box: _Mailbox, effects: Iterable[Effect]) -> None:
        """Carries out what an entity asks for; what it writes is committed with what it answers."""
        for effect in effects:
            match effect:
                case Run():
                    self._run(box, effect)
                case Answer():
                    self._answer(box, effect)
                case Save():
                    self._save(box, self._documents(box, effect.writes))
                case Damage():
                    self._damaged(box, effect)
        due_ms = box.participant.due_ms if box.participant is not None else None
        if due_ms is not None and due_ms != box.due_ms:
            box.due_ms = due_ms
            self._timers.arm(due_ms, box.name, "")

    def _run(self, box: _Mailbox, effect: Run) -> None:
        asked = box.asked.get(effect.request)
        assert asked is not None  # noqa: S101  what nobody waits for is not run
        whole = asked.invocation
        invocation = Invocation(
            whole.activation,
            whole.action,
            {
                **whole.action.parameters,
                "state": effect.state,
                "operation": effect.operation,
                "params": effect.params,
                "key": whole.params["key"],
            },
            whole.namespace,
            "",
            transaction=whole.transaction,
            key=whole.key,
        )
        invoker = self._invokers.get(whole.action.kind)
        ran = partial(self._ran, box, effect.request)
        if invoker is None:
            now_ms = self._clock.now_ms()
            text = f"nothing here runs actions of kind '{whole.action.kind}'"
            ran(Completion(Failure(INTERNAL_ERROR, text), now_ms, now_ms))
            return
        invoker.invoke(invocation, ran)

    def _ran(self, box: _Mailbox, request: Request, completion: Completion) -> None:
        asked, participant = box.asked.get(request), box.participant
        if asked is not None:
            asked.last = completion
        assert participant is not None  # noqa: S101  only what is loaded runs
        self._do(box, partial(participant.ran, completion.outcome, self._clock.now_ms()))

    def _answer(self, box: _Mailbox, effect: Answer) -> None:
        documents = self._documents(box, effect.writes)
        asked = box.asked.pop(effect.request, None)
        self._requests.pop(effect.request.id, None)
        if asked is None:  # the engine itself has asked
            self._save(box, documents)
            return
        now_ms = self._clock.now_ms()
        last, logs = asked.last, asked.last.logs if asked.last is not None else []
        completion = Completion(
            effect.outcome,
            asked.started_ms,
            now_ms,
            logs,
            last.init_ms if last is not None else None,
            documents=documents,
        )
        self._settling(box, documents)
        asked.done(completion)

    def _save(self, box: _Mailbox, documents: list[Document]) -> None:
        self._settling(box, documents)
        self._tick.gathering.write.documents += documents
        self._tick.wake()

    def _settling(self, box: _Mailbox, documents: list[Document]) -> None:
        if documents:
            box.unsettled += 1
            self._tick.gathering.alone = False  # what it has done stays
            self._tick.gathering.effects.append(partial(self._settled, box))

    @staticmethod
    def _settled(box: _Mailbox) -> None:
        box.unsettled -= 1

    def _documents(self, box: _Mailbox, writes: Iterable[Write]) -> list[Document]:
        found = []
        for write in writes:
            match write:
                case Row():
                    body = None if write.empty else orjson.dumps(write.to_json())
                    found.append(Document(kind=STATE, key=box.name, body=body))
                case Tombstone():
                    body = orjson.dumps(write.to_json())
                    found.append(Document(kind=STATE, key=box.name + write.of, body=body))
                case Forgotten(of):
                    found.append(Document(kind=STATE, key=box.name + of, body=None))
                case Prepared():
                    found.append(self._keep(box, write))
                case Gone(id):
                    self._prepared[box.name].pop(id)
                    if not self._prepared[box.name]:
                        del self._prepared[box.name]
                    found.append(Document(kind=PREPARED, key=box.name + id, body=None))
        return found

    def _keep(self, box: _Mailbox, vote: Prepared) -> Document:
        id = vote.transaction.id
        new = id not in self._prepared.get(box.name, {})
        self._prepared.setdefault(box.name, {})[id] = vote
        if new:
            self._doubt(box.name, id)
        return Document(kind=PREPARED, key=box.name + id, body=orjson.dumps(vote.to_json()))

    def _ring(self, name: str, transaction: str) -> None:
        """A lock has been held for too long, or a decision is overdue."""
        if transaction:
            self._tasks.create_task(self._inquire(name, transaction))
            return
        box = self._boxes.get(name)
        if box is not None and box.participant is not None:
            box.due_ms = 0
            self._do(box, partial(box.participant.expire, self._clock.now_ms()))

    # --- by hand -------------------------------------------------------------------------------

    @property
    def votes(self) -> Mapping[str, Mapping[str, Prepared]]:
        """What has been prepared and is not over, by the entity's name and the transaction."""
        return self._prepared

    async def decide_by_hand(
        self, name: str, transaction: str, *, commits: bool, by: str, reason: str
    ) -> None:
        """Decides for an entity what its coordinator has not."""
        box = await self._present(name)
        participant = box.participant
        prepared = participant.prepared if participant is not None else None
        if participant is not None and prepared and prepared.transaction.id == transaction:
            now_ms = self._clock.now_ms()
            decide = partial(
                participant.resolve, commits=commits, by=by, reason=reason, now_ms=now_ms
            )
            self._do(box, decide)

    async def forget(self, name: str, transaction: str) -> None:
        """Forgets what was decided by hand."""
        box = await self._present(name)
        if box.participant is not None:
            box.participant.settled.pop(transaction, None)
        self._save(box, self._documents(box, [Gone(transaction)]))

    # --- in doubt ------------------------------------------------------------------------------

    def _doubt(self, name: str, id: str) -> None:
        """Has the coordinator asked, if nothing is heard of it for some time."""
        wait_ms = self._inquiries.get(id, ASK_MS)
        self._inquiries[id] = min(2 * wait_ms, ASK_AT_MOST_MS)
        self._timers.arm(self._clock.now_ms() + wait_ms, name, id)

    async def _inquire(self, name: str, id: str) -> None:
        vote = self._prepared.get(name, {}).get(id)
        if vote is None or vote.heuristic is not None:
            self._inquiries.pop(id, None)
            return
        try:
            decision = await self._decision(vote)
        except Exception:
            log.exception("the coordinator of transaction %s cannot be asked; later", id)
            decision = "undecided"
        if decision == "undecided":
            self._doubt(name, id)
            return
        told = partial(self._decide, name, vote, decision)
        self._tick.gathering.effects.append(told)  # what it has decided may not be durable yet
        self._tick.wake()

    async def _decision(self, vote: Prepared) -> str:
        """What the coordinator says: of one that is not there nothing has committed."""
        if vote.transaction.coordinator is None:
            return "undecided"
        execution = vote.transaction.coordinator.partition("/")[0]
        saved = await self._parts.store.load(execution)
        if saved is None or saved.execution.ended_ms is not None:
            return "abort"  # it would be there until everybody knows that it has committed
        run = await self._found(execution)
        if run is None:
            return "undecided"
        return decision(run.execution.fibers.values(), vote.transaction.id)

    def _decide(self, name: str, vote: Prepared, decision: str) -> None:
        box = self._boxes.get(name)
        if vote.transaction.id not in self._prepared.get(name, {}):
            return
        about = {"id": vote.transaction.id, "kind": decision, "deadline": 0}
        message = parsed({"transaction": {**about, "epoch": vote.transaction.epoch}})
        request = Request(f"decided {vote.transaction.id}", message)
        if box is not None and box.participant is not None:
            self._do(box, partial(box.participant.receive, request, self._clock.now_ms()))
        else:
            self._tasks.create_task(self._decide_at_rest(name, request))

    async def _decide_at_rest(self, name: str, request: Request) -> None:
        box = await self._present(name)
        if box.participant is not None:
            self._do(box, partial(box.participant.receive, request, self._clock.now_ms()))
        else:  # it cannot be read: later
            self._doubt(name, request.transaction)

    async def _present(self, name: str) -> _Mailbox:
        """An entity's mailbox, loaded."""
        box = self._boxes.get(name)
        if box is None:
            box = self._boxes[name] = _Mailbox(name)
            await self._fill(box)
        await box.filled.wait()
        return box

    def _damaged(self, box: _Mailbox, effect: Damage) -> None:
        self._parts.counters.damaged += 1
        log.error(
            "transaction %s has %s, but an operator had decided to %s it at %s",
            effect.prepared.transaction.id,
            "committed" if effect.committed else "aborted",
            effect.prepared.heuristic,
            box.name.strip(),
        )
