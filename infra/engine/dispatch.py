"""From a step to the invoker that runs it, and back."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from ...actions import (
    INTERNAL_ERROR,
    LOST,
    UNAVAILABLE,
    Completion,
    Invocation,
    RemoteInvoker,
)
from ...composer import Failure, boxed, task_token
from .completion_tokens import Place
from .offspring import CHILD
from .outcomes import ACTIVITY
from .targets import given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...actions import Clock, Invoker
    from ...composer import Invoke
    from .completion_tokens import Tokens
    from .entities.mailboxes import Mailboxes
    from .live import ActiveInvocation, LiveExecution
    from .ports import Receiver
    from .tickets import Ticket


log = logging.getLogger(__name__)

REPEATABLE = ("transaction", "token", "undoes")  # members of messages that may come twice


class Dispatch:
    """Hands steps to invokers.

    Args:
        invokers: by kind of action.
        entities: the mailboxes of entities.
        tokens: for actions that answer later.
        clock: the time.
        cancel_child: cancels or ends an execution that is a step, which may not be in memory.
    """

    def __init__(
        self,
        invokers: Mapping[str, Invoker],
        entities: Mailboxes,
        tokens: Tokens,
        clock: Clock,
        cancel_child: Callable[[ActiveInvocation], None],
    ) -> None:
        self._invokers, self._tokens, self._clock = invokers, tokens, clock
        self._entities, self._cancel_child = entities, cancel_child
        self._held = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.under_way = 0

    def start(
        self,
        run: LiveExecution,
        fiber: str,
        active: ActiveInvocation,
        command: Invoke,
        completed: Receiver,
    ) -> None:
        """Runs a step that is durable now, and calls `completed` with its completion."""
        if self._held:  # it is sent after the next start
            if active.opened.action.lost_on_crash:
                run.hold_back(fiber, command.turn)
            return
        turn, opened = command.turn, active.opened
        if run.invocations.get((fiber, turn)) is not active:
            return  # it was cancelled while it was being committed
        if opened.action.entity is not None and command.function is None:
            self._operate(run, fiber, active, command, completed)
            return
        invoker = self._invokers.get(active.kind)
        if invoker is None:
            now_ms = self._clock.now_ms()
            text = f"This server has no invoker for actions of kind '{active.kind}'."
            unknown = Completion(Failure(UNAVAILABLE, text), now_ms, now_ms)
            completed(run, fiber, turn, active, unknown)
            return
        invocation = self._invocation(run, fiber, active, command)
        if active.kind == ACTIVITY:  # a stop of the server does not wait for an outside worker
            done = partial(completed, run, fiber, turn, active)
        else:
            self.under_way += 1
            done = partial(self._done, completed, run, fiber, turn, active)
        try:
            invoker.invoke(invocation, done)
        except Exception:
            log.exception("the invoker of kind '%s' broke its law", active.kind)
            now_ms = self._clock.now_ms()
            broken = Failure(INTERNAL_ERROR, "The action could not be run; the log says why.")
            done(Completion(broken, now_ms, now_ms))

    def _invocation(
        self, run: LiveExecution, fiber: str, active: ActiveInvocation, command: Invoke
    ) -> Invocation:
        opened, origin = active.opened, run.origin
        action = opened.action
        token = ""
        if active.later:
            token = task_token(run.id, fiber, command.turn, run.execution.limits.signing)
        elif action.answers_later:
            token = self._tokens.make(Place(run.id, fiber, command.turn, opened.id))
        inline = command.function is not None or origin.solo
        params: Any = command.params if inline else given(action, command.params)
        return Invocation(
            activation=opened.id,
            action=action,
            params=params,
            namespace=origin.namespace,
            token=token,
            function=command.function,
            variables=command.variables or {},
            transaction=run.id,
            key=command.key,
            trace=origin.trace,
            owner="" if origin.solo else origin.owner,
            states=run.execution.program.dialect.integrates,
            child=command.child,
        )

    def resume(
        self,
        run: LiveExecution,
        place: tuple[str, int],
        active: ActiveInvocation,
        ticket: Ticket,
        completed: Receiver,
    ) -> None:
        """Polls for a step that was accepted elsewhere. A stop of the server does not wait for it."""
        opened = active.opened
        invocation = Invocation(
            activation=opened.id,
            action=opened.action,
            params={},
            namespace=run.origin.namespace,
            token="",
            transaction=run.id,
            trace=run.origin.trace,
            owner="" if run.origin.solo else run.origin.owner,
            states=run.execution.program.dialect.integrates,
        )
        invoker = self._invokers.get(active.kind)
        done = partial(completed, run, *place, active)
        if not isinstance(invoker, RemoteInvoker):
            now_ms = self._clock.now_ms()
            lost = Failure(
                LOST,
                f"The step was accepted, but this server has no invoker that polls for kind '{active.kind}'.",
            )
            done(Completion(lost, now_ms, now_ms))
            return
        invoker.resume(invocation, ticket.poll, done)
        if run.invocations.get(place) is not active:
            invoker.cancel(opened.id)  # it was given up while its ticket was being committed

    def _operate(
        self,
        run: LiveExecution,
        fiber: str,
        active: ActiveInvocation,
        command: Invoke,
        completed: Receiver,
    ) -> None:
        """Puts a message into an entity's mailbox.

        A step's message comes once: its token is used up in the commit that changes the entity. What
        another server asks for, or a program that asks again, may come twice, and says so by a token.
        """
        if active.joint is not None:
            self.under_way += 1
            done = partial(self._done, completed, run, fiber, command.turn, active)
            self._entities.transact(active.joint, run.id, command.key, done)
            return
        opened, message = active.opened, boxed(command.params)
        twice = run.origin.solo and not message.keys().isdisjoint(REPEATABLE)
        message = {"by": run.id, **message}
        invocation = Invocation(
            activation=opened.id,
            action=opened.action,
            params=message,
            namespace=run.origin.namespace,
            token="",
            transaction=run.id,
            key=command.key,
        )
        self.under_way += 1
        done = partial(self._done, completed, run, fiber, command.turn, active)
        self._entities.receive(invocation, done, once=not twice)

    def _done(  # noqa: PLR0913, PLR0917  the receiver's parameters
        self,
        completed: Receiver,
        run: LiveExecution,
        fiber: str,
        turn: int,
        active: ActiveInvocation,
        completion: Completion,
    ) -> None:
        self._landed()
        completed(run, fiber, turn, active, completion)

    def _landed(self) -> None:
        self.under_way -= 1
        if self._held and not self.under_way:
            self._idle.set()

    def withdraw(self, active: ActiveInvocation) -> None:
        """Makes an entity drop a step that nobody waits for any more, at once."""
        if active.opened.action.entity is not None and self._entities.withdraw(active.opened.id):
            self._landed()

    def hold(self) -> None:
        """Runs no further step."""
        self._held = True

    def release(self) -> None:
        """Runs steps again."""
        self._held = False

    async def drain(self, seconds: float) -> bool:
        """Runs no further step, and waits for those under way. Returns True if they end in time."""
        self._held = True
        if self.under_way:
            self._idle.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def cancel(self, active: ActiveInvocation) -> None:
        """Stops a step that nobody waits for any more, or asks a child to stop."""
        if active.kind == CHILD and active.ending:
            return  # how it is closed says what becomes of it
        if active.child is not None:
            self._cancel_child(active)
            return
        joint = active.joint
        asked = [active.opened] if joint is None else [member.opened for member in joint.members]
        for opened in asked:
            kind = active.kind if joint is None else opened.action.invoker_kind(None)
            if (invoker := self._invokers.get(kind)) is not None:
                invoker.cancel(opened.id)
