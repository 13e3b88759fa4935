"""Limits of actions with code: a step waits until fewer steps of its action run, or its rate allows it.

A step that waits has not begun. One that is answered by callback has its slot until then, or until a restart: its
execution is not loaded at the start. After a crash the steps that were under way line up again, but for those that
are polled for, which still have their slots.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ....composer import UNBOUND, Bound
from ..targets import reopened
from ..tickets import read_ticket
from .lines import Lines, Name, Place, member_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Action
    from ....composer import Invoke
    from ..live import LiveExecution
    from ..shared import Parts
    from ..tick import Tick


class _Step(NamedTuple):
    """A step that waits or is under way."""

    run: LiveExecution
    fiber: str
    command: Invoke


class StepLimits:
    """The steps of actions that have limits.

    Args:
        parts: of the engine.
        tick: has steps begin in turn with others.
        begin: begins a step that has waited.
    """

    def __init__(
        self, parts: Parts, tick: Tick, begin: Callable[[LiveExecution, str, Invoke], None]
    ) -> None:
        self._parts, self._tick, self._begin = parts, tick, begin
        self._bounds: dict[Name, Bound] = {}  # of actions that have been invoked
        # By execution, fiber and turn; None for one that has its slot.
        self.steps: dict[str, dict[tuple[str, int], _Step | None]] = {}
        look_s = parts.settings.pacing.look_s
        self._lines = Lines(
            parts.clock, self._admit, lambda name: self._bounds.get(name, UNBOUND), look_s
        )

    def open(self) -> None:
        """Lets steps begin: those that were under way before a restart, and still are, must be known."""
        self._lines.open()

    def close(self) -> None:
        """Begins no more steps."""
        self._lines.close()

    def gauges(self) -> dict[str, int]:
        """The number of steps that wait."""
        return {"limited_steps": sum(len(line) for _, line in self._lines)}

    def admits(self, run: LiveExecution, fiber: str, command: Invoke, action: Action) -> bool:
        """True if a step may begin now. Otherwise it waits, and is put off until then."""
        place, known = (fiber, command.turn), self.steps.get(run.id, {})
        if place in known:
            return True  # it has waited
        line = self._line(action)
        known = self.steps.setdefault(run.id, {})
        if self._lines.ask(line, member_id(run.id, *place), self._lines.number()):
            known[place] = None
            return True
        known[place] = _Step(run, fiber, command)
        run.put_off.add(place)
        return False

    def arrived(self, run: LiveExecution) -> None:
        """An execution is recovered: its steps that are polled for still have their slots."""
        for fiber, turn, told in run.execution.polled:
            place, ticket = (fiber, turn), read_ticket(told)
            if ticket is None or place in self.steps.get(run.id, {}):
                continue
            action = reopened(self._parts, run, ticket).action
            if action.limits.waits:
                line, number = self._line(action), self._lines.number()
                self.steps.setdefault(run.id, {})[place] = None
                self._lines.restored(line, member_id(run.id, *place), number, holds=True)

    def left(self, run: LiveExecution, fiber: str, turn: int) -> None:
        """A step is not waited for any more: it has ended, was cancelled, or has not begun."""
        known = self.steps.get(run.id)
        if known is None or (fiber, turn) not in known:
            return
        del known[fiber, turn]
        if not known:
            del self.steps[run.id]
        place = self._lines.leave(member_id(run.id, fiber, turn))
        if place is not None:
            self._lines.look(place)

    def gone(self, run: LiveExecution) -> None:
        """An execution has ended, and no step of it is waited for any more."""
        for fiber, turn in [*self.steps.get(run.id, ())]:
            self.left(run, fiber, turn)

    def _line(self, action: Action) -> Place:
        """The line of an action, with the numbers that count now."""
        name = (action.name.namespace, action.name.path)
        bound = action.limits.bound
        if self._bounds.get(name) != bound:
            self._bounds[name] = bound
            self._lines.look_all(name)
        return Place(*name, "")

    def _admit(self, id: str) -> None:
        execution, fiber, turn = id.rsplit(":", 2)
        step = self.steps[execution][fiber, int(turn)]
        if step is None:
            return  # it has its slot already
        self._tick.later(step.run.origin.namespace, partial(self._let, step))

    def _let(self, step: _Step) -> None:
        place = (step.fiber, step.command.turn)
        if place in step.run.put_off:  # else it was cancelled, and has left
            step.run.put_off.discard(place)
            self.steps[step.run.id][place] = None
            if step.run.suspended:  # a slot is for others until it is resumed, and asks again
                self.left(step.run, *place)
            self._begin(step.run, step.fiber, step.command)
