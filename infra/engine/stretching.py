"""A thread makes evaluations that take long, while the event loop serves other clients.

An execution stops before such an evaluation; see `composer.Stretch`. It stays there, whole and durable, until
the evaluation is made: events reach it, it can be cancelled or terminated, and after a crash it comes to the
same place again. One stretch is made at a time, and namespaces take turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .fairness import FairQueue
from .threads import EXECUTIONS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ...composer import Stretch, Transition
    from .live import LiveExecution
    from .shared import Parts
    from .tick import Tick

    Made: TypeAlias = Callable[[LiveExecution, Stretch, "Transition | Exception"], None]


class Stretching:
    """Makes the stretches of executions, and calls `made` with the transition or the exception of each."""

    def __init__(self, parts: Parts, tick: Tick, tasks: asyncio.TaskGroup, made: Made) -> None:
        self._parts, self._tick, self._tasks, self._made = parts, tick, tasks, made
        self._queue: FairQueue[LiveExecution] = FairQueue()
        # Executions in the queue, and the one whose stretch is being made.
        self._waiting: set[str] = set()
        self._working = False
        self._stopped = False

    def __len__(self) -> int:
        return len(self._waiting)

    def look(self, run: LiveExecution) -> None:
        """Queues an execution if it has a stretch to make and does not wait already."""
        if run.execution.stretch is None or run.id in self._waiting or self._stopped:
            return
        self._waiting.add(run.id)
        self._queue.add(run.origin.namespace, run)
        self._tick.evaluating(len(self._waiting))
        if not self._working:
            self._working = True
            self._tasks.create_task(self._make_all())

    def stop(self) -> None:
        """Makes no more stretches, and drops the one under way: the next start makes it again."""
        self._stopped = True
        self._queue.clear()
        self._waiting.clear()
        self._tick.evaluating(0)

    async def _make_all(self) -> None:
        while self._queue:
            run = self._queue.take()
            stretch = run.execution.stretch
            if stretch is not None and self._stands(run):
                await self._make(run, stretch)
            self._waiting.discard(run.id)
            if self._stands(run):
                self.look(run)
            self._tick.evaluating(len(self._waiting))
            self._tick.wake()
        self._working = False

    async def _make(self, run: LiveExecution, stretch: Stretch) -> None:
        made: Transition | Exception
        clock = self._parts.clock
        began_us = clock.elapsed_us()
        try:
            made = await self._parts.threads.run(stretch.make, EXECUTIONS)
        except Exception as error:  # noqa: BLE001  a mistake of ours: this execution fails, and no other
            made = error
        run.conducted_us += clock.elapsed_us() - began_us
        if self._stands(run):
            self._made(run, stretch, made)

    def _stands(self, run: LiveExecution) -> bool:
        return not self._stopped and self._parts.runs.get(run.id) is run
