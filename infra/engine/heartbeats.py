"""Heartbeats of steps that answer later: each counts at once, and few are written.

The first heartbeat of a step is written. Those that come within a fifth of the step's heartbeat timeout after it are
kept in memory, and the last of them is written at the end of that time. So a crash loses the details of a fifth of the
timeout at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ...composer import Heartbeat, Invoking, heartbeat_ms
from .timers import Elapsed, Timers

if TYPE_CHECKING:
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .shared import Parts
    from .tick import Tick

USUAL_MS = 60_000  # the timeout that a step without one is written as if it had
SHARE = 5  # of the timeout: at most so many heartbeats are written in it

Place: TypeAlias = "tuple[str, int]"
"""A fiber, and its turn."""


@dataclass(slots=True)
class _Rest:
    """The time after a heartbeat that was written; `run` keeps those that came since then, if any did."""

    run: LiveExecution | None = None


class Heartbeats:
    """Hands heartbeats to the steps that wait."""

    def __init__(self, parts: Parts, tick: Tick, inbox: Inbox) -> None:
        self._parts, self._tick, self._inbox = parts, tick, inbox
        self._elapsed = Elapsed(parts.clock)
        self._timers: Timers[Place] = Timers(
            self._elapsed, self._rested, parts.settings.pacing.look_s
        )
        self._resting: dict[tuple[str, Place], _Rest] = {}

    async def beat(self, run: LiveExecution, fiber: str, event: Heartbeat) -> None:
        """Notes that a step is at work. It is durable when this returns, if it is one to write."""
        rest = self._resting.get((run.id, (fiber, event.turn)))
        if rest is None:
            taken = self._tick.durable()
            self._write(run, fiber, event)
            await taken
            return
        run.execution.deliver(fiber, event, run.now_ms(self._parts.clock))
        if rest.run is not run:
            rest.run = run
            run.unsettled += 1  # it stays in memory until it is written

    def stop(self) -> None:
        """Writes nothing more."""
        self._timers.stop()
        self._resting.clear()

    def _write(self, run: LiveExecution, fiber: str, event: Heartbeat) -> None:
        frames = run.execution.fibers[fiber].frames
        place = (fiber, event.turn)
        self._inbox.deliver(run, fiber, event)
        self._resting[run.id, place] = _Rest()
        rest_ms = (heartbeat_ms(frames) or USUAL_MS) // SHARE
        self._timers.arm(self._elapsed.now_ms() + rest_ms, run.id, place)

    def _rested(self, execution: str, place: Place) -> None:
        rest = self._resting.pop((execution, place), None)
        if rest is None or rest.run is None:
            return
        run, (fiber, turn) = rest.run, place
        run.unsettled -= 1
        if self._parts.runs.get(execution) is not run:
            return  # it has ended
        stands = run.execution.fibers.get(fiber)
        if stands is not None and stands.turn == turn and isinstance(stands.wait, Invoking):
            self._write(run, fiber, Heartbeat(turn))
        else:
            self._inbox.proceed(run)  # it may leave memory now
