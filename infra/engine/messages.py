"""Executions are told messages: from outside, and by steps of others.

A message is durable when `tell` returns. It is heard in the commit that takes it, if a fiber waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    INTERNAL_ERROR,
    NOT_FOUND,
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
    MAX_MESSAGE_BYTES,
    MAX_MESSAGES,
    Completed,
    Failed,
    Message,
    accepts,
    changed,
    failure,
)
from .calls import Beside, Invoked
from .message_rows import TOLD, shown, stored, told_document, was_told
from .names import Sweep

if TYPE_CHECKING:
    from ...actions import Call
    from ...composer import JSON, Event, Invoke
    from .calls import Calls
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .recovery import Recovery
    from .stored_values import Stored

log = logging.getLogger(__name__)

FIRST = 2  # the number of the entry after ExecutionStarted
FULL = "Execution {id} has {count} messages that it has not received. Tell it more when it has received some."


class Messages:
    """Tells executions messages, and lists those that wait."""

    def __init__(
        self, identities: Identities, inbox: Inbox, recovery: Recovery, calls: Calls
    ) -> None:
        core = identities.core
        self._identities, self._calls = identities, calls
        self._parts, self._store, self._tick = core.parts, core.parts.store, core.tick
        self._inbox, self._recovery, self._tasks = inbox, recovery, core.tasks
        self._sweep = Sweep(core.parts, core.tick, TOLD)

    async def tell(
        self, namespace: str, execution: str, name: str, payload: JSON, id: str = ""
    ) -> bool:
        """Tells an execution a message. Returns False if one with this id was told before: then nothing changes.

        Args:
            namespace: that the execution is in.
            execution: its id.
            name: of the message.
            payload: any JSON.
            id: by which the message is taken once; "" to take it in any case.

        Raises:
            NotFoundError: the namespace has no such execution.
            ClosedError: it has ended.
            TooManyMessagesError: too many messages wait for it.
            TooLargeError: the payload is too large.
            InvalidError: the name or the id cannot be used.
            UnavailableError: the store does not commit.
        """
        check_message(name, id)
        check_size(payload)
        self._tick.ensure()
        run = await self._fresh(namespace, execution, id)
        taken = self._tick.durable()  # the first of two with this id may be on its way
        if run is not None:
            self._put(run, Message(0, name, id, payload))
        await taken
        return run is not None

    def _put(self, run: LiveExecution, message: Message) -> None:
        """Puts a message into an inbox, in the next commit."""
        if run.origin.solo or run.origin.express:
            what = "an express execution" if run.origin.express else "a single action"
            raise ConflictError(f"Execution {run.id} receives no messages: it is {what}.")
        message = Message(run.entries + 1, message.name, message.id, message.payload)
        machine = run.execution
        if not accepts(machine.inbox, machine.fibers.values(), machine.program, message):
            raise TooManyMessagesError(FULL.format(id=run.id, count=MAX_MESSAGES))
        self._inbox.tell(run, message)
        self._note_id(run, message.id)

    async def _fresh(self, namespace: str, execution: str, id: str) -> LiveExecution | None:
        """The execution, to be used before anything is awaited; None if it knows the message."""
        while True:
            try:
                run = await self._recovery.standing(namespace, execution)
            except ConflictError:
                if id and await self._was_told(execution, id):
                    return None
                raise ClosedError(f"Execution {execution} has ended.") from None
            if not id:
                return run
            inbox = run.execution.inbox
            if inbox is not None and id in inbox.ids:
                return None
            if await was_told(self._store, run.id, id):
                return None
            if self._parts.runs.get(run.id) is not run:
                continue  # it has left memory meanwhile, with the ids that it knew
            inbox = run.execution.inbox
            if inbox is None or id not in inbox.ids:
                return run

    async def _was_told(self, execution: str, id: str) -> bool:
        """True if an execution that has ended was told a message with this id."""
        if execution in self._parts.ended:
            await self._tick.committed()  # its end, and perhaps the message, are on their way
        return await was_told(self._store, execution, id)

    async def undelivered(self, namespace: str, execution: str) -> list[Stored]:
        """The messages that an execution has not received yet, in order of arrival.

        Raises:
            NotFoundError: the namespace has no such execution.
        """
        saved = await self._store.load(execution)
        if saved is None or saved.execution.namespace != namespace:
            raise NotFoundError
        run = self._parts.runs.get(execution)
        if run is not None:
            return shown(run.execution.inbox or ())
        return shown(await stored(self._store, execution))

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
        check_size(payload)
        if not call.options.id:
            raise InvalidIdError("An execution that is told a message or started needs an id.")
        self._check_receives(call)
        call = replace(call, options=changed(call.options, on_open="use"))
        told = (Message(FIRST, name, id, payload),)
        beside = Beside(told=told, begun=partial(self._note_id, id=id))
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

    def _note_id(self, run: LiveExecution, id: str) -> None:
        """Notes that an execution was told a message with this id."""
        if id:
            told = told_document(run.id, id, self._parts.clock.now_ms())
            self._tick.gathering.write.documents.append(told)

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
            target = await self._fresh(namespace, id, tell.id)
            if place not in run.put_off:
                return  # it was cancelled meanwhile
            if target is not None:
                self._put(target, Message(0, tell.name, tell.id, command.params))
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

    async def forget_ids(self, after: str, count: int, before_ms: int) -> str:
        """Drops ids of messages of executions that are not kept any more: see `Executions.forget_names`."""
        _, last = await self._sweep.forget(after, count, before_ms)
        return last


def check_size(payload: JSON) -> None:
    """Checks the size of a payload.

    Raises:
        TooLargeError: it is too large.
        InvalidError: it is not JSON.
    """
    try:
        size = len(orjson.dumps(payload))
    except TypeError as error:
        raise InvalidError(f"The request content was malformed:\n{error}") from error
    if size > MAX_MESSAGE_BYTES:
        raise TooLargeError(
            f"The payload of a message is larger than allowed: {size} > {MAX_MESSAGE_BYTES} bytes."
        )


def _code(error: RefusedError) -> str:
    if isinstance(error, NotFoundError):
        return NOT_FOUND
    return error.code or ("Throttled" if isinstance(error, ThrottledError) else "InvalidRequest")
