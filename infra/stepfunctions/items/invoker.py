"""Runs the actions that read a distributed Map's items and write its results."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ....actions import INTERNAL_ERROR, Completion
from ....composer import CANCELLED, Failure, Success
from ....composer.languages.asl.running import ITEM_READER_FAILED, RESULT_WRITER_FAILED, StatesError
from .item_reader import read
from .result_writer import write

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....actions import Clock, Invocation
    from ....composer.languages.asl.running import ReadingBounds
    from .places import Places

log = logging.getLogger(__name__)

ITEMS = "items"  # the kind of the actions
READ, WRITE = "readItems", "writeResults"
LIMIT_MS = 15 * 60_000  # time limit of one action
AT_ONCE = 2  # each may hold as much data as the bounds permit


class ItemsInvoker:
    """Reads items and writes results. An `Invoker`; use it with `async with`.

    A repeated invocation, as after a crash, does no harm: reading has no side effect, and the same results
    are written to the same place.

    Args:
        places: finds buckets.
        clock: source of time.
        bounds: limits of the items that a Map reads.
    """

    kinds = frozenset({ITEMS})

    def __init__(self, places: Places, clock: Clock, bounds: ReadingBounds) -> None:
        self._places, self._clock, self._bounds = places, clock, bounds
        self._tasks = asyncio.TaskGroup()
        self._running: dict[str, asyncio.Task[Success | Failure]] = {}
        self._free = asyncio.Semaphore(AT_ONCE)

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._running.values():
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        task = self._tasks.create_task(self._outcome(invocation))
        self._running[invocation.activation] = task
        task.add_done_callback(
            partial(self._ended, invocation.activation, self._clock.now_ms(), done)
        )

    def cancel(self, activation: str) -> None:
        task = self._running.get(activation)
        if task is not None:
            task.cancel()

    def _ended(
        self,
        activation: str,
        started_ms: int,
        done: Callable[[Completion], None],
        task: asyncio.Task[Success | Failure],
    ) -> None:
        if self._running.get(activation) is task:
            del self._running[activation]
        cancelled = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
        outcome = cancelled if task.cancelled() else task.result()
        done(Completion(outcome, started_ms, self._clock.now_ms()))

    async def _outcome(self, invocation: Invocation) -> Success | Failure:
        reads = invocation.action.name.name == READ
        error = ITEM_READER_FAILED if reads else RESULT_WRITER_FAILED
        limit_ms = invocation.action.limits.timeout_ms
        scope = asyncio.timeout(limit_ms / 1000)
        try:
            async with scope, self._free:
                return Success(await self._result(invocation, limit_ms, reads=reads))
        except StatesError as failed:
            return _failed(failed.name, failed.cause)
        except TimeoutError:
            return _failed(error, f"It took longer than {limit_ms} milliseconds.")
        except Exception:
            log.exception("'%s' failed with an unexpected error", invocation.action.name)
            text = "The action failed with an unexpected error; the log says why."
            return Failure(INTERNAL_ERROR, {"code": INTERNAL_ERROR, "message": text})

    async def _result(
        self, invocation: Invocation, limit_ms: int, *, reads: bool
    ) -> dict[str, Any]:
        objects = self._places.seen_by(invocation, self._clock.now_ms() + limit_ms)
        if reads:
            return await read(invocation.params, objects, self._bounds)
        return await write(invocation.params, objects)


def _failed(name: str, cause: str) -> Failure:
    return Failure(name, {"Error": name, "Cause": cause})
