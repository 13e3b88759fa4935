"""Executions are ended by an operator, with all that they have started: at once, and no finalizer runs."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from ...actions import ConflictError, NotFoundError
from ...composer import decided
from .offspring import note_child
from .units import nothing

if TYPE_CHECKING:
    from .bounds import Family
    from .core import Core
    from .inbox.inbox import Inbox
    from .live import LiveExecution
    from .recovery import Recovery
    from .units import Also, Unit

log = logging.getLogger(__name__)


def ended(inbox: Inbox, run: LiveExecution) -> None:
    """Ends an execution at once, with all it has started; a decided transaction ends when all know of it."""
    if decided(run.execution.fibers.values()):
        inbox.cancel(run)
    else:
        inbox.terminate(run)


class Endings:
    """Ends executions. Those below one are ended after it, so that nobody hears of an end and goes on."""

    def __init__(self, core: Core, inbox: Inbox, recovery: Recovery) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._chains = core.chains
        self._inbox, self._recovery, self._tasks = inbox, recovery, core.tasks
        self._sweeping = 0
        self._swept = asyncio.Event()
        self._swept.set()
        self._stopped = False

    async def terminate(self, namespace: str, id: str, also: Also = nothing) -> None:
        """Ends an execution, or the newest run of its chain; those below it end soon after this, see `done`.

        `also` adds to the commit that ends it.

        Raises:
            NotFoundError: when there is none in this namespace.
            ConflictError: when it has ended, or must not end now; the text says why.
        """
        self._tick.ensure()
        id, run = await self._recovery.newest(id)
        if run is not None:
            family = self._bounds.family(run.origin.chain_of(id))
        else:
            family = self._bounds.family(await self._chains.first(id))
        if run is None:
            saved = await self._parts.store.load(id)
            if saved is None or saved.execution.namespace != namespace:
                raise NotFoundError
            if family is None:
                raise ConflictError(f"Execution {id} has ended: it has {saved.execution.status}.")
        else:
            self._check(namespace, run)
        if family is not None:
            family.ending = True
            self._begin(id, family)
        if run is not None:
            self._inbox.terminate(run)
        also(self._tick.gathering.write)
        await self._tick.committed()

    async def replaceable(self, namespace: str, id: str) -> LiveExecution | None:
        """An execution that may be ended by `end`; None if it has ended.

        The caller must use it before it awaits anything.

        Raises:
            NotFoundError: when there is none in this namespace.
            ConflictError: when it must not end now; the text says why.
        """
        run = await self._recovery.found(id)
        if run is not None:
            self._check(namespace, run)
        return run

    def end(self, run: LiveExecution) -> None:
        """Ends an execution in the unit that gathers; those below it end once that is durable."""
        family = self._bounds.family(run.origin.chain_of(run.id))
        if family is not None:
            family.ending = True
            self._tick.gathering.effects.append(partial(self._begin, run.id, family))
        self._inbox.terminate(run)

    def replace(self, run: LiveExecution, unit: Unit) -> None:
        """Ends an execution in the unit that gathers. If the store refuses the unit, the execution goes on."""
        unit.alone = False  # the end is not undone when the store is slow
        children = self._parts.offspring.get(run.origin.chain_of(run.id), {})
        stuck = self._parts.stuck.get(run.id)
        self.end(run)
        unit.refused = partial(self._undone, run, children, stuck)

    def _undone(self, run: LiveExecution, children: dict[str, str], stuck: Any) -> None:
        """The store has not taken the end of an execution: it goes on, and so do those below it."""
        chain = run.origin.chain_of(run.id)
        family = self._bounds.family(chain)
        if family is not None:
            family.ending = False
        if children:
            self._parts.offspring[chain] = children
        options = run.origin.options
        if options.parent and options.close:
            note_child(self._parts.offspring, options.parent, run.id, options.close)
        if stuck is not None:
            self._parts.stuck[run.id] = stuck
        self._recovery.again(run.id)

    def _check(self, namespace: str, run: LiveExecution) -> None:
        if run.origin.namespace != namespace:
            raise NotFoundError
        if self._recovery.paused and run.origin.root != run.origin.chain_of(run.id):
            raise ConflictError(
                f"Execution {run.id} is a part of {run.origin.root}: while the server is paused, "
                "terminate that one, which ends this one, too."
            )
        if decided(run.execution.fibers.values()):
            raise ConflictError(
                f"Execution {run.id} has a transaction that is decided; it ends when all know of it."
            )

    async def terminate_all(self, id: str) -> int:
        """Ends an execution of any namespace, and waits for the end of those below it. Returns their number.

        Raises:
            NotFoundError, ConflictError: as `terminate`.
            UnavailableError: when the server stops.
        """
        await self._recovery.counted()
        saved = await self._parts.store.load(id)
        if saved is None:
            raise NotFoundError(f"There is no execution {id}.")
        id = await self._chains.newest(id)
        family = self._bounds.family(await self._chains.first(id))
        below = 0 if family is None else len(family.members.keys() - {id})
        await self.terminate(saved.execution.namespace, id)
        await self.done()
        return below

    async def done(self) -> None:
        """Waits until all that were to end have ended."""
        await self._swept.wait()
        await self._tick.settled()

    def stop(self) -> None:
        """Ends nothing more."""
        self._stopped = True

    def _begin(self, root: str, family: Family) -> None:
        below = sorted(family.members, key=family.members.__getitem__)
        below = [member for member in below if member != root]
        self._sweeping += 1
        self._swept.clear()
        self._tasks.create_task(self._sweep(root, below))

    async def _sweep(self, root: str, below: list[str]) -> None:
        log.info("execution %s is terminated, with %d below it", root, len(below))
        for id in below:
            if self._stopped:
                break
            await self._end(id)
            await asyncio.sleep(0)  # noqa: TID251  others have their turn
        self._sweeping -= 1
        if not self._sweeping:
            self._swept.set()

    async def _end(self, id: str) -> None:
        try:
            _, run = await self._recovery.newest(id)
        except Exception as error:  # noqa: BLE001  the others are to end, whatever this one lacks
            log.error("execution %s is to end, and cannot be loaded: %s", id, error)  # noqa: TRY400
            self._recovery.reach(id, partial(ended, self._inbox))
        else:
            if run is not None:
                ended(self._inbox, run)
