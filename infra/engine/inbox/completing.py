"""Steps and executions end: their activations are closed, and those who wait for them are told."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ....actions import Completion, Conducted, Opened
from ....composer import CANCELLED, RUN_TIMED_OUT, Completed, Failed, Failure, as_step
from ..indexing import found_by, indexes_start
from ..live import CONTINUED
from ..offspring import forget_child
from ..outcomes import (
    event_of,
    in_doubt,
    log_of,
    may_have_run,
    status_in_words,
    taken_or_done,
    within_limits,
)
from ..queries import kept_answers
from ..targets import reopened
from ..tickets import read_ticket
from ..waiters import Ended

if TYPE_CHECKING:
    from ....composer import Abandon, Changes, Outcome
    from ..core import Core
    from ..joint import Joint
    from ..live import LiveExecution
    from ..origins import Parent
    from .beginning import Work


class Completing:
    """Ends steps and executions."""

    def __init__(self, core: Core) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._clock, self._runs, self._counters = (
            core.parts.clock, core.parts.runs, core.parts.counters,
        )  # fmt: skip
        self._waiters, self._starter, self._letters = core.waiters, core.starter, core.letters
        self._unwaited = core.unwaited
        self._closing, self._lingering, self._step_limits = (
            core.close,
            core.lingering,
            core.step_limits,
        )

    # --- steps --------------------------------------------------------------------------------

    def step(
        self, run: LiveExecution, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> Changes:
        """Closes a step's activation and tells its fiber."""
        if opened.action.entity is None:
            completion = self._checked(run, fiber, turn, opened, completion)
        self._counters.steps_failed += isinstance(completion.outcome, Failure)
        if not opened.silent:
            self._record(run, opened, completion)
        event = event_of(turn, completion)
        if opened.tail and isinstance(event, Completed):
            event = replace(event, log=log_of(opened, completion))
        if isinstance(event, Failed):
            if opened.action.entity is not None:  # an entity has done nothing without an answer
                event = replace(event, may_have_run="yes")
            elif may_have_run(event):
                run.doubt(self._tick.gathering.write)
        return run.execution.deliver(fiber, event, run.now_ms(self._clock))

    def participants(self, run: LiveExecution, joint: Joint) -> None:
        """Closes the activations of those who have worked in a whole transaction."""
        for opened, completion in joint.ended:
            self._record(run, opened, completion)

    def _record(self, run: LiveExecution, opened: Opened, completion: Completion) -> None:
        if run.recorded:
            run.activation(opened, completion, self._tick.gathering.write)
        run.steps_ms += completion.ended_ms - completion.started_ms
        run.memory_mb = max(run.memory_mb, opened.action.limits.memory_mb)

    def _checked(
        self, run: LiveExecution, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> Completion:
        """The completion within the limits, and in doubt if the step may have run before a crash.

        An entity checks the limits itself, before it changes.
        """
        settings = self._parts.settings
        limit = settings.result_bytes.get(opened.action.kind, settings.limits.value_bytes)
        completion = within_limits(run, completion, limit, self._tick.gathering.write)
        outcome = completion.outcome
        if not isinstance(outcome, Failure):
            return completion
        doubted = in_doubt(run, fiber, turn, outcome, completion.may_have_run)
        if doubted is outcome:
            return completion
        return replace(completion, outcome=doubted, may_have_run=None)

    def abandon(self, run: LiveExecution, fiber: str, command: Abandon) -> None:
        """Closes a step that nobody waits for any more as cancelled, and stops it."""
        if command.asks:
            asked = run.invocations.get((fiber, command.turn))
            if asked is not None:
                self._tick.gathering.effects.append(partial(self._starter.cancel, asked))
            return
        run.put_off.discard((fiber, command.turn))
        self._step_limits.left(run, fiber, command.turn)
        active = run.invocations.pop((fiber, command.turn), None)
        if active is not None:
            self._starter.withdraw(active)
            active.ending = run.terminated
            self._tick.gathering.effects.append(partial(self._starter.cancel, active))
            if active.child is not None:
                return  # the child is told to cancel, and closes its own activation
            opened = active.opened
        else:
            ticket = read_ticket(command.ticket)
            if ticket is None:
                return
            opened = reopened(self._parts, run, ticket)
        if opened.action.entity is None:
            run.doubt(self._tick.gathering.write)
        cancelled = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
        completion = Completion(cancelled, opened.asked_ms, self._clock.now_ms())
        if run.recorded:
            run.activation(opened, completion, self._tick.gathering.write)
        run.steps_ms += completion.ended_ms - completion.started_ms

    # --- executions ---------------------------------------------------------------------------

    def end(self, run: LiveExecution, outcome: Outcome) -> list[Work]:
        """Ends an execution. Returns the change of the execution that waits for it, if one does."""
        now_ms = max(run.origin.started_ms, self._clock.now_ms())  # it may have been set back
        self._leave(run)
        if run.next:
            self._close_continued(run, now_ms)
            return []
        status = status_in_words(outcome, self._parts.hooks)
        self._counters.ended(status)
        if self._parts.offspring:
            self._close_children(run)
        origin, parent = run.origin, run.origin.parent
        completion = Completion(outcome, origin.started_ms, now_ms)
        if origin.solo:
            self._tick.gathering.write.forgotten.append(run.id)
            if isinstance(outcome, Failure) and outcome.code == RUN_TIMED_OUT:
                self._close_late(run, completion)
        else:
            if self._tick.gathering.begun[:1] == [run]:
                self._tick.gathering.begun_and_ended(run.id)
            self._close(run, completion)
            write = self._tick.gathering.write
            answers = kept_answers(run, write) if run.execution.program.queries else None
            write.executions.append(run.row(status, now_ms, answers))
            if origin.express and indexes_start(origin.options):
                write.indexed.append(found_by(run, self._parts))
        self._tick.gathering.effects.append(partial(self._gone, run.id, Ended(outcome)))
        if parent is None:
            if isinstance(outcome, Failure):
                self._letters.ended(run, outcome)
            if origin.unwaited is not None:
                self._unwaited(run, outcome)
            return []
        return self._child_ended(parent, run, completion)

    def _leave(self, run: LiveExecution) -> None:
        """Takes an execution that has ended out of memory, with the steps that nobody waits for any more."""
        self._runs.pop(run.id, None)
        self._lingering.forget(run.id)
        self._parts.ended.add(run.id)
        self._bounds.ended(run)
        self._parts.stuck.pop(run.id, None)
        for active in run.invocations.values():
            self._starter.withdraw(active)
            self._tick.gathering.effects.append(partial(self._starter.cancel, active))
        run.invocations.clear()
        self._step_limits.gone(run)
        run.put_off.clear()

    def _close_continued(self, run: LiveExecution, now_ms: int) -> None:
        """Closes a run that the next one of its chain goes on for: nobody hears of an end."""
        self._counters.ended(CONTINUED)
        if self._tick.gathering.begun[:1] == [run]:
            self._tick.gathering.begun_and_ended(run.id)
        write = self._tick.gathering.write
        answers = kept_answers(run, write) if run.execution.program.queries else None
        write.executions.append(run.row(CONTINUED, now_ms, answers))
        self._tick.gathering.effects.append(partial(self._moved, run.id, run.next))

    def _moved(self, id: str, next: str) -> None:
        """It is durable that a run has continued as the next one of its chain."""
        self._parts.ended.discard(id)
        self._parts.handed.pop(id, None)
        self._waiters.move(id, next)

    def _close_children(self, run: LiveExecution) -> None:
        """What is said of the children of an execution that ends is done once the end is durable."""
        forget_child(self._parts.offspring, run.origin.options.parent, run.id)
        children = self._parts.offspring.pop(run.origin.chain_of(run.id), None)
        if children:
            self._tick.gathering.effects.append(partial(self._closing, children))

    def _close(self, run: LiveExecution, completion: Completion) -> None:
        """Writes the activation of an execution that has ended."""
        origin = run.origin
        opened = Opened(
            id=run.id,
            action=origin.action,
            namespace=origin.namespace,
            asked_ms=origin.started_ms,
            cause=origin.parent.execution if origin.parent else None,
            kind=run.kind,
        )
        conducted = Conducted(
            duration_ms=run.steps_ms,
            billed_ms=run.conducted_us / 1000,
            memory_mb=run.memory_mb or origin.action.limits.memory_mb,
        )
        run.activation(opened, completion, self._tick.gathering.write, conducted)

    def _close_late(self, run: LiveExecution, completion: Completion) -> None:
        """Writes the activation of a single action whose run has timed out: it was closed as cancelled."""
        origin, write = run.origin, self._tick.gathering.write
        write.activations = [row for row in write.activations if row.id != run.id]
        opened = Opened(run.id, origin.action, origin.namespace, origin.started_ms, None)
        run.activation(opened, completion, write)

    def _gone(self, id: str, ended: Ended) -> None:
        """The end of an execution is durable."""
        self._parts.ended.discard(id)
        self._waiters.answer(id, ended)

    def _child_ended(
        self, parent: Parent, child: LiveExecution, completion: Completion
    ) -> list[Work]:
        run = self._runs.get(parent.execution)
        place = (parent.fiber, parent.turn)
        active = None if run is None else run.invocations.pop(place, None)
        if run is None or active is None:
            return []  # the parent was cancelled, or never stored
        run.steps_ms += child.steps_ms
        run.memory_mb = max(run.memory_mb, child.memory_mb)
        if child.doubtful and isinstance(completion.outcome, Failure):
            completion = replace(completion, may_have_run="unknown")
            run.doubt(self._tick.gathering.write)
        if isinstance(completion.outcome, Failure):
            completion = replace(completion, outcome=as_step(completion.outcome))
        event = taken_or_done(parent.turn, run, active, completion)
        return [(run, run.execution.deliver(parent.fiber, event, run.now_ms(self._clock)))]
