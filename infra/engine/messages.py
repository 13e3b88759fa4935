"""Executions are told messages: from outside, and by steps of others.

A message is durable when `tell` returns. It is heard in the commit that takes it, if a fiber waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    INTERNAL_ERROR,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    ClosedError,
    ConflictError,
    InvalidError,
    InvalidIdError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    TooLargeError,
    TooManyMessagesError,
    UnavailableError,
    check_message,
)
from ...composer import (
    MAX_INBOX_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGES,
    Completed,
    Failed,
    Message,
    accepts,
    changed,
    failure,
    flaw,
    measured,
)
from .calls import Beside, Invoked
from .message_rows import TOLD, shown, stored, told_document, was_told, was_told_by
from .names import Sweep
from .turns import Turns
from .units import nothing

if TYPE_CHECKING:
    from ...actions import Call
    from ...composer import JSON, Event, Invoke
    from ...composer import Inbox as Waiting
    from .calls import Calls
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .recovery import Recovery
    from .stored_values import Stored
    from .units import Also

log = logging.getLogger(__name__)

FIRST = 2  # the number of the entry after ExecutionStarted
FULL = (
    "Execution {id} has {count} messages that it has not received, of {size} bytes together. It may have "
    "{most} messages of {most_size} bytes. Tell it more when it has received some."
)


class Messages:
    """Tells executions messages, and lists those that wait."""

    def __init__(
        self, identities: Identities, inbox: Inbox, recovery: Recovery, calls: Calls
    ) -> None:
        core = identities.core
        self._identities, self._calls = identities, calls
        self._parts, self._store, self._tick = core.parts, core.parts.store, core.tick
        self._inbox, self._recovery, self._tasks = inbox, recovery, core.tasks
        self._lingering, self._chains, self._turns = core.lingering, core.chains, Turns()
        self._sweep = Sweep(core.parts, core.tick, TOLD)

    async def tell(  # noqa: PLR0913, PLR0917  what a message consists of
        self,
        namespace: str,
        execution: str,
        name: str,
        payload: JSON,
        id: str = "",
        token: str = "",
        also: Also = nothing,
    ) -> bool:
        """Tells an execution a message. Returns False if one with this id was told before: then nothing changes.

        Args:
            namespace: that the execution is in.
            execution: its id.
            name: of the message.
            payload: any JSON.
            id: by which the message is taken once; "" to take it in any case.
            token: of the call. If the same call is sent again, it gets the answer of the first time.
            also: adds to the commit of the message.

        Raises:
            NotFoundError: the namespace has no such execution.
            ClosedError: it has ended.
            TooManyMessagesError: too many messages wait for it.
            TooLargeError: the payload is too large.
            InvalidError: the name or the id cannot be used.
            UnavailableError: the store does not commit.
        """
        check_message(name, id)
        size = self._size(name, payload)
        self._tick.ensure()
        async with self._turns.of(*await self._turn(execution, id)):
            run = await self._fresh(namespace, execution, id)
            taken = self._tick.durable()  # the first of two with this id may be on its way
            if run is not None:
                self.put(run, Message(0, name, id, payload, size), token=token)
            also(self._tick.gathering.write)
        await taken
        if run is None and token:
            return await was_told_by(self._store, await self._chains.first(execution), id, token)
        return run is not None

    def put(
        self, run: LiveExecution, message: Message, *, bounded: bool = True, token: str = ""
    ) -> None:
        """Puts a message into an inbox, in the next commit. Its number is not used.

        Without `bounded` there may be too many: they were accepted before.

        Raises:
            ConflictError: the execution receives no messages.
            TooManyMessagesError: too many messages wait for it.
        """
        if what := run.origin.apart:
            raise ConflictError(f"Execution {run.id} receives no messages: it is {what}.")
        message = changed(message, number=run.entries + 1)
        machine = run.execution
        inbox = machine.inbox
        if bounded and not accepts(inbox, machine.fibers.values(), machine.program, message):
            assert inbox is not None  # noqa: S101  else it has room
            raise TooManyMessagesError(_full(run.id, inbox))
        self._inbox.tell(run, message)
        self.note_id(run, message.id, token)

    async def _fresh(self, namespace: str, execution: str, id: str) -> LiveExecution | None:
        """The execution, to be used before anything is awaited; None if it knows the message."""
        while True:
            try:
                run = await self._recovery.standing(namespace, execution)
            except ConflictError:
                if id and await self._was_told(execution, id):
                    return None
                raise ClosedError(f"Execution {execution} has ended.") from None
            self._lingering.used(run)
            if not id:
                return run
            inbox = run.execution.inbox
            if inbox is not None and id in inbox.ids:
                return None
            if await was_told(self._store, run.origin.chain_of(run.id), id):
                return None
            if self._parts.runs.get(run.id) is not run:
                continue  # it has left memory meanwhile, with the ids that it knew
            inbox = run.execution.inbox
            if inbox is None or id not in inbox.ids:
                return run

    async def _turn(self, execution: str, id: str) -> list[str]:
        """One turn for an id, whichever run of a chain is told it."""
        if not id:
            return []
        await self._recovery.found(execution)  # it is needed next, and is read together with others
        return [f"{await self._chains.first(execution)} {id}"]

    async def _was_told(self, execution: str, id: str) -> bool:
        """True if an execution that has ended was told a message with this id."""
        if execution in self._parts.ended:
            await self._tick.committed()  # its end, and perhaps the message, are on their way
        return await was_told(self._store, await self._chains.first(execution), id)

    async def undelivered(
        self, namespace: str, execution: str, after: int = 0, limit: int | None = None
    ) -> list[Stored]:
        """The messages that an execution, or its chain, has not received yet, in order of arrival.

        Args:
            namespace: that the execution is in.
            execution: its id, or that of any run of its chain.
            after: the number of a message; those after it are listed.
            limit: how many are listed; None for all.

        Raises:
            NotFoundError: the namespace has no such execution.
        """
        await self._chains.check(namespace, execution)
        if (newest := await self._chains.newest(execution)) != execution:
            await self._tick.committed()  # its start may be on the way to the store
            newest = await self._chains.newest(newest)
        run = self._parts.runs.get(newest)
        if run is not None:
            later = (each for each in run.execution.inbox or () if each.number > after)
            return shown(islice(later, limit))
        return shown(await stored(self._store, newest, after, limit))

    # --- told with a start -------------------------------------------------------------------

    async def tell_or_start(
        self, call: Call, name: str, payload: JSON, id: str = ""
    ) -> tuple[Invoked, bool]:
        """Tells the open execution with the id of a call a message, or starts one that has been told it.

        The start and the message are one commit. The policy for an open execution is `use`.

        Returns:
            The call, and whether the message is new.

        Raises:
            RefusedError: the execution may not start now, or cannot be told.
        """
        check_message(name, id)
        size = self._size(name, payload)
        if not call.options.id:
            raise InvalidIdError("An execution that is told a message or started needs an id.")
        self._check_receives(call)
        call = replace(call, options=changed(call.options, on_open="use"))
        told = (Message(FIRST, name, id, payload, size),)
        beside = Beside(told=told, begun=partial(self.note_id, id=id))
        while True:
            if (known := await self._ended_with(call, id)) is not None:
                return Invoked(known, None, used=True, id=call.options.id), False
            invoked = await self._calls.invoke(call, beside=beside)
            if invoked.started:
                return invoked, True
            with suppress(ClosedError):  # it has ended since
                new = await self.tell(call.namespace, invoked.activation, name, payload, id)
                return invoked, new

    async def _ended_with(self, call: Call, id: str) -> str | None:
        """The newest run, if it has ended and was told a message with this id: the sender asks again."""
        if not id:
            return None
        known, _ = await self._identities.look(call.namespace, call.options.id)
        if known is None or known.open or not await self._was_told(known.run, id):
            return None
        return known.run

    def _check_receives(self, call: Call) -> None:
        action = self._parts.catalog.resolve(call.name, call.namespace)
        if action.program is None or action.express:
            raise InvalidError(
                f"{action.name} cannot be started with a message: only a composition receives messages."
            )

    def note_id(self, run: LiveExecution, id: str, token: str = "") -> None:
        """Notes that an execution was told a message with this id."""
        if id:
            chain = run.origin.chain_of(run.id)
            told = told_document(chain, id, self._parts.clock.now_ms(), token)
            self._tick.gathering.write.documents.append(told)
            self._tick.gathering.effects.append(partial(_forget, run, id))

    # --- told by a step ----------------------------------------------------------------------

    def carry_out(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Tells the message of a step that is durable now, and answers the step in the same commit."""
        if not self._recovery.stopping:  # else it is sent after the next start
            self._tasks.create_task(self._carried_out(run, fiber, command))

    async def _carried_out(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        tell, turn, place = command.tell, command.turn, (fiber, command.turn)
        assert tell is not None  # noqa: S101  only such commands come here
        event: Event
        try:
            self._tick.ensure()
            namespace = run.origin.namespace
            id = await self._identities.run_of(namespace, tell.execution)
            size = self._size(tell.name, command.params)
            async with self._turns.of(*await self._turn(id, tell.id)):
                target = await self._fresh(namespace, id, tell.id)
                if place not in run.put_off:
                    return  # it was cancelled meanwhile
                if target is not None:
                    self.put(target, Message(0, tell.name, tell.id, command.params, size))
        except UnavailableError as error:
            log.warning("execution %s cannot tell a message now: %s", run.id, error)
            again = partial(self.carry_out, run, fiber, command)
            pause_s = self._parts.settings.pacing.visit_retry_s
            asyncio.get_running_loop().call_later(pause_s, again)
            return
        except RefusedError as error:
            event = Failed(turn, failure(_code(error), str(error)), may_have_run="no")
        except Exception:
            log.exception("execution %s cannot tell a message", run.id)
            event = Failed(turn, failure(INTERNAL_ERROR, "the log of the server says why"))
        else:
            event = Completed(turn, {"executionId": id, "message": tell.id})
        if place in run.put_off:
            run.put_off.discard(place)
            self._inbox.deliver(run, fiber, event)

    def _size(self, name: str, payload: JSON) -> int:
        return checked_size(name, payload, self._parts.settings.limits.value_bytes)

    async def forget_ids(self, after: str, count: int, before_ms: int) -> str:
        """Drops ids of messages of executions that are not kept any more: see `Executions.forget_names`."""
        _, last = await self._sweep.forget(after, count, before_ms)
        return last


def checked_size(name: str, payload: JSON, value_bytes: int) -> int:
    """The size of a payload in bytes, if whoever receives it can have it as a value of at most `value_bytes`.

    Raises:
        TooLargeError: it is too large.
        InvalidError: it is not JSON, or nests too deep.
    """
    if why := flaw(payload):
        raise InvalidError(f"The payload of a message is malformed: {why}.")
    size = len(orjson.dumps(payload))
    if size > MAX_MESSAGE_BYTES:
        raise TooLargeError(
            f"The payload of a message is larger than allowed: {size} > {MAX_MESSAGE_BYTES} bytes."
        )
    received = {max(name, "value", key=len): payload}  # or smaller: see `boxed`
    if (whole := measured(received, value_bytes)) > value_bytes:
        raise TooLargeError(
            "The payload of a message makes a larger value than allowed where it is received: "
            f"{whole} > {value_bytes} bytes."
        )
    return size


def _full(id: str, inbox: Waiting) -> str:
    return FULL.format(
        id=id,
        count=inbox.count,
        size=inbox.size,
        most=MAX_MESSAGES,
        most_size=MAX_INBOX_BYTES,
    )


def _forget(run: LiveExecution, id: str) -> None:
    """The id of a message is durable: the store says that it was taken."""
    if run.execution.inbox is not None:
        run.execution.inbox.forget(id)


def _code(error: RefusedError) -> str:
    if isinstance(error, NotFoundError):
        return NOT_FOUND
    if isinstance(error, TooLargeError):
        return PAYLOAD_TOO_LARGE
    return error.code or ("Throttled" if isinstance(error, ThrottledError) else "InvalidRequest")
