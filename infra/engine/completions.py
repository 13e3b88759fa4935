"""Answers and heartbeats of steps that answer later.

A step is known by its place: an execution, a fiber of it and its turn. Completion triggers' tokens are signed, so
that every client that holds one may answer. A task's token is signed, too, and its client must be of the
execution's namespace. An execution that began before tasks' tokens were signed takes those that are not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...actions import QUEUE, Completion, ConflictError, NotFoundError
from ...composer import Heartbeat, Invoking, token_place
from .heartbeats import Heartbeats
from .targets import reopened
from .tickets import read_ticket

if TYPE_CHECKING:
    from ...actions import Opened
    from ...composer import JSON, Outcome, Rebound
    from .completion_tokens import Tokens
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .queues.queues import Queues
    from .recovery import Recovery
    from .shared import Parts
    from .tick import Tick

NO_STEP = "No step of this execution waits for an answer{named}."
SEVERAL = "Several steps wait for an answer{named}: say which one by its fiber ({fibers})."
OVER = "This step has been answered, or is not waited for any more."


class Answering:
    """Hands answers to the steps that wait for them; each is durable when its method returns.

    Tasks of queues are known to `queues`, too.
    """

    def __init__(  # noqa: PLR0913, PLR0917  the parts that it needs
        self,
        parts: Parts,
        tick: Tick,
        inbox: Inbox,
        recovery: Recovery,
        tokens: Tokens,
        queues: Queues,
    ) -> None:
        self._parts, self._tick, self._inbox = parts, tick, inbox
        self._recovery, self._tokens, self._queues = recovery, tokens, queues
        self._heartbeats = Heartbeats(parts, tick, inbox)

    def stop(self) -> None:
        """Writes no further heartbeat."""
        self._heartbeats.stop()

    async def complete(self, token: str, outcome: Outcome) -> None:
        """Fires a completion trigger: see `Engine.complete`."""
        place = self._tokens.read(token)
        run = await self._recovery.found(place.execution)
        opened = self._waiting(run, place.fiber, place.turn)
        activation, _, attempt = place.activation.partition(".")
        if run is None or opened is None or opened.id != activation:
            raise ConflictError(OVER)
        if attempt and not _has(run, place.fiber, attempt):
            raise ConflictError(OVER)
        await self._answered(run, place.fiber, place.turn, opened, outcome)

    async def answer(self, namespace: str, token: str, outcome: Outcome) -> None:
        """Answers a task by its token, also before the action that got the token has returned.

        Raises:
            NotFoundError: when it is the token of nothing in this namespace.
            ConflictError: when the task is not waited for any more; the first answer counts.
        """
        run, fiber, turn = await self._found(namespace, token)
        opened = self._waiting(run, fiber, turn)
        if opened is None:
            raise ConflictError(OVER)
        await self._answered(run, fiber, turn, opened, outcome)

    async def answer_step(
        self, namespace: str, execution: str, step: str | None, outcome: Outcome
    ) -> None:
        """Answers a step that waits, by its execution.

        Args:
            namespace: the namespace of the execution.
            execution: its id, or the activation id of an action that was invoked by itself.
            step: the fiber, or the name of the action; None if only one step waits.
            outcome: the answer.

        Raises:
            NotFoundError: the namespace has no such execution.
            ConflictError: it has ended, no such step waits for an answer, or several do.
            UnavailableError: the store does not commit.
        """
        self._tick.ensure()
        run = await self._recovery.standing(namespace, execution)
        fiber, turn, opened = _chosen(self._all_waiting(run), step)
        await self._answered(run, fiber, turn, opened, outcome)

    def _all_waiting(self, run: LiveExecution) -> list[tuple[str, int, Opened]]:
        """The steps that have run and wait for their answers."""
        found = []
        for fiber in run.execution.fibers.values():
            opened = self._waiting(run, fiber.id, fiber.turn)
            if opened is not None and _is_answered_later(fiber.wait):
                found.append((fiber.id, fiber.turn, opened))
        return found

    async def heartbeat(self, namespace: str, token: str) -> None:
        """Notes that a task is still at work.

        Raises:
            NotFoundError: when it is the token of nothing in this namespace.
            ConflictError: when the task is not waited for any more.
        """
        run, fiber, turn = await self._found(namespace, token)
        if self._waiting(run, fiber, turn) is None:
            raise ConflictError(OVER)
        taken = self._tick.durable()
        self._inbox.deliver(run, fiber, Heartbeat(turn))
        await taken

    async def beat(self, token: str, details: JSON) -> bool:
        """Notes that the step of a completion trigger is still at work, and how far it is.

        Returns True if nobody waits for the step any more: it should stop.

        Raises:
            NotFoundError: when the token is not one of ours.
        """
        place = self._tokens.read(token)
        run = await self._recovery.found(place.execution)
        opened = self._waiting(run, place.fiber, place.turn)
        activation, _, attempt = place.activation.partition(".")
        if run is None or opened is None or opened.id != activation:
            return True
        if attempt and not self._queues.heard(activation, attempt):
            return True
        await self._heartbeats.beat(run, place.fiber, Heartbeat(place.turn, details))
        return False

    async def rebound(self, execution: str, fiber: str, event: Rebound) -> None:
        """Gives the run of a distributed Map that a fiber waits for other bounds, if it still does."""
        run = await self._recovery.found(execution)
        if run is not None:
            taken = self._tick.durable()
            self._inbox.deliver(run, fiber, event)
            await taken

    async def _found(self, namespace: str, token: str) -> tuple[LiveExecution, str, int]:
        """The execution of a task, to be used before anything is awaited."""
        signed = token_place(token, self._tokens.tasks)
        place = signed or token_place(token)
        if place is None:
            raise NotFoundError
        execution, fiber, turn = place
        run = await self._recovery.found(execution)
        if signed is None and (run is None or not self._takes_unsigned(run)):
            raise NotFoundError
        if run is None:
            saved = await self._parts.store.load(execution)
            if saved is None or saved.execution.namespace != namespace:
                raise NotFoundError
            raise ConflictError(OVER)
        if run.origin.namespace != namespace:
            raise NotFoundError
        return run, fiber, turn

    def _takes_unsigned(self, run: LiveExecution) -> bool:
        about = run.origin.about
        return about is not None and self._parts.hooks.takes_unsigned(about)

    def _waiting(self, run: LiveExecution | None, fiber: str, turn: int) -> Opened | None:
        """The activation of the step that a fiber waits for in this turn."""
        found = None if run is None else run.execution.fibers.get(fiber)
        if run is None or found is None or found.turn != turn:
            return None
        if not isinstance(found.wait, Invoking):
            return None
        active = run.invocations.get((fiber, turn))
        if active is not None:
            return active.opened
        ticket = read_ticket(found.wait.ticket)
        return None if ticket is None else reopened(self._parts, run, ticket)

    async def _answered(
        self, run: LiveExecution, fiber: str, turn: int, opened: Opened, outcome: Outcome
    ) -> None:
        taken = self._tick.durable()
        active = run.invocations.pop((fiber, turn), None)
        if active is not None and active.kind == QUEUE:
            self._tick.gathering.effects.append(partial(self._queues.cancel, opened.id))
        wait = run.execution.fibers[fiber].wait
        ticket = read_ticket(wait.ticket) if isinstance(wait, Invoking) else None
        started_ms = ticket.started_ms if ticket is not None else None
        completion = Completion(
            outcome,
            opened.asked_ms if started_ms is None else started_ms,
            self._parts.clock.now_ms(),
            ticket.logs if ticket is not None else [],
            remote=ticket.remote if ticket is not None else None,
        )
        self._inbox.answered(run, fiber, turn, opened, completion)
        await taken


def _has(run: LiveExecution, fiber: str, attempt: str) -> bool:
    """True if the worker of this attempt has the task of a queue that a fiber waits for, or was the last to."""
    wait = run.execution.fibers[fiber].wait
    ticket = read_ticket(wait.ticket) if isinstance(wait, Invoking) else None
    return ticket is not None and str(ticket.poll.get("attempt")) == attempt


def _is_answered_later(wait: object) -> bool:
    """True if a step has run, and its answer comes by its completion trigger."""
    return isinstance(wait, Invoking) and wait.ticket is not None and not wait.polled


def _chosen(waiting: list[tuple[str, int, Opened]], step: str | None) -> tuple[str, int, Opened]:
    named = "" if step is None else f" as '{step}'"
    found = [
        one
        for one in waiting
        if step is None or step in (one[0], one[2].action.name.path, str(one[2].action.name))
    ]
    if not found:
        raise ConflictError(NO_STEP.format(named=named))
    if len(found) > 1:
        fibers = ", ".join(fiber for fiber, _, _ in found)
        raise ConflictError(SEVERAL.format(named=named, fibers=fibers))
    return found[0]
