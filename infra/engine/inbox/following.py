"""Changes are followed from execution to execution, and all that comes of one event gathers for one commit."""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from ....actions import Action
from ....composer import PAUSED as PAUSED_ENTRY
from ....composer import (
    RESOLVED,
    RESUMED,
    Abandon,
    Acquire,
    Annotate,
    Changes,
    Emit,
    Failure,
    Invoke,
    Taken,
    awaits_worker,
)
from ....composer import STUCK as STUCK_ENTRY
from ..emitting import emitted
from ..fairness import Share
from ..indexing import annotate
from ..live import STUCK
from ..outcomes import broken_run
from ..stretching import Stretching
from ..targets import target
from ..update_rows import settled
from .completing import Completing
from .continuing import Continuing
from .entity_calls import EntityCalls
from .steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....composer import Fiber, Stretch, Transition
    from ..core import Core
    from ..live import LiveExecution
    from ..ports import Receiver
    from .beginning import Starts, Work

log = logging.getLogger(__name__)

_PAUSING = (PAUSED_ENTRY, STUCK_ENTRY, RESUMED, RESOLVED)
SHARE_US, SHARE_STARTS = 3_000.0, 64  # that one event may start, before others have their turn


class Following:
    """Makes changes and follows them.

    Args:
        core: the parts of the engine.
        starts: begins executions.
        completed: receives the completions of steps.
    """

    def __init__(self, core: Core, starts: Starts, completed: Receiver) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._lingering = core.lingering
        self._clock, self._runs, self._counters = (
            core.parts.clock, core.parts.runs, core.parts.counters,
        )  # fmt: skip
        self._hooks = core.parts.hooks
        self._timers, self._alarms, self._stuck = core.timers, core.alarms, core.stuck
        self._tell, self._emit = core.tell, core.emit
        self._share = Share(core.parts.clock, SHARE_US, SHARE_STARTS)
        self._limits, self._step_limits = core.limits, core.step_limits
        self._calls = EntityCalls()
        self._starts, self._steps = starts, Steps(core, starts, self._calls, completed)
        self.completing, self._continuing = Completing(core), Continuing(core, starts)
        self.stretching = Stretching(core.parts, core.tick, core.tasks, self._stretched)

    def change(self, run: LiveExecution, change: Callable[[], Changes]) -> None:
        """Makes a change and follows it: the boundary that no mistake of ours crosses."""
        before = self._clock.elapsed_us()
        try:
            changes = change()
        except Exception:
            log.exception("execution %s fails by a mistake of the conductor", run.id)
            self.follow((run, broken_run(run, self._clock.now_ms())))
            return
        self._counters.stale += changes.stale
        self.follow((run, changes))
        run.conducted_us += self._clock.elapsed_us() - before

    def follow(self, *changed: Work) -> None:
        """Follows changes from execution to execution, and has them committed."""
        self._share.begin()
        work: deque[Work] = deque(changed)
        while work:
            run, changes = work.popleft()
            try:
                work += self._apply(run, changes)
            except Exception:
                log.exception("execution %s fails: its changes cannot be stored", run.id)
                failed = broken_run(run, self._clock.now_ms(), changes.messages)
                work += self._apply(run, failed)
        self._tick.wake()
        self._calls.make()

    def send(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Sends a step that has waited; if it was held back, it is noted that it is not any more."""
        if (place := f"{fiber}:{command.turn}") in run.held:
            run.held -= {place}
            if run.recorded:
                self._tick.gathering.write.executions.append(run.row(run.standing, None))
        self.follow((run, Changes(commands=[(fiber, command)])))
        stands, active = run.execution.fibers.get(fiber), run.invocations.get((fiber, command.turn))
        if stands is None or active is None or active.opened.action.is_unregistered:
            return
        if awaits_worker(stands.frames):
            taken = Taken(command.turn)
            self.change(
                run,
                partial(run.execution.deliver, fiber, taken, run.now_ms(self._clock)),
            )

    def proceed(self, run: LiveExecution) -> None:
        """Lets an execution do what it can without an event."""
        if self._runs.get(run.id) is run:
            self.change(run, partial(run.execution.proceed, run.now_ms(self._clock)))

    def _apply(self, run: LiveExecution, changes: Changes) -> list[Work]:
        if changes.outcome is None:
            self._bounds.changed(run)
        write = self._tick.gathering.write
        run.write(changes, write)
        if run.execution.program.dialect.numbers:
            write.documents += self._hooks.documents(run.id, run.origin, changes.entries)
        if run.slots:
            self._limits.follow(run, changes)
        work = self._carry_out(run, changes)
        if changes.updates:
            write.documents += settled(run, changes.updates, self._clock.now_ms(), write)
            self._answered(run)
        if changes.outcome is not None:
            work += self.completing.end(run, changes.outcome)
        else:
            self._stand(run, changes)
            if not run.invocations:
                run.unsettled += 1
                self._tick.gathering.effects.append(partial(self._settled, run))
        run.forget_memo()
        return work

    def _carry_out(self, run: LiveExecution, changes: Changes) -> list[Work]:
        """Carries out the commands of changes. Returns the changes that follow."""
        work: list[Work] = []
        for fiber, command in changes.commands:
            match command:
                case Invoke():
                    work += self._invoke(run, fiber, command)
                case Abandon():
                    self.completing.abandon(run, fiber, command)
                case Acquire():
                    answer = self._limits.ask(run, fiber, command)
                    now_ms = run.now_ms(self._clock)
                    work.append((run, run.execution.deliver(fiber, answer, now_ms)))
                case Annotate():
                    annotate(run, command.attributes, self._parts, self._tick.gathering.write)
                case Emit():
                    self._emit(run.origin.namespace, emitted(run, command))
                case _:
                    later = not self._share.take()
                    work.append(self._starts.begin_detached(run, command, later=later))
        return work

    def _invoke(self, run: LiveExecution, fiber: str, command: Invoke) -> list[Work]:
        if run.suspended:
            self._hold(run, fiber, command)
            return []
        if command.tell is not None:
            run.put_off.add((fiber, command.turn))  # it stays in memory until it is told
            self._tick.gathering.effects.append(partial(self._tell, run, fiber, command))
            return []
        if command.restart:  # in turn with others: a run may do nothing else
            hand_over = partial(self._hand_over, run, fiber, command)
            self._tick.put_off(run, fiber, command.turn, hand_over)
            return []
        return self._step(run, fiber, command, target(self._parts, run, command))

    def _step(
        self, run: LiveExecution, fiber: str, command: Invoke, action: Action | Failure
    ) -> list[Work]:
        """Begins a step, with what carries it out."""
        if command.child is not None:
            return self._steps.adopt(run, fiber, command, action)
        if command.whole:
            return self._steps.transact(run, fiber, command, action)
        nested = (
            command.action is not None and isinstance(action, Action) and action.program is not None
        )
        if (nested or isinstance(action, Failure)) and not self._share.take():
            go_on = partial(self.follow, (run, Changes(commands=[(fiber, command)])))
            self._tick.put_off(run, fiber, command.turn, go_on)
            return []
        if isinstance(action, Action) and nested:
            return self._steps.nest(run, fiber, command, action)
        if (
            isinstance(action, Action)
            and action.limits.waits
            and command.function is None
            and not self._step_limits.admits(run, fiber, command, action)
        ):
            return self._steps.wait(run, fiber, command, action)
        return self._steps.invoke(run, fiber, command, action)

    def _hand_over(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Has the next run of a chain begin in the place of a run; an operator may have paused it by now."""
        if run.suspended:
            self._hold(run, fiber, command)
        elif run.execution.updates:  # the run answers what it has accepted
            run.put_off.add((fiber, command.turn))
            run.handing = (fiber, command)
        else:
            self.follow(*self._continuing.handed_over(run, fiber, command))

    def _answered(self, run: LiveExecution) -> None:
        """Updates of a run are answered: the next run of its chain may begin."""
        if run.handing is None or run.execution.updates:
            return
        (fiber, command), run.handing = run.handing, None
        if (fiber, command.turn) in run.put_off:
            hand_over = partial(self._hand_over, run, fiber, command)
            self._tick.put_off(run, fiber, command.turn, hand_over)

    def _hold(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Keeps a step until an operator resumes its execution. After a crash it is known not to have run."""
        run.put_off.add((fiber, command.turn))
        run.on_hold.append((fiber, command))
        run.hold(fiber, command.turn, self._tick.gathering.write)

    def _stretched(
        self, run: LiveExecution, stretch: Stretch, made: Transition | Exception
    ) -> None:
        """Applies a stretch that a thread has made. One that is stale is made again."""

        def follow() -> Changes:
            if isinstance(made, Exception):
                raise made
            changes = run.execution.stretched(stretch, made)
            changes.stale = False
            return changes

        self.change(run, follow)

    # --- an execution that goes on ------------------------------------------------------------

    def _stand(self, run: LiveExecution, changes: Changes) -> None:
        """Arms timers, and notes whether the execution is paused now."""
        for fiber in changes.fibers.values():
            due_ms = fiber.due_ms
            if due_ms is not None:
                self._arm(run, fiber, due_ms)
        if changes.stretches:
            self.stretching.look(run)
        if changes.more:
            self._tick.later(run.origin.namespace, partial(self.proceed, run))
        if run.paused or any([entry.kind in _PAUSING for entry in changes.entries]):  # noqa: C419  it is quicker
            run.paused = run.execution.paused
            status = run.standing
            run.stuck_ms = self._parts.stuck.get(run.id, self._clock.now_ms())
            self._tick.gathering.write.executions.append(run.row(status, None))
            if status == STUCK and run.id not in self._parts.stuck:
                alarm = partial(self._stuck, run, changes.entries)
                self._tick.gathering.effects.append(alarm)
            if status == STUCK:
                self._parts.stuck.setdefault(run.id, self._clock.now_ms())
            else:
                self._parts.stuck.pop(run.id, None)

    def _arm(self, run: LiveExecution, fiber: Fiber, due_ms: int | None) -> None:
        effects, named_ms = self._tick.gathering.effects, fiber.by_clock_ms
        if named_ms is not None:
            effects.append(partial(self._alarms.arm, named_ms, run.id, fiber.id))
            due_ms = fiber.deadline_ms
        if due_ms is not None:
            ahead_ms = run.ahead_ms(self._clock)
            timer = (fiber.id, due_ms, ahead_ms)
            effects.append(partial(self._timers.arm, due_ms - ahead_ms, run.id, timer))

    def _settled(self, run: LiveExecution) -> None:
        """A change is durable: if nothing else is under way the execution may leave memory."""
        run.unsettled -= 1
        if run.dormant and self._runs.get(run.id) is run:
            self._lingering.settled(run)
