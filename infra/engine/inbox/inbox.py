"""The events of executions: calls, completions, timers, people.

An event may reach further than one execution: a step that is a composition begins another, and the end of
that one is its parent's completion. All of it gathers for one commit, so that a waiting parent always has a
living child, whenever the server dies. `following` holds the loop, `beginning` and `invoking` begin executions
and steps, and `completing` ends both.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....actions import QUEUE
from ....composer import Accepted, Queued, Success, Taken, awaits_worker
from ..live import RUNNING, ActiveInvocation
from ..offspring import note_child
from ..outcomes import is_asked_to_stop, ticket_for
from ..targets import reopened
from ..tickets import read_ticket
from .beginning import Starts
from .following import Following

if TYPE_CHECKING:
    from ....actions import Completion, Document, Opened
    from ....composer import JSON, Event, Invoke, Message, Resolved, Resumed
    from ..core import Core
    from ..live import LiveExecution
    from .beginning import Work
    from .pending import Beginning


class Inbox:
    """Turns events into the next commit of the tick, and the effects that follow it."""

    def __init__(self, core: Core) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._clock, self._starter = core.parts.clock, core.starter
        self._limits, self._step_limits = core.limits, core.step_limits
        self._closed = False
        self._starts = Starts(core.parts, core.tick, core.bounds)
        self._following = Following(core, self._starts, self.completed)
        self.stretching = self._following.stretching
        self.proceed, self.change = self._following.proceed, self._following.change
        self.send = self._following.send

    def close(self) -> None:
        """Ignores all further completions: the failures that invokers report while they stop are not real."""
        self._closed = True

    # --- executions ---------------------------------------------------------------------------

    def begin(self, id: str, beginning: Beginning) -> LiveExecution:
        """Begins an execution: a call of its namespace."""
        run, changes = self._starts.called(id, beginning)
        self._following.follow((run, changes))
        return run

    def deliver(self, run: LiveExecution, fiber: str, event: Event) -> None:
        """Hands an event to a fiber."""
        deliver = partial(run.execution.deliver, fiber, event, run.now_ms(self._clock))
        self._following.change(run, deliver)

    def tell(self, run: LiveExecution, message: Message) -> None:
        """Puts a message into the inbox of an execution; a fiber that waits for it hears it."""
        tell = partial(run.execution.tell, message, run.now_ms(self._clock))
        self._following.change(run, tell)

    def cancel(self, run: LiveExecution) -> None:
        """Asks an execution to stop."""
        self._following.change(run, partial(run.execution.cancel, run.now_ms(self._clock)))

    def terminate(
        self, run: LiveExecution, error: str | None = None, cause: str | None = None
    ) -> None:
        """Stops an execution without finalizers; `error` and `cause` stand in its failure."""
        named = {"Error": error, "Cause": cause}
        about = {name: text for name, text in named.items() if text is not None}
        run.terminated = True
        terminate = partial(run.execution.terminate, run.now_ms(self._clock), **about)
        self._following.change(run, terminate)

    def resume(
        self, run: LiveExecution, event: Resumed | Resolved | None = None, fiber: str | None = None
    ) -> None:
        """Lets a paused execution try again, or go on as the event says; one fiber of it, or all."""
        resume = partial(run.execution.resume, run.now_ms(self._clock), event, fiber)
        self._following.change(run, resume)

    def redrive(self, redriven: list[Work], program: Document | None) -> None:
        """Continues executions that are redriven together, by a new program if there is one."""
        if program is not None:
            self._tick.gathering.write.documents.append(program)
        for run, _ in redriven:
            self._parts.runs[run.id] = run
            self._bounds.redriven(run)
            self._limits.arrived(run)  # it has its slots back at once
            if (parent := run.origin.options.parent) and run.origin.options.close:
                note_child(self._parts.offspring, parent, run.id, run.origin.options.close)
            self._tick.gathering.write.executions.append(run.row(RUNNING, None))
        self._following.follow(*redriven)

    # --- steps --------------------------------------------------------------------------------

    def completed(
        self,
        run: LiveExecution,
        fiber: str,
        turn: int,
        active: ActiveInvocation,
        completion: Completion,
    ) -> None:
        """An invoker hands in the completion of a step; an entity, together with its writes."""
        if self._closed or run.invocations.get((fiber, turn)) is not active:
            self._parts.counters.stale += 1
            return
        if completion.ticket is not None:
            self._poll(run, fiber, turn, active, completion)
            return
        del run.invocations[fiber, turn]
        accepted = active.answers_later and isinstance(completion.outcome, Success)
        self._tick.gathering.write.documents += completion.documents
        if active.joint is not None:
            self._following.completing.participants(run, active.joint)
        if accepted:
            if not active.opened.action.answers_later:
                self._step_limits.left(run, fiber, turn)
            ticket = ticket_for(run, active, completion)
            self.deliver(run, fiber, Accepted(turn, ticket.to_json()))
            if active.opened.action.answers_later:
                self._note_waiting(run, fiber, turn, active.opened, completion)
        else:
            self.answered(run, fiber, turn, active.opened, completion)

    def answered(
        self, run: LiveExecution, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> None:
        """Completes a step: its invoker has answered, or its completion trigger fires."""
        if self._step_limits.steps:
            self._step_limits.left(run, fiber, turn)
        step = partial(self._following.completing.step, run, fiber, turn, opened, completion)
        self._following.change(run, step)

    def _note_waiting(
        self, run: LiveExecution, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> None:
        """Records a step that waits for its callback while it waits."""
        stands = run.execution.fibers.get(fiber)
        if stands is None or stands.turn != turn or not run.recorded:
            return
        run.waiting(opened, completion, fiber, stands.due_ms, self._tick.gathering.write)

    def _poll(
        self,
        run: LiveExecution,
        fiber: str,
        turn: int,
        active: ActiveInvocation,
        completion: Completion,
    ) -> None:
        """An action elsewhere was accepted: its invoker polls for it once its ticket is durable."""
        ticket = ticket_for(run, active, completion)
        self.deliver(run, fiber, Accepted(turn, ticket.to_json(), polled=True))
        stands = run.execution.fibers.get(fiber)
        if active.kind == QUEUE and stands is not None and awaits_worker(stands.frames):
            self.deliver(run, fiber, Taken(turn) if "taken_ms" in ticket.poll else Queued(turn))
        poll = partial(self._starter.resume, run, (fiber, turn), active, ticket, self.completed)
        self._tick.gathering.effects.append(poll)

    def poll_again(self, run: LiveExecution, fiber: str, turn: int, ticket: JSON) -> None:
        """Polls again after a crash for an action that was accepted."""
        found = read_ticket(ticket)
        if found is None or found.kind is None:
            raise ValueError(f"execution {run.id}: fiber {fiber} polls without a ticket")
        active = run.invocations[fiber, turn] = ActiveInvocation(
            reopened(self._parts, run, found), found.kind
        )
        self._starter.resume(run, (fiber, turn), active, found, self.completed)
        if is_asked_to_stop(run, fiber):
            self._starter.cancel(active)

    def resend(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Sends a step again after a crash, or for the first time if it was held back at the last stop."""
        if f"{fiber}:{command.turn}" not in run.held and run.execution.program.spans:
            run.resent |= {(fiber, command.turn)}
        self.send(run, fiber, command)
