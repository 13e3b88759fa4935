"""Calls from outside: an action or a composition is run, and perhaps waited for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    COMPOSITION,
    PLAIN,
    Action,
    Composed,
    InDoubtError,
    InvalidError,
    NotFoundError,
    UnavailableError,
    check_call,
)
from ...composer import changed, compile
from .idempotency import Claim, IdempotencyKeys
from .inbox.pending import called
from .programs import program_document
from .unwaited import INVOKE, SIGNAL, Unwaited
from .waiters import Ended

if TYPE_CHECKING:
    from ...actions import Call
    from ...composer import JSON, Composition, Name, Outcome
    from .core import Core
    from .inbox.inbox import Inbox
    from .records import Records

MAY_RUN = (
    "The server could not store this call in time, and cannot say whether it will: activation {id} "
    "may still run. Ask for that activation before you call again."
)
UNREGISTERED = (
    "{name} is a function of a program that embeds the engine, and this process has not registered it. "
    "Pass it to embedded(actions=[...]), or call register()."
)


@dataclass(frozen=True, slots=True)
class Invoked:
    """A call that was accepted; `ended` when it was waited for and has ended.

    `replayed` is True if an earlier call with the same idempotency key has begun it.
    """

    activation: str
    ended: Ended | None
    replayed: bool = False


class Calls:
    """Runs actions and compositions for callers from outside."""

    def __init__(self, core: Core, inbox: Inbox, records: Records) -> None:
        self._parts, self._tick, self._waiters = core.parts, core.tick, core.waiters
        self._inbox, self._records = inbox, records
        self.keys = IdempotencyKeys(core.parts, core.tick)

    async def invoke(self, call: Call, *, wait_s: float | None = None) -> Invoked:
        """See `Engine.invoke`."""
        if not call.idempotency_key:
            return await self._begin(call, wait_s, None)
        begun = await self.keys.begun(call)
        if isinstance(begun, Claim):
            return await self._begin(call, wait_s, begun)
        outcome = None if wait_s is None else await self.outcome(call.namespace, begun, wait_s)
        return Invoked(begun, None if outcome is None else Ended(outcome), replayed=True)

    async def _begin(self, call: Call, wait_s: float | None, claim: Claim | None) -> Invoked:
        action = self._parts.catalog.resolve(call.name, call.namespace)
        if action.is_unregistered:
            raise UnavailableError(UNREGISTERED.format(name=action.name))
        quotas = self._parts.settings.quotas(call.namespace)
        check_call(action, call.params, _size(call.params), quotas)
        now_ms = self._parts.clock.now_ms()
        self._tick.ensure()
        self._parts.used(call.namespace).admit(quotas, now_ms)
        id = self._parts.ids.execution_id(now_ms)
        unwaited = None
        if wait_s is None:
            unwaited = Unwaited(INVOKE if action.entity is None else SIGNAL)
        beginning = called(action, call.params, call.namespace, call.trace, unwaited)
        if call.options is not PLAIN:
            beginning = changed(beginning, options=call.options)
        try:
            ended = None if wait_s is None else self._waiters.wait_for(id)
            with self._tick.apart() as unit:
                accepted = self._tick.durable()
                if ended is not None:
                    unit.waiting.append(ended)
                self._inbox.begin(id, beginning)
                if claim is not None:
                    unit.write.documents.append(self.keys.claim(claim, id))
            if ended is not None and wait_s is not None:
                end = await self._waiters.within(id, ended, wait_s)
                if end is not None:
                    return Invoked(id, end)
            await accepted  # also when the wait was shorter than the commit
            return Invoked(id, None)
        except InDoubtError:
            raise InDoubtError(MAY_RUN.format(id=id), id) from None

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

    async def wait(self, namespace: str, id: str, seconds: float) -> bool:
        """See `Engine.wait`."""
        ended = self._waiters.wait_for(id)
        run = self._parts.runs.get(id)
        try:
            if run is not None and run.origin.namespace != namespace:
                raise NotFoundError
            ending = id in self._parts.ended  # and that is not durable yet
            if run is None and not ending:
                row = await self._records.row(namespace, id)
                if row.ended_ms is not None:
                    return True
            return await self._waiters.within(id, ended, seconds) is not None
        finally:
            self._waiters.forget(id, ended)


def _size(params: dict[str, JSON]) -> int:
    try:
        return len(orjson.dumps(params))
    except TypeError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
