"""Steps begin: an invoker runs them, an entity, or an execution of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ....composer import Completed, Failed, Failure, Queued, awaits_worker
from ....transactions import APART, MALFORMED, MessageError, refusal
from ..live import ActiveInvocation
from ..offspring import CHILD
from ..origins import Parent
from ..outcomes import in_doubt, is_asked_to_stop
from ..targets import counted, joint, opened

if TYPE_CHECKING:
    from ....actions import Action
    from ....composer import Invoke
    from ..core import Core
    from ..live import LiveExecution
    from ..ports import Receiver
    from .beginning import Starts, Work
    from .entity_calls import EntityCalls

NOT_A_CHILD = "InvalidRequest"


class Steps:
    """Begins steps.

    Args:
        core: the parts of the engine.
        starts: begins executions.
        calls: the calls of entities.
        completed: receives the completions of steps.
    """

    def __init__(self, core: Core, starts: Starts, calls: EntityCalls, completed: Receiver) -> None:
        self._tick, self._bounds, self._starter = core.tick, core.bounds, core.starter
        self._clock, self._counters = core.parts.clock, core.parts.counters
        self._parts, self._functions = core.parts, core.functions
        self._starts, self._calls, self._completed = starts, calls, completed
        self._step_limits = core.step_limits

    def invoke(
        self, run: LiveExecution, fiber: str, command: Invoke, action: Action | Failure
    ) -> list[Work]:
        """Begins a step that an invoker or an entity runs, or fails it if there is nothing to run."""
        action = counted(run, action, command)
        if isinstance(action, Failure):
            return [self._failed(run, fiber, command, action)]
        step = opened(run, action, command, self._clock.now_ms())
        self._counters.steps += 1
        if action.lost_on_crash:  # it must be known after a crash that it may have run
            run.write(run.execution.release(fiber), self._tick.gathering.write)
        active = run.invocations[fiber, command.turn] = ActiveInvocation(
            step, action.invoker_kind(command.function), later=command.later
        )
        if action.is_unregistered and command.function is None:
            self._functions.park(run, fiber, active, command)
            return self._queued(run, fiber, command.turn)
        start = partial(self._starter.start, run, fiber, active, command, self._completed)
        if action.entity is not None and command.function is None:
            self._calls.add(start)
        else:
            self._tick.gathering.effects.append(start)
        return []

    def wait(self, run: LiveExecution, fiber: str, command: Invoke, action: Action) -> list[Work]:
        """A step waits for others of its action: it is known not to have run, also after a crash."""
        if action.lost_on_crash:
            run.write(run.execution.release(fiber), self._tick.gathering.write)
            run.hold(fiber, command.turn, self._tick.gathering.write)
        return self._queued(run, fiber, command.turn)

    def transact(
        self, run: LiveExecution, fiber: str, command: Invoke, action: Action | Failure
    ) -> list[Work]:
        """Begins a whole transaction, or leaves it to the protocol if it is not one of this store."""
        if isinstance(action, Failure):
            return [self._failed(run, fiber, command, action)]
        step = opened(run, action, command, self._clock.now_ms())
        try:
            asked = joint(self._parts, run, command, step)
        except MessageError as error:
            return [self._failed(run, fiber, command, refusal(MALFORMED, str(error)))]
        if asked is None:
            apart = Completed(command.turn, {"vote": APART})
            return [(run, run.execution.deliver(fiber, apart, run.now_ms(self._clock)))]
        self._counters.steps += 1
        kind = action.invoker_kind(None)
        active = run.invocations[fiber, command.turn] = ActiveInvocation(step, kind, joint=asked)
        start = partial(self._starter.start, run, fiber, active, command, self._completed)
        self._calls.add(start)
        return []

    def nest(self, run: LiveExecution, fiber: str, command: Invoke, action: Action) -> list[Work]:
        """Begins a step that is an execution of its own, or fails it if that may not begin."""
        checked = counted(run, self._bounds.refused(run) or action, command)
        if isinstance(checked, Failure):
            return [self._failed(run, fiber, command, checked)]
        step = opened(run, checked, command, self._clock.now_ms())
        self._counters.steps += 1
        # The child is stored, and must not begin again after a crash, though its fiber has only just begun.
        run.write(run.execution.release(fiber), self._tick.gathering.write)
        run.invocations[fiber, command.turn] = ActiveInvocation(
            step, checked.kind, command.activation, later=command.later
        )
        parent = Parent(run.id, fiber, command.turn)
        return [self._starts.nested(run, parent, checked, command)]

    def _queued(self, run: LiveExecution, fiber: str, turn: int) -> list[Work]:
        """Tells a fiber that its step waits for a worker, if one of its timeouts depends on that."""
        stands = run.execution.fibers.get(fiber)
        if stands is None or not awaits_worker(stands.frames):
            return []
        return [(run, run.execution.deliver(fiber, Queued(turn), run.now_ms(self._clock)))]

    def adopt(
        self, run: LiveExecution, fiber: str, command: Invoke, action: Action | Failure
    ) -> list[Work]:
        """Begins a step that is an execution of its own with an end of its own, or fails it if that may not be."""
        checked = counted(run, self._bounds.refused(run) or action, command)
        if not isinstance(checked, Failure) and checked.entity is not None:
            checked = Failure(
                NOT_A_CHILD, f"{checked.name} is an entity: `call` it, it cannot be a child."
            )
        if isinstance(checked, Failure):
            return [self._failed(run, fiber, command, checked)]
        step = replace(opened(run, checked, command, self._clock.now_ms()), silent=True)
        self._counters.steps += 1
        active = run.invocations[fiber, command.turn] = ActiveInvocation(step, CHILD)
        start = partial(self._starter.start, run, fiber, active, command, self._completed)
        self._tick.gathering.effects.append(start)
        if is_asked_to_stop(run, fiber):
            self._tick.gathering.effects.append(partial(self._starter.cancel, active))
        return []

    def _failed(self, run: LiveExecution, fiber: str, command: Invoke, failure: Failure) -> Work:
        self._step_limits.left(run, fiber, command.turn)
        event = Failed(command.turn, in_doubt(run, fiber, command.turn, failure))
        return run, run.execution.deliver(fiber, event, run.now_ms(self._clock))
