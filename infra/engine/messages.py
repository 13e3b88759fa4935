"""Executions are told messages: from outside, and by steps of others.

A message is durable when `tell` returns. It is heard in the commit that takes it, if a fiber waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

import orjson

from ...actions import (
    NOT_FOUND,
    ClosedError,
    ConflictError,
    InvalidError,
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
    failure,
)
from .message_rows import TOLD, told_document, was_told
from .names import Sweep

if TYPE_CHECKING:
    from ...composer import JSON, Event, Invoke
    from .core import Core
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .recovery import Recovery
    from .stored_values import Stored

log = logging.getLogger(__name__)

FULL = "Execution {id} has {count} messages that it has not received. Tell it more when it has received some."


class Messages:
    """Tells executions messages, and lists those that wait."""

    def __init__(self, core: Core, inbox: Inbox, recovery: Recovery) -> None:
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
        if message.id:
            now_ms = self._parts.clock.now_ms()
            told = told_document(run.id, message.id, now_ms)
            self._tick.gathering.write.documents.append(told)

    async def _fresh(self, namespace: str, execution: str, id: str) -> LiveExecution | None:
        """The execution, to be used before anything is awaited; None if it knows the message."""
        while True:
            try:
                run = await self._recovery.standing(namespace, execution)
            except ConflictError:
                if id and await was_told(self._store, execution, id):
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

    async def undelivered(self, namespace: str, execution: str) -> list[Stored]:
        """The messages that an execution has not received yet, in order of arrival.

        Raises:
            NotFoundError: the namespace has no such execution.
        """
        try:
            run = await self._recovery.standing(namespace, execution)
        except ConflictError:
            return []
        inbox = run.execution.inbox
        return [
            {
                "seq": message.number,
                "name": message.name,
                **({"id": message.id} if message.id else {}),
                "payload": message.payload,
            }
            for message in inbox or ()
        ]

    # --- told by a step ----------------------------------------------------------------------

    def carry_out(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Tells the message of a step that is durable now, and answers the step, if it can in one commit."""
        self._tasks.create_task(self._carried_out(run.origin.namespace, (run.id, fiber), command))

    async def _carried_out(self, namespace: str, place: tuple[str, str], command: Invoke) -> None:
        tell, turn = command.tell, command.turn
        assert tell is not None  # noqa: S101  only such commands come here
        event: Event = Completed(turn, {"executionId": tell.execution, "message": tell.id})
        try:
            self._tick.ensure()
            run = await self._fresh(namespace, tell.execution, tell.id)
            if run is not None:
                self._put(run, Message(0, tell.name, tell.id, command.params))
        except UnavailableError as error:  # it is sent again after the next start, or in a while
            log.warning("execution %s cannot tell a message now: %s", place[0], error)
            again = partial(self._again, namespace, place, command)
            pause_s = self._parts.settings.pacing.visit_retry_s
            asyncio.get_running_loop().call_later(pause_s, again)
            return
        except RefusedError as error:
            event = Failed(turn, failure(_code(error), str(error)), may_have_run="no")
        self._recovery.visit(place[0], lambda run: self._inbox.deliver(run, place[1], event))

    def _again(self, namespace: str, place: tuple[str, str], command: Invoke) -> None:
        if not self._recovery.stopping:
            self._tasks.create_task(self._carried_out(namespace, place, command))

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
