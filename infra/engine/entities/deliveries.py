"""Requests on their way through entities: from the message to the answer, committed with its writes."""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, ParamSpec

from ....actions import INTERNAL_ERROR, Completion, Invocation, PromptInvoker
from ....composer import CANCELLED, Failure
from ....transactions import Answer, Damage, DeletePrepared, Perform, Prepared, Save
from .documents import document_of
from .mailbox import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ....actions import Document, Invoker
    from ....transactions import Effect, EntityWrite, Participant, Request
    from ..shared import Parts
    from ..tick import Tick
    from ..timers import Timers
    from .doubts import Doubts
    from .mailbox import Done, Mailbox

log = logging.getLogger(__name__)

P = ParamSpec("P")
ENVELOPE_BYTES = 1 << 14  # of a vote, around the results of its operations


class Deliveries:
    """Hands requests to entities in memory, and carries out the effects.

    Args:
        parts: of the engine.
        tick: commits the writes.
        invokers: of the entities' code, by kind of action.
        doubts: keeps the votes.
        timers: ring when `Participant.expire` is due, by the entity's name.
        discard: removes a mailbox that has failed from memory.
    """

    def __init__(  # noqa: PLR0913, PLR0917  each is needed
        self,
        parts: Parts,
        tick: Tick,
        invokers: Mapping[str, Invoker],
        doubts: Doubts,
        timers: Timers[str],
        discard: Callable[[Mailbox], None],
    ) -> None:
        self._parts, self._tick, self._invokers, self._clock = parts, tick, invokers, parts.clock
        self._doubts, self._timers, self._discard = doubts, timers, discard
        self._room = parts.settings.limits.value_bytes - ENVELOPE_BYTES
        self._prompt: dict[str, PromptInvoker | None] = {}  # by kind, once one was asked for
        self._requests: dict[str, tuple[Mailbox, Request]] = {}  # by activation

    def begin(self, box: Mailbox, request: Request, invocation: Invocation, done: Done) -> None:
        """Delivers a request, at once or when the entity is loaded."""
        now_ms = self._clock.now_ms()
        delivery = box.deliveries[request] = Delivery(invocation, done, now_ms)
        self._requests[request.id] = box, request
        if box.participant is None:
            box.early.append(request)
        else:
            self._receive(box, box.participant, request, delivery, now_ms)

    def begin_early(self, box: Mailbox, participant: Participant) -> None:
        """Delivers the requests that came before the entity was loaded."""
        early, box.early = box.early, []
        for request in early:
            if (delivery := box.deliveries.get(request)) is not None:
                self._receive(box, participant, request, delivery, self._clock.now_ms())

    def _receive(
        self,
        box: Mailbox,
        participant: Participant,
        request: Request,
        delivery: Delivery,
        now_ms: int,
    ) -> None:
        participant.room = self._room
        participant.settings = delivery.invocation.action.entity or participant.settings
        self.apply(box, participant.receive, request, now_ms)

    def withdraw(self, activation: str) -> bool:
        """Withdraws a request that needs no answer any more: it has no effect, unless it had one.

        Returns:
            False if there is no such request.
        """
        found = self._requests.pop(activation, None)
        if found is None:
            return False
        box, request = found
        box.deliveries.pop(request, None)
        if box.participant is None:
            box.early.remove(request)
        else:
            self.apply(box, box.participant.cancel, request.id, self._clock.now_ms())
        return True

    def fail(self, box: Mailbox, text: str) -> None:
        """Fails all requests to an entity and discards it: its stored state is right, and is read again."""
        self._discard(box)
        box.discarded = True
        box.loaded.set()
        now_ms = self._clock.now_ms()
        for request, delivery in list(box.deliveries.items()):
            self._requests.pop(request.id, None)
            delivery.done(Completion(Failure(INTERNAL_ERROR, text), now_ms, now_ms))

    # --- effects -------------------------------------------------------------------------------

    def apply(
        self, box: Mailbox, change: Callable[P, list[Effect]], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Makes a change and carries out its effects."""
        self.carry_out(box, self._change(box, change, *args, **kwargs))

    def _change(
        self, box: Mailbox, change: Callable[P, list[Effect]], *args: P.args, **kwargs: P.kwargs
    ) -> list[Effect]:
        """Makes a change. Returns its effects; a bug in the change fails only this entity."""
        try:
            return change(*args, **kwargs)
        except Exception:
            log.exception("entity %s fails because of a bug", box.name.strip())
            self.fail(box, "The entity could not handle the request; the log has the cause.")
            return []

    def carry_out(self, box: Mailbox, effects: Iterable[Effect]) -> None:
        """Carries out the effects of a change, and of what its operations lead to at once."""
        waiting = deque(effects)
        while waiting:
            effect = waiting.popleft()
            match effect:
                case Perform():
                    completion = self._perform(box, effect)
                    if completion is not None:
                        waiting += self._taken(box, effect.request, completion)
                case Answer():
                    self._answer(box, effect)
                case Save():
                    self.save(box, effect.writes)
                case Damage():
                    self._damaged(box, effect)
        due_ms = box.participant.due_ms if box.participant is not None else None
        if due_ms is not None and due_ms != box.due_ms:
            box.due_ms = due_ms
            self._timers.arm(due_ms, box.name, "")

    def _perform(self, box: Mailbox, effect: Perform) -> Completion | None:
        """Has an operation performed. Returns its completion if it has ended by then."""
        delivery = box.deliveries.get(effect.request)
        if delivery is None:  # it was withdrawn by what an answer before it has led to
            now_ms = self._clock.now_ms()
            return Completion(Failure(CANCELLED, "cancelled"), now_ms, now_ms)
        whole = delivery.invocation
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
        kind = whole.action.kind
        invoker = self._invokers.get(kind)
        performed = partial(self._performed, box, effect.request)
        if invoker is None:
            now_ms = self._clock.now_ms()
            text = f"nothing here runs actions of kind '{kind}'"
            return Completion(Failure(INTERNAL_ERROR, text), now_ms, now_ms)
        if kind not in self._prompt:
            self._prompt[kind] = invoker if isinstance(invoker, PromptInvoker) else None
        prompt = self._prompt[kind]
        if prompt is not None:
            return prompt.run(invocation, performed)
        invoker.invoke(invocation, performed)
        return None

    def _performed(self, box: Mailbox, request: Request, completion: Completion) -> None:
        """An operation has been performed after a while."""
        self.carry_out(box, self._taken(box, request, completion))

    def _taken(self, box: Mailbox, request: Request, completion: Completion) -> list[Effect]:
        delivery, participant = box.deliveries.get(request), box.participant
        if delivery is not None:
            delivery.last = completion
        assert participant is not None  # noqa: S101  only a loaded entity performs
        return self._change(box, participant.performed, completion.outcome, self._clock.now_ms())

    def _answer(self, box: Mailbox, effect: Answer) -> None:
        delivery = box.deliveries.pop(effect.request, None)
        self._requests.pop(effect.request.id, None)
        if delivery is None:  # the request is the engine's own, or withdrawn
            self.save(box, effect.writes)
            return
        documents = self.documents(box, effect.writes)
        now_ms, last = self._clock.now_ms(), delivery.last
        completion = Completion(
            effect.outcome,
            delivery.started_ms,
            now_ms,
            last.logs if last is not None else [],
            last.init_ms if last is not None else None,
            documents=documents,
        )
        delivery.done(completion)

    def save(self, box: Mailbox, writes: Iterable[EntityWrite]) -> None:
        """Commits writes that belong to no answer."""
        self._tick.gathering.write.documents += self.documents(box, writes)
        self._tick.wake()

    def _await_commit(self, box: Mailbox, documents: list[Document]) -> None:
        """Keeps the entity in memory until its writes are committed."""
        if documents:
            box.uncommitted += 1
            self._tick.gathering.alone = False  # its writes are never withdrawn
            self._tick.gathering.effects.append(partial(self._committed, box))

    @staticmethod
    def _committed(box: Mailbox) -> None:
        box.uncommitted -= 1

    def documents(self, box: Mailbox, writes: Iterable[EntityWrite]) -> list[Document]:
        """Returns the documents of writes that belong to the next commit.

        The entity stays in memory until they are committed.
        """
        documents = []
        for write in writes:
            match write:
                case Prepared():
                    self._doubts.put(box.name, write)
                case DeletePrepared(id):
                    self._doubts.remove(box.name, id)
                case _:
                    pass
            documents.append(document_of(box.name, write))
        self._await_commit(box, documents)
        return documents

    def _damaged(self, box: Mailbox, effect: Damage) -> None:
        self._parts.counters.damaged += 1
        log.error(
            "transaction %s has %s, but an operator had decided to %s it at %s",
            effect.prepared.transaction.id,
            "committed" if effect.committed else "aborted",
            effect.prepared.heuristic,
            box.name.strip(),
        )
