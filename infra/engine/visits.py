"""Executions are visited: they are brought into memory, in turn with others, and something is done with each."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...actions import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .core import Core
    from .live import LiveExecution

log = logging.getLogger(__name__)

VISITORS = 8  # executions that are loaded at the same time
AGAIN_AT_MOST_S = 300.0  # between attempts to load an execution that cannot be loaded

Visit: TypeAlias = "Callable[[LiveExecution], None]"


class _Waiting(NamedTuple):
    """A visit to come; if the execution has continued as another run, with `follows` of that one."""

    execution: str
    visit: Visit
    pause_s: float
    follows: bool


class Visits:
    """Visits executions, some at a time.

    Args:
        core: the parts of the engine.
        found: brings an execution into memory; None if it has ended.
        stopping: set when nothing is visited any more.
    """

    def __init__(
        self,
        core: Core,
        found: Callable[[str], Awaitable[LiveExecution | None]],
        stopping: asyncio.Event,
    ) -> None:
        self._parts, self._tick, self._tasks = core.parts, core.tick, core.tasks
        self._chains, self._found, self._stopping = core.chains, found, stopping
        self._waiting: deque[_Waiting] = deque()
        self._visitors = 0

    def visit(self, execution: str, visit: Visit) -> None:
        """Calls `visit` with an execution, now or when it is in memory; never if it has ended."""
        pause_s = self._parts.settings.pacing.visit_retry_s
        self._visit(_Waiting(execution, visit, pause_s, follows=False))

    def reach(self, execution: str, visit: Visit) -> None:
        """Like `visit`, with the newest run of the execution's chain."""
        pause_s = self._parts.settings.pacing.visit_retry_s
        self._visit(_Waiting(execution, visit, pause_s, follows=True))

    def clear(self) -> None:
        """Forgets the visits to come."""
        self._waiting.clear()

    def _visit(self, waiting: _Waiting) -> None:
        run = self._parts.runs.get(waiting.execution)
        if run is not None:
            waiting.visit(run)
        elif not self._stopping.is_set():
            self._waiting.append(waiting)
            if self._visitors < VISITORS:
                self._visitors += 1
                self._tasks.create_task(self._visit_all())

    async def _visit_all(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            execution = waiting.execution
            try:
                run = await self._found(execution)
                newest = await self._chains.newest(execution) if waiting.follows else execution
            except UnavailableError as error:
                text = "execution %s cannot be loaded; trying again in %g s: %s"
                log.warning(text, execution, waiting.pause_s, error)
                longer_s = min(2 * waiting.pause_s, AGAIN_AT_MOST_S)
                again = partial(self._visit, waiting._replace(pause_s=longer_s))
                asyncio.get_running_loop().call_later(waiting.pause_s, again)
                continue
            except Exception:
                log.exception("execution %s cannot be loaded; it is left alone", execution)
                continue
            if run is not None or newest != execution:
                namespace = "" if run is None else run.origin.namespace
                self._tick.later(
                    namespace, partial(self._visit, waiting._replace(execution=newest))
                )
            else:
                self._parts.counters.stale += 1
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time
        self._visitors -= 1
