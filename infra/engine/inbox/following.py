"""Changes are followed from execution to execution, and all that comes of one event gathers for one commit."""

from __future__ import annotations

import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from ....actions import Action
from ....composer import PAUSED as PAUSED_ENTRY
from ....composer import RESOLVED, RESUMED, Abandon, Annotate, Changes, Failure, Invoke
from ....composer import STUCK as STUCK_ENTRY
from ..fairness import Share
from ..indexing import annotate
from ..live import STUCK
from ..outcomes import broken_run
from ..stretching import Stretching
from ..targets import target
from .completing import Completing
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
        self._clock, self._runs, self._counters = (
            core.parts.clock, core.parts.runs, core.parts.counters,
        )  # fmt: skip
        self._hooks = core.parts.hooks
        self._timers, self._alarms, self._stuck = core.timers, core.alarms, core.stuck
        self._tell = core.tell
        self._share = Share(core.parts.clock, SHARE_US, SHARE_STARTS)
        self._calls = EntityCalls()
        self._starts, self._steps = starts, Steps(core, starts, self._calls, completed)
        self.completing = Completing(core)
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

    def proceed(self, run: LiveExecution) -> None:
        """Lets an execution do what it can without an event."""
        if self._runs.get(run.id) is run:
            self.change(run, partial(run.execution.proceed, run.now_ms(self._clock)))

    def _apply(self, run: LiveExecution, changes: Changes) -> list[Work]:
        work: list[Work] = []
        if changes.outcome is None:
            self._bounds.changed(run)
        write = self._tick.gathering.write
        run.write(changes, write)
        if run.execution.program.dialect.numbers:
            write.documents += self._hooks.documents(run.id, run.origin, changes.entries)
        for fiber, command in changes.commands:
            match command:
                case Invoke():
                    work += self._invoke(run, fiber, command)
                case Abandon():
                    self.completing.abandon(run, fiber, command)
                case Annotate():
                    annotate(run, command.attributes, self._parts, write)
                case _:
                    later = not self._share.take()
                    work.append(self._starts.begin_detached(run, command, later=later))
        if changes.outcome is not None:
            work += self.completing.end(run, changes.outcome)
        else:
            self._stand(run, changes)
            if not run.invocations:
                run.unsettled += 1
                self._tick.gathering.effects.append(partial(self._settled, run))
        run.forget_memo()
        return work

    def _invoke(self, run: LiveExecution, fiber: str, command: Invoke) -> list[Work]:
        if run.suspended:
            self._hold(run, fiber, command)
            return []
        if command.tell is not None:
            run.put_off.add((fiber, command.turn))  # it stays in memory until it is told
            self._tick.gathering.effects.append(partial(self._tell, run, fiber, command))
            return []
        action = target(self._parts, run, command)
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
        return self._steps.invoke(run, fiber, command, action)

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
            del self._runs[run.id]
            self._bounds.left(run)
