"""An operator pauses executions and resumes them.

An execution is paused in two ways. A retry that is spent, or a stuck saga, pauses a fiber: the machine waits
for a decision about it. An operator suspends an execution as a whole: no further step begins, no worker gets a
task of it, steps under way end, and timers run on. `resume` ends both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...actions import ConflictError
from .units import nothing

if TYPE_CHECKING:
    from ...composer import Resolved, Resumed
    from .core import Core
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .queues.queues import Queues
    from .recovery import Recovery
    from .units import Also


class Pauses:
    """Pauses and resumes executions. Each change is durable when its method returns.

    `also` adds to the commit of the change.
    """

    def __init__(self, core: Core, inbox: Inbox, recovery: Recovery, queues: Queues) -> None:
        self._tick, self._inbox, self._recovery = core.tick, inbox, recovery
        self._queues = queues

    async def pause(self, namespace: str, id: str, also: Also = nothing) -> None:
        """Begins no further step of an execution. One that is paused already stays so.

        Executions that are steps of it are not paused.

        Raises:
            NotFoundError: the namespace has no such execution.
            ConflictError: it has ended, or cannot be paused: an express execution, or one action by itself.
            UnavailableError: the store does not commit.
        """
        self._tick.ensure()
        run = await self._recovery.standing(namespace, id)
        if what := run.origin.apart:
            raise ConflictError(
                f"Execution {id} cannot be paused: it is {what}. Cancel it instead."
            )
        run.suspended = True
        self._queues.held.pause(run)
        self._store(run)
        also(self._tick.gathering.write)
        await self._tick.committed()

    async def resume(
        self,
        namespace: str,
        id: str,
        event: Resumed | Resolved | None = None,
        fiber: str | None = None,
        also: Also = nothing,
    ) -> None:
        """See `Engine.resume`."""
        self._tick.ensure()
        run = await self._recovery.standing(namespace, id)
        stuck = run.execution.stuck_fibers
        if not (run.paused or run.suspended):
            raise ConflictError(f"Execution {id} is not paused.")
        if event is not None and (not stuck or (fiber is not None and fiber not in stuck)):
            where = "" if fiber is None else f" in fiber {fiber}"
            raise ConflictError(f"Execution {id} is not stuck{where}.")
        if run.suspended:
            self._release(run)
        if run.paused:
            self._inbox.resume(run, event, fiber)
        also(self._tick.gathering.write)
        await self._tick.committed()

    def _release(self, run: LiveExecution) -> None:
        """Lets the steps begin that were held back."""
        run.suspended = False
        self._queues.held.resume(run.id)
        self._store(run)
        on_hold, run.on_hold = run.on_hold, []
        for fiber, command in on_hold:
            if (fiber, command.turn) in run.put_off:  # else it was cancelled meanwhile
                run.put_off.discard((fiber, command.turn))
                self._inbox.send(run, fiber, command)

    def _store(self, run: LiveExecution) -> None:
        self._tick.gathering.write.executions.append(run.row(run.standing, None))
        self._tick.wake()
