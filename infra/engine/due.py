"""The time has come for a fiber: it has waited for so long, or the clock shows the instant it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...composer import TimerFired

if TYPE_CHECKING:
    from ...actions import Clock
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .timers import Timer, Timers


class Due:
    """Tells fibers that their time has come, if it has."""

    def __init__(self, clock: Clock, inbox: Inbox, alarms: Timers[str]) -> None:
        self._clock, self._inbox, self._alarms = clock, inbox, alarms

    def passed(self, run: LiveExecution, timer: Timer) -> None:
        """Tells a fiber that it has waited for as long as it was to wait."""
        fiber, due_ms, ahead_ms = timer
        run.ahead_ms(self._clock, ahead_ms)
        if self._named_ms(run, fiber) == due_ms and due_ms > self._clock.now_ms():
            self._alarms.arm(due_ms, run.id, fiber)  # the clock was set back since the start
            return
        run.now_ms(self._clock, due_ms)
        self._inbox.deliver(run, fiber, TimerFired())

    def shown(self, run: LiveExecution, fiber: str) -> None:
        """Tells a fiber that the machine's clock shows the instant that it waits for, if it does."""
        named_ms = self._named_ms(run, fiber)
        if named_ms is not None and named_ms <= self._clock.now_ms():
            run.now_ms(self._clock, named_ms)
            self._inbox.deliver(run, fiber, TimerFired())

    @staticmethod
    def _named_ms(run: LiveExecution, fiber: str) -> int | None:
        standing = run.execution.fibers.get(fiber)
        return None if standing is None else standing.by_clock_ms
