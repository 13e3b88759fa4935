"""From a step to the invoker that runs it, and back."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ...actions import (
    INTERNAL_ERROR,
    LOST,
    UNAVAILABLE,
    Completion,
    Invocation,
    RemoteInvoker,
)
from ...composer import Failure, task_token
from .outcomes import ACTIVITY
from .targets import given
from .tokens import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...actions import Clock, Invoker
    from ...composer import JSON, Invoke
    from .entities.mailboxes import Mailboxes
    from .runs import Flight, Run
    from .tokens import Tokens


log = logging.getLogger(__name__)

REPEATABLE = ("transaction", "token", "undoes")  # members of messages that may come twice


class Receiver(Protocol):
    """Who is told what came of a step: see `inbox`."""

    def __call__(
        self, run: Run, fiber: str, turn: int, flight: Flight, completion: Completion
    ) -> None: ...


class Dispatch:
    """Hands steps to invokers.

    Args:
        invokers: by kind of action.
        tokens: for actions that answer later.
        clock: the time.
        cancel_child: cancels or ends an execution that is a step, which may not be in memory.
    """

    def __init__(
        self,
        invokers: Mapping[str, Invoker],
        tokens: Tokens,
        clock: Clock,
        cancel_child: Callable[[Flight], None],
    ) -> None:
        self._invokers, self._tokens, self._clock = invokers, tokens, clock
        self._cancel_child = cancel_child
        self._held = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.under_way = 0
        self.completed: Receiver
        self.entities: Mailboxes

    def start(self, run: Run, fiber: str, flight: Flight, command: Invoke) -> None:
        """Runs a step that is durable now."""
        if self._held:  # it is sent after the next start
            if flight.opened.action.asked_once:
                run.held.add(f"{fiber}:{command.turn}")
            return
        turn, opened = command.turn, flight.opened
        if run.flights.get((fiber, turn)) is not flight:
            return  # it was cancelled while it was being committed
        action = opened.action
        if action.entity is not None and command.function is None:
            self._operate(run, fiber, flight, command)
            return
        invoker = self._invokers.get(flight.kind)
        if invoker is None:
            now_ms = self._clock.now_ms()
            unknown = Failure(UNAVAILABLE, f"nothing here runs actions of kind '{flight.kind}'")
            self.completed(run, fiber, turn, flight, Completion(unknown, now_ms, now_ms))
            return
        token = ""
        if flight.later:
            token = task_token(run.id, fiber, turn, run.execution.limits.signing)
        elif action.answers_later:
            token = self._tokens.make(Place(run.id, fiber, turn, opened.id))
        inline = command.function is not None or run.origin.solo
        invocation = Invocation(
            activation=opened.id,
            action=action,
            params=command.params if inline else given(action, command.params),
            namespace=run.origin.namespace,
            token=token,
            function=command.function,
            variables=command.variables or {},
            transaction=run.id,
            key=command.key,
            trace=run.origin.trace,
            owner="" if run.origin.solo else run.origin.owner,
            states=run.execution.program.dialect.integrates,
        )
        if flight.kind == ACTIVITY:  # whoever works on it is not waited for when the server stops
            done = partial(self.completed, run, fiber, turn, flight)
        else:
            self.under_way += 1
            done = partial(self._done, run, fiber, turn, flight)
        try:
            invoker.invoke(invocation, done)
        except Exception:
            log.exception("the invoker of kind '%s' broke its law", flight.kind)
            now_ms = self._clock.now_ms()
            broken = Failure(INTERNAL_ERROR, "The action could not be run; the log says why.")
            done(Completion(broken, now_ms, now_ms))

    def resume(
        self, run: Run, fiber: str, turn: int, flight: Flight, ticket: dict[str, JSON]
    ) -> None:
        """Asks after a step that was taken in elsewhere. It is not waited for when the server stops."""
        opened = flight.opened
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
        invoker = self._invokers.get(flight.kind)
        done = partial(self.completed, run, fiber, turn, flight)
        if not isinstance(invoker, RemoteInvoker):
            now_ms = self._clock.now_ms()
            lost = Failure(LOST, f"It was taken in, but nothing here asks after '{flight.kind}'.")
            done(Completion(lost, now_ms, now_ms))
            return
        invoker.resume(invocation, ticket["poll"], done)
        if run.flights.get((fiber, turn)) is not flight:
            invoker.cancel(opened.id)  # it was given up while its ticket was being committed

    def _operate(self, run: Run, fiber: str, flight: Flight, command: Invoke) -> None:
        """Puts a message into an entity's mailbox.

        A step's message comes once: its token is used up in the commit that changes the entity. What
        another server asks for, or a program that asks again, may come twice, and says so by a token.
        """
        opened, message = flight.opened, command.params
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
        done = partial(self._done, run, fiber, command.turn, flight)
        self.entities.receive(invocation, done, once=not twice)

    def _done(
        self, run: Run, fiber: str, turn: int, flight: Flight, completion: Completion
    ) -> None:
        self._landed()
        self.completed(run, fiber, turn, flight, completion)

    def _landed(self) -> None:
        self.under_way -= 1
        if self._held and not self.under_way:
            self._idle.set()

    def withdraw(self, flight: Flight) -> None:
        """An entity does nothing any more that nobody waits for, from this moment."""
        if flight.opened.action.entity is not None and self.entities.withdraw(flight.opened.id):
            self._landed()

    def hold(self) -> None:
        """Runs no further step."""
        self._held = True

    def release(self) -> None:
        """Runs steps again."""
        self._held = False

    async def drain(self, seconds: float) -> bool:
        """Runs no further step, and waits for those under way. Whether they are done in time."""
        self._held = True
        if self.under_way:
            self._idle.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def cancel(self, flight: Flight) -> None:
        """Stops a step that nobody waits for any more."""
        if flight.child is not None:
            self._cancel_child(flight)
        elif (invoker := self._invokers.get(flight.kind)) is not None:
            invoker.cancel(flight.opened.id)
