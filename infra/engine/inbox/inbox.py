"""What happens to executions: calls, completions, timers, people. All of it gathers for the next tick.

An event may reach further than one execution: a step that is a composition begins another, its end is
its parent's completion. All that belongs together gathers for one commit, so that a waiting parent always has a
living child, whatever moment the server dies.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ....actions import (
    Completion,
    Conducted,
    Opened,
)
from ....composer import CANCELLED as CANCELLED_CODE
from ....composer import PAUSED as PAUSED_ENTRY
from ....composer import (
    RESOLVED,
    RESUMED,
    Abandon,
    Accepted,
    Changes,
    Completed,
    Entry,
    Failed,
    Failure,
    Invoke,
    Success,
)
from ....composer import STUCK as STUCK_ENTRY
from ..contexts import map_run_documents
from ..fairness import Share
from ..letters import Letters
from ..outcomes import (
    broken,
    event_of,
    in_doubt,
    log_of,
    may_have_run,
    status_in_words,
    taken_or_done,
    ticket_of,
    within_limits,
)
from ..runs import RUNNING, STUCK, Flight, Parent
from ..stretching import Stretching
from ..targets import counted, opened, reopened, target
from ..waiters import Ended
from .beginning import Starts
from .entity_calls import Asks

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ....actions import Document
    from ....composer import (
        JSON,
        Event,
        Fiber,
        Outcome,
        Resolved,
        Resumed,
        Spawn,
        Stretch,
        Transition,
    )
    from ..bounds import Bounds
    from ..functions import Functions
    from ..runs import Run
    from ..shared import Parts
    from ..steps import Starter
    from ..tick import Tick
    from ..timers import Timer, Timers
    from ..waiters import Waiters
    from .beginning import Work
    from .pending import Beginning

log = logging.getLogger(__name__)

_PAUSING = (PAUSED_ENTRY, STUCK_ENTRY, RESUMED, RESOLVED)
SHARE_US, SHARE_STARTS = 3_000.0, 64  # that one event may start, before others have their turn


class Inbox:
    """Turns events into what the tick commits and carries out."""

    def __init__(  # noqa: PLR0913, PLR0917  the engine's parts that it needs
        self,
        parts: Parts,
        tick: Tick,
        bounds: Bounds,
        timers: Timers[Timer],
        alarms: Timers[str],
        waiters: Waiters,
        starter: Starter,
        tasks: asyncio.TaskGroup,
        functions: Functions,
    ) -> None:
        self._parts, self._tick, self._timers, self._alarms = parts, tick, timers, alarms
        self._waiters, self._starter, self._functions = waiters, starter, functions
        self.stretching = Stretching(parts, tick, tasks, self._stretched)
        self._clock, self._runs, self._counters = parts.clock, parts.runs, parts.counters
        self._bounds, self._starts = bounds, Starts(parts, tick, bounds)
        self._share = Share(parts.clock, SHARE_US, SHARE_STARTS)
        self._closed = False
        self._asks = Asks()
        self.letters = Letters(parts, tick)
        self.stuck: Callable[[Run, list[Entry]], None]  # is told of a saga that cannot go on

    def close(self) -> None:
        """Hears of no completion any more: what invokers say while they stop is not what happened."""
        self._closed = True

    # --- what comes in -----------------------------------------------------------------------

    def begin(self, id: str, beginning: Beginning) -> Run:
        """Begins an execution, one of its namespace's calls."""
        run, changes = self._starts.called(id, beginning)
        self._settle((run, changes))
        return run

    def deliver(self, run: Run, fiber: str, event: Event) -> None:
        """Hands an event to a fiber."""
        self._do(run, partial(run.execution.deliver, fiber, event, run.now_ms(self._clock)))

    def proceed(self, run: Run) -> None:
        """Lets an execution do what it can without an event."""
        if self._runs.get(run.id) is run:
            self._do(run, partial(run.execution.proceed, run.now_ms(self._clock)))

    def _stretched(self, run: Run, stretch: Stretch, made: Transition | Exception) -> None:
        """Applies a stretch that a thread has made. One that is stale is made again."""

        def follow() -> Changes:
            if isinstance(made, Exception):
                raise made
            changes = run.execution.stretched(stretch, made)
            changes.stale = False
            return changes

        self._do(run, follow)

    def cancel(self, run: Run) -> None:
        """Asks an execution to stop."""
        self._do(run, partial(run.execution.cancel, run.now_ms(self._clock)))

    def terminate(self, run: Run, error: str | None = None, cause: str | None = None) -> None:
        """Stops an execution without finalizers; a state machine's tells why."""
        named = {"Error": error, "Cause": cause}
        about = {name: text for name, text in named.items() if text is not None}
        run.terminated = True
        self._do(run, partial(run.execution.terminate, run.now_ms(self._clock), **about))

    def resume(
        self, run: Run, event: Resumed | Resolved | None = None, fiber: str | None = None
    ) -> None:
        """Lets a paused execution go on: try again, or as the event says; one fiber of it, or all."""
        self._do(run, partial(run.execution.resume, run.now_ms(self._clock), event, fiber))

    def take_up(self, redriven: list[Work], program: Document | None) -> None:
        """Takes executions up that were redriven together, by a new program if there is one."""
        if program is not None:
            self._tick.gathering.write.documents.append(program)
        for run, _ in redriven:
            self._runs[run.id] = run
            self._bounds.taken_up(run)
            self._tick.gathering.write.executions.append(run.row(RUNNING, None))
        self._settle(*redriven)

    def completed(
        self, run: Run, fiber: str, turn: int, flight: Flight, completion: Completion
    ) -> None:
        """An invoker hands in what came of a step, and an entity what it has to write with it."""
        if self._closed or run.flights.get((fiber, turn)) is not flight:
            self._counters.stale += 1
            return
        if completion.ticket is not None:
            self._poll(run, fiber, turn, flight, completion)
            return
        del run.flights[fiber, turn]
        self._tick.gathering.write.documents += completion.documents
        if flight.answers_later and isinstance(completion.outcome, Success):
            self.deliver(run, fiber, Accepted(turn, ticket_of(run, flight, completion)))
            if flight.opened.action.answers_later:
                self._note_waiting(run, fiber, turn, flight.opened, completion)
        else:
            change = partial(self._complete, run, fiber, turn, flight.opened, completion)
            self._do(run, change)

    def _note_waiting(
        self, run: Run, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> None:
        """The record of a step that waits for its callback is there while it waits."""
        stands = run.execution.fibers.get(fiber)
        if stands is None or stands.turn != turn or (run.origin.express and not run.origin.solo):
            return
        write = self._tick.gathering.write
        run.waiting(opened, completion, fiber, stands.due_ms, write)

    def _poll(
        self, run: Run, fiber: str, turn: int, flight: Flight, completion: Completion
    ) -> None:
        """An action elsewhere was taken in: it is asked after once its ticket is durable."""
        ticket = ticket_of(run, flight, completion)
        self.deliver(run, fiber, Accepted(turn, ticket, polled=True))
        resume = partial(self._starter.resume, run, fiber, turn, flight, ticket)
        self._tick.gathering.effects.append(resume)

    def poll_again(self, run: Run, fiber: str, turn: int, ticket: dict[str, JSON]) -> None:
        """After a crash: asks again after an action that was taken in."""
        flight = run.flights[fiber, turn] = Flight(
            reopened(self._parts, run, ticket), ticket["kind"]
        )
        self._starter.resume(run, fiber, turn, flight, ticket)

    def answered(
        self, run: Run, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> None:
        """A completion trigger fires for a step that answers later."""
        change = partial(self._complete, run, fiber, turn, opened, completion)
        self._do(run, change)

    def fly(self, run: Run, fiber: str, command: Invoke) -> None:
        """Sends a step again after a crash, or for the first time if it was held back at the last stop."""
        if run.held and (place := f"{fiber}:{command.turn}") in run.held:
            run.held.discard(place)
            self._tick.gathering.write.executions.append(run.row(run.standing, None))
        else:
            run.resent.add((fiber, command.turn))
        self._settle((run, Changes(commands=[(fiber, command)])))

    # --- what comes of it --------------------------------------------------------------------

    def _do(self, run: Run, change: Callable[[], Changes]) -> None:
        """Makes a change and follows it: the boundary that no mistake of ours crosses."""
        before = self._clock.elapsed_us()
        try:
            changes = change()
        except Exception:
            log.exception("execution %s fails by a mistake of the conductor", run.id)
            self._settle((run, broken(self._clock.now_ms())))
            return
        self._counters.stale += changes.stale
        self._settle((run, changes))
        run.conducted_us += self._clock.elapsed_us() - before

    def _settle(self, *changed: Work) -> None:
        """Follows changes from execution to execution, and has it committed."""
        self._share.begin()
        work: deque[Work] = deque(changed)
        while work:
            run, changes = work.popleft()
            try:
                work += self._apply(run, changes)
            except Exception:
                log.exception("execution %s fails: it cannot be written down", run.id)
                work += self._apply(run, broken(self._clock.now_ms()))
        self._tick.wake()
        self._asks.ask()

    def _apply(self, run: Run, changes: Changes) -> list[Work]:
        work: list[Work] = []
        if changes.outcome is None:
            self._bounds.changed(run)
        run.write(changes, self._tick.gathering.write)
        if run.execution.program.dialect.numbers:
            self._tick.gathering.write.documents += map_run_documents(run, changes.entries)
        for fiber, command in changes.commands:
            match command:
                case Invoke():
                    work += self._invoke(run, fiber, command)
                case Abandon():
                    self._abandon(run, fiber, command)
                case _:
                    work.append(self._spawn(run, command))
        if changes.outcome is not None:
            work += self._ended(run, changes.outcome)
        else:
            self._stand(run, changes)
            if not run.flights:
                run.unsettled += 1
                self._tick.gathering.effects.append(partial(self._settled, run))
        run.forget_memo()
        return work

    def _stand(self, run: Run, changes: Changes) -> None:
        """Arms timers, and notes whether it is paused now."""
        for fiber in changes.fibers.values():
            due_ms = fiber.due_ms
            if due_ms is not None:
                self._arm(run, fiber, due_ms)
        self.stretching.look(run)
        if changes.more:
            self._tick.later(run.origin.namespace, partial(self.proceed, run))
        if run.paused or any([entry.kind in _PAUSING for entry in changes.entries]):  # noqa: C419  it is quicker
            run.paused = run.execution.paused
            status = run.standing
            run.stuck_ms = self._parts.stuck.get(run.id, self._clock.now_ms())
            self._tick.gathering.write.executions.append(run.row(status, None))
            if status == STUCK and run.id not in self._parts.stuck:
                alarm = partial(self.stuck, run, changes.entries)
                self._tick.gathering.effects.append(alarm)
            self._note_stuck(run.id, stuck=status == STUCK)

    def _arm(self, run: Run, fiber: Fiber, due_ms: int | None) -> None:
        effects, named_ms = self._tick.gathering.effects, fiber.by_clock_ms
        if named_ms is not None:
            effects.append(partial(self._alarms.arm, named_ms, run.id, fiber.id))
            due_ms = fiber.deadline_ms
        if due_ms is not None:
            ahead_ms = run.ahead_ms(self._clock)
            timer = (fiber.id, due_ms, ahead_ms)
            effects.append(partial(self._timers.arm, due_ms - ahead_ms, run.id, timer))

    def _note_stuck(self, id: str, *, stuck: bool) -> None:
        if stuck:
            self._parts.stuck.setdefault(id, self._clock.now_ms())
        else:
            self._parts.stuck.pop(id, None)

    def _settled(self, run: Run) -> None:
        """Something of it is durable: if nothing is under way it may leave memory."""
        run.unsettled -= 1
        if run.dormant and self._runs.get(run.id) is run:
            del self._runs[run.id]
            self._bounds.left(run)

    # --- executions begin and end ------------------------------------------------------------

    def _spawn(self, run: Run, command: Spawn) -> Work:
        return self._starts.beside(run, command, later=not self._share.take())

    def _ended(self, run: Run, outcome: Outcome) -> list[Work]:
        now_ms = self._clock.now_ms()
        self._runs.pop(run.id, None)
        self._parts.ended.add(run.id)
        self._bounds.ended(run)
        self._note_stuck(run.id, stuck=False)
        for flight in run.flights.values():
            self._starter.withdraw(flight)
            self._tick.gathering.effects.append(partial(self._starter.cancel, flight))
        run.flights.clear()
        run.put_off.clear()
        status = status_in_words(outcome)
        self._counters.ended(status)
        origin, parent = run.origin, run.origin.parent
        completion = Completion(outcome, origin.started_ms, now_ms)
        if origin.solo:
            self._tick.gathering.write.forgotten.append(run.id)
        else:
            opened = Opened(
                id=run.id,
                action=origin.action,
                namespace=origin.namespace,
                asked_ms=origin.started_ms,
                cause=parent.execution if parent else None,
                kind=run.kind,
            )
            conducted = Conducted(
                duration_ms=run.steps_ms,
                billed_ms=run.conducted_us / 1000,
                memory_mb=run.memory_mb or origin.action.limits.memory_mb,
            )
            run.activation(opened, completion, self._tick.gathering.write, conducted)
            self._tick.gathering.write.executions.append(run.row(status, now_ms))
        self._tick.gathering.effects.append(partial(self._gone, run.id, Ended(outcome)))
        if parent is None:
            if isinstance(outcome, Failure):
                self.letters.ended(run, outcome)
            return []
        return self._child_ended(parent, run, completion)

    def _gone(self, id: str, ended: Ended) -> None:
        """The end of an execution is durable."""
        self._parts.ended.discard(id)
        self._waiters.answer(id, ended)

    def _child_ended(self, parent: Parent, child: Run, completion: Completion) -> list[Work]:
        run = self._runs.get(parent.execution)
        flight = None if run is None else run.flights.pop((parent.fiber, parent.turn), None)
        if run is None or flight is None:
            return []  # it has been cancelled, or was never stored
        run.steps_ms += child.steps_ms
        run.memory_mb = max(run.memory_mb, child.memory_mb)
        if child.doubtful and isinstance(completion.outcome, Failure):
            completion = replace(completion, may_have_run="unknown")
            run.doubt(self._tick.gathering.write)
        event = taken_or_done(parent.turn, run, flight, completion)
        return [(run, run.execution.deliver(parent.fiber, event, run.now_ms(self._clock)))]

    # --- steps begin and end -----------------------------------------------------------------

    def _invoke(self, run: Run, fiber: str, command: Invoke) -> list[Work]:
        action = target(self._parts, run, command)
        nested = command.action is not None and getattr(action, "program", None) is not None
        if (nested or isinstance(action, Failure)) and not self._share.take():
            go_on = partial(self._settle, (run, Changes(commands=[(fiber, command)])))
            self._tick.put_off(run, fiber, command.turn, go_on)
            return []
        if nested:
            action = self._bounds.refused(run) or action
        action = counted(run, action, command)
        if isinstance(action, Failure):
            event = Failed(command.turn, in_doubt(run, fiber, command.turn, action))
            return [(run, run.execution.deliver(fiber, event, run.now_ms(self._clock)))]
        step = opened(run, action, command, self._clock.now_ms())
        self._counters.steps += 1
        if nested or action.asked_once:
            # It must be known after a crash, though its fiber has only just begun: a child is stored,
            # and would begin again; what may run once would run again.
            run.write(run.execution.release(fiber), self._tick.gathering.write)
        if nested:
            child = Flight(step, action.kind, command.activation, later=command.later)
            run.flights[fiber, command.turn] = child
            parent = Parent(run.id, fiber, command.turn)
            return [self._starts.nested(run, parent, action, command)]
        flight = run.flights[fiber, command.turn] = Flight(
            step, action.invoker_kind(command.function), later=command.later
        )
        if action.is_unregistered and command.function is None:
            self._functions.park(run, fiber, flight, command)
            return []
        start = partial(self._starter.start, run, fiber, flight, command)
        if action.entity is not None and command.function is None:
            self._asks.add(start)
        else:
            self._tick.gathering.effects.append(start)
        return []

    def _complete(
        self, run: Run, fiber: str, turn: int, opened: Opened, completion: Completion
    ) -> Changes:
        """Closes a step's activation and tells its fiber."""
        if (
            opened.action.entity is None
        ):  # an entity has kept within them, and has done what it says
            settings = self._parts.settings
            limit = settings.result_bytes.get(opened.action.kind, settings.limits.value_bytes)
            completion = within_limits(run, completion, limit, self._tick.gathering.write)
        outcome = completion.outcome
        if isinstance(outcome, Failure) and opened.action.entity is None:
            outcome = in_doubt(run, fiber, turn, outcome, completion.may_have_run)
            changed = outcome is not completion.outcome
            completion = replace(
                completion,
                outcome=outcome,
                may_have_run=None if changed else completion.may_have_run,
            )
        self._counters.steps_failed += isinstance(outcome, Failure)
        if (not run.origin.express or run.origin.solo) and not opened.silent:
            run.activation(opened, completion, self._tick.gathering.write)
        run.steps_ms += completion.ended_ms - completion.started_ms
        run.memory_mb = max(run.memory_mb, opened.action.limits.memory_mb)
        event = event_of(turn, completion)
        if opened.tail and isinstance(event, Completed):
            event = replace(event, log=log_of(opened, completion))
        if isinstance(event, Failed):
            if opened.action.entity is not None:
                event = replace(
                    event, may_have_run="yes"
                )  # what it has not answered it has not done
            elif may_have_run(event):
                run.doubt(self._tick.gathering.write)
        return run.execution.deliver(fiber, event, run.now_ms(self._clock))

    def _abandon(self, run: Run, fiber: str, command: Abandon) -> None:
        """A step that nobody waits for any more is closed as cancelled, and stopped."""
        run.put_off.discard((fiber, command.turn))
        flight = run.flights.pop((fiber, command.turn), None)
        if flight is not None:
            self._starter.withdraw(flight)
            flight.ending = run.terminated
            self._tick.gathering.effects.append(partial(self._starter.cancel, flight))
            if flight.child is not None:
                return  # it is told to cancel, and closes its own
            opened = flight.opened
        elif command.ticket is not None:
            opened = reopened(self._parts, run, command.ticket)
        else:
            return
        if opened.action.entity is None:
            run.doubt(self._tick.gathering.write)
        now_ms = self._clock.now_ms()
        cancelled = Failure(CANCELLED_CODE, {"code": CANCELLED_CODE, "message": "cancelled"})
        completion = Completion(cancelled, opened.asked_ms, now_ms)
        if not run.origin.express or run.origin.solo:
            run.activation(opened, completion, self._tick.gathering.write)
        run.steps_ms += now_ms - opened.asked_ms
