"""Calls from outside: an action or a composition is run, and perhaps waited for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    COMPOSITION,
    PLAIN,
    Action,
    Composed,
    ConflictError,
    InDoubtError,
    InvalidError,
    NotFoundError,
    Refuse,
    Replace,
    UnavailableError,
    Use,
    check_call,
    check_options,
    decided,
)
from ...composer import changed, compile
from .idempotency import Claim, IdempotencyKeys, digest_of
from .inbox.pending import called
from .live import CONTINUED
from .names import key_of
from .programs import program_document
from .units import Unit
from .unwaited import INVOKE, SIGNAL, Unwaited
from .waiters import Ended

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ...actions import Call, Document
    from ...composer import JSON, Composition, Message, Name, Outcome
    from .endings import Endings
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .records import Records

MAY_RUN = (
    "The server could not store this call in time, and cannot say whether it will: activation {id} "
    "may still run. Ask for that activation before you call again."
)
CHANGED = "Another caller has changed a document that was to be committed with the start."
UNREGISTERED = (
    "{name} is a function of a program that embeds the engine, and this process has not registered it. "
    "Pass it to embedded(actions=[...]), or call register()."
)


@dataclass(frozen=True, slots=True)
class Invoked:
    """A call that was accepted; `ended` when it was waited for and has ended.

    `replayed` is True if an earlier call with the same idempotency key has begun it, `used` if the call stands
    for a run that its id had already. `id` is the user's id; "" if it has none.
    """

    activation: str
    ended: Ended | None
    replayed: bool = False
    used: bool = False
    id: str = ""

    @property
    def started(self) -> bool:
        """True if this call has begun it."""
        return not (self.replayed or self.used)


@dataclass(frozen=True, slots=True)
class Beside:
    """What is committed with a start, or not at all.

    Args:
        documents: these; they may expect versions.
        begun: is called with the execution as soon as it has begun, before that is committed.
        told: messages that it receives before its first part runs.
        run: the id of the run; "" to make one. A run with a given id is the engine's own: nobody calls it from
            outside, and no quota refuses it.
        action: the action, if it is not in the catalog.
    """

    documents: Sequence[Document] = ()
    begun: Callable[[LiveExecution], None] | None = None
    told: tuple[Message, ...] = ()
    run: str = ""
    action: Action | None = None


_ALONE = Beside()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a start stands: under its key, in the chain of its id, or at a run that it stands for."""

    claim: Claim | None
    version: int = 0
    used: str = ""
    replaced: LiveExecution | None = None


@dataclass(slots=True)
class _Launch:
    """A start that is not durable yet."""

    id: str
    accepted: asyncio.Future[bool]
    ended: asyncio.Future[Ended] | None


class Calls:
    """Runs actions and compositions for callers from outside."""

    def __init__(
        self, identities: Identities, inbox: Inbox, records: Records, endings: Endings
    ) -> None:
        core = identities.core
        self._parts, self._tick, self._waiters = core.parts, core.tick, core.waiters
        self._inbox, self._records = inbox, records
        self._endings, self._identities, self._chains = endings, identities, core.chains
        self.keys = IdempotencyKeys(core.parts, core.tick)

    async def invoke(
        self, call: Call, *, wait_s: float | None = None, beside: Beside | None = None
    ) -> Invoked:
        """See `Engine.invoke`.

        What goes `beside` the start is committed only with a start: neither when the call stands for a run that
        is there, nor when it is refused.

        Raises:
            ConflictError: also when a document beside it does not have its expected version.
        """
        if not (call.idempotency_key or call.options.id or beside):
            launch = self._launched(call, waits=wait_s is not None)
            return Invoked(launch.id, await self._end(launch, wait_s))
        check_options(call.options)
        turns = [call.namespace + " " + call.idempotency_key] if call.idempotency_key else []
        if call.options.id:
            turns.append(key_of(call.namespace, call.options.id))
        async with self._identities.turns.of(*turns):
            found = await self._once(call, beside or Beside(), waits=wait_s is not None)
        if isinstance(found, _Launch):
            return Invoked(found.id, await self._end(found, wait_s), id=call.options.id)
        if wait_s is None:
            return found
        outcome = await self.outcome(call.namespace, found.activation, wait_s)
        return replace(found, ended=None if outcome is None else Ended(outcome))

    async def _once(self, call: Call, beside: Beside, *, waits: bool) -> Invoked | _Launch:
        """A start that has been accepted, or the run that the call stands for.

        The store refuses a start if another server has used the key or the id meanwhile: then this looks again.
        """
        id = call.options.id
        if id:
            call = replace(call, options=changed(call.options, digest=digest_of(call)))
        refused: _Place | None = None
        while True:
            claim = await self.keys.begun(call) if call.idempotency_key else None
            if isinstance(claim, str):
                return Invoked(claim, None, replayed=True, id=id)
            place = await self._place(call, claim) if id else _Place(claim)
            if place is None:
                continue
            if place.used:
                return Invoked(place.used, None, used=True, id=id)
            if place == refused:
                raise ConflictError(CHANGED)
            refused = place
            also = partial(self._with_start, call, beside, place)
            launch = self._launched(call, waits=waits, also=also, beside=beside)
            if await self._is_accepted(launch):
                return launch
            self.keys.withdrawn({launch.id})

    async def _place(self, call: Call, claim: Claim | None) -> _Place | None:
        """The place that a start has under its id; None to look again.

        Raises:
            TakenIdError: it has none.
        """
        options, namespace = call.options, call.namespace
        known, version = await self._identities.look(namespace, options.id)
        match decided(options, options.digest, known):
            case Refuse() as refusal:
                raise refusal.error(refusal.text, refusal.run)
            case Use(run=run):
                is_noted = claim is None or await self._claimed(claim, run)
                return _Place(claim, version, used=run) if is_noted else None
            case Replace(run=run):
                replaced = await self._endings.replaceable(namespace, run)
                if replaced is None:  # it has ended meanwhile
                    await self._tick.committed()
                    return None
                return _Place(claim, version, replaced=replaced)
        return _Place(claim, version)

    async def _claimed(self, claim: Claim, run: str) -> bool:
        """Notes that a key stands for a run that is there. Returns False if the key was used meanwhile."""
        unit = Unit()
        unit.write.documents.append(self.keys.claim(claim, run))
        if await self._tick.submit(unit, patient=False):
            return True
        self.keys.withdrawn({run})
        return False

    def _with_start(
        self, call: Call, beside: Beside, place: _Place, run: LiveExecution, unit: Unit
    ) -> None:
        """Adds to the unit of a start what is committed with it."""
        id, documents = call.options.id, unit.write.documents
        if place.claim is not None:
            documents.append(self.keys.claim(place.claim, run.id))
        if id:
            documents += self._identities.documents(call.namespace, id, run.id, place.version)
        documents += beside.documents
        if place.replaced is not None:
            self._endings.replace(place.replaced, unit)
        if beside.begun is not None:
            beside.begun(run)

    def _launched(
        self,
        call: Call,
        *,
        waits: bool,
        also: Callable[[LiveExecution, Unit], None] | None = None,
        beside: Beside = _ALONE,
    ) -> _Launch:
        """Begins an execution; with `also`, which adds to its unit, the store may refuse it."""
        action = beside.action or self._parts.catalog.resolve(call.name, call.namespace)
        if action.is_unregistered:
            raise UnavailableError(UNREGISTERED.format(name=action.name))
        quotas = self._parts.settings.quotas(call.namespace)
        check_call(action, call.params, _size(call.params), quotas)
        now_ms = self._parts.clock.now_ms()
        self._tick.ensure()
        id = beside.run
        if not id:
            self._parts.used(call.namespace).admit(quotas, now_ms)
            id = self._parts.ids.execution_id(now_ms)
        unwaited = (
            None if waits or beside.run else Unwaited(INVOKE if action.entity is None else SIGNAL)
        )
        beginning = called(action, call.params, call.namespace, call.trace, unwaited)
        if call.options is not PLAIN:
            beginning = changed(beginning, options=call.options, told=beside.told)
        ended = self._waiters.wait_for(id) if waits else None
        try:
            with self._tick.apart() as unit:
                accepted = self._tick.durable()
                if ended is not None:
                    unit.waiting.append(ended)
                begun = self._inbox.begin(id, beginning)
                if also is not None:
                    also(begun, unit)
                    self._identities.conditional(unit, id, accepted)
        except BaseException:
            if ended is not None:
                self._waiters.forget(id, ended)
            raise
        return _Launch(id, accepted, ended)

    async def _is_accepted(self, launch: _Launch) -> bool:
        """True as soon as a start is durable, False if the store refuses it."""
        accepted = False
        try:
            accepted = await launch.accepted
        except InDoubtError:
            raise InDoubtError(MAY_RUN.format(id=launch.id), launch.id) from None
        finally:
            if not accepted and launch.ended is not None:
                self._waiters.forget(launch.id, launch.ended)
        return accepted

    async def _end(self, launch: _Launch, wait_s: float | None) -> Ended | None:
        """The end of an execution, if it comes in time; at least the start is durable then."""
        id, ended = launch.id, launch.ended
        try:
            if ended is not None and wait_s is not None:
                end = await self._waiters.within(id, ended, wait_s)
                if end is not None:
                    return end
            await launch.accepted  # also when the wait was shorter than the commit
        except InDoubtError:
            raise InDoubtError(MAY_RUN.format(id=id), id) from None
        return None

    async def start(
        self, name: Name, composition: Composition, params: dict[str, JSON], namespace: str
    ) -> str:
        """See `Engine.start`."""
        program = compile(composition, namespace=namespace)
        action = Action(name, Composed(COMPOSITION, composition.to_json(), program))
        now_ms = self._parts.clock.now_ms()
        quotas = self._parts.settings.quotas(namespace)
        check_call(action, params, _size(params), quotas)
        self._tick.ensure()
        self._parts.used(namespace).admit(quotas, now_ms)
        id = self._parts.ids.execution_id(now_ms)
        with self._tick.apart() as unit:
            accepted = self._tick.durable()
            unit.write.documents.append(program_document(program))
            self._inbox.begin(id, called(action, params, namespace, unwaited=Unwaited(SIGNAL)))
        await accepted
        return id

    async def outcome(self, namespace: str, id: str, seconds: float) -> Outcome | None:
        """The outcome of an execution or of an action's activation; None if it has not ended in time.

        Raises:
            NotFoundError: the namespace has none with this id.
        """
        with suppress(NotFoundError):  # a single action leaves only its activation
            if not await self.wait(namespace, id, seconds):
                return None
        return await self._records.outcome(namespace, id)

    async def knows(self, namespace: str, id: str) -> bool:
        """True if an execution has begun, also if it has ended, or is a single action."""
        if id in self._parts.runs or id in self._parts.ended:
            return True
        if await self._parts.store.load(id) is not None:
            return True
        with suppress(NotFoundError):
            await self._records.outcome(namespace, id)
            return True
        return False

    def cancel(self, run: LiveExecution) -> None:
        """Asks an execution in memory to stop."""
        self._inbox.cancel(run)

    async def wait(self, namespace: str, id: str, seconds: float) -> bool:
        """See `Engine.wait`."""
        while True:
            known = await self._chains.newest(id)
            ended = self._waiters.wait_for(known)
            run = self._parts.runs.get(known)
            try:
                if run is not None and run.origin.namespace != namespace:
                    raise NotFoundError
                ending = known in self._parts.ended  # and that is not durable yet
                if run is None and not ending:
                    row = await self._records.row(namespace, known)
                    if row.status == CONTINUED:
                        continue
                    if row.ended_ms is not None:
                        return True
                return await self._waiters.within(known, ended, seconds) is not None
            finally:
                self._waiters.forget(known, ended)


def _size(params: dict[str, JSON]) -> int:
    try:
        return len(orjson.dumps(params))
    except TypeError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
