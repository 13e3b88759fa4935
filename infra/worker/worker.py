"""A worker: it takes tasks from a queue, runs functions on them, and stops in order."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .server import FIRST_S, LONGEST_S, ServerError
from .steps import Step, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...composer import JSON
    from .server import Server

log = logging.getLogger(__name__)

BEATS = 3  # heartbeats in the time in which one must come
USUAL_BEAT_S = 10.0  # between heartbeats of a task that needs none: they tell if it is cancelled
TOO_LARGE = 413
OVER = (404, 409)
CANCELLED = "nobody waits for the result any more"
STOPPING = "the worker stops"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a worker.

    Args:
        queue: name of the queue.
        worker: name of the worker.
        version: version of the worker; tasks for another version are not for it.
        slots: tasks at the same time.
        wait_s: seconds that a request for tasks waits at the server.
        grace_s: seconds in which functions may end when the worker stops.
    """

    queue: str
    worker: str
    version: str = ""
    slots: int = 10
    wait_s: float = 30.0
    grace_s: float = 30.0


class Worker:
    """Takes tasks from a queue and runs functions on them.

    A function takes the parameters of its task and returns its result, a JSON value; a parameter `step` gets
    a `Step`. An exception fails the task.

    Args:
        server: the server, open.
        functions: by the name of the action, without its namespace.
        options: the queue and the limits.
    """

    def __init__(
        self, server: Server, functions: Mapping[str, Callable[..., Any]], options: Options
    ) -> None:
        self._server, self._functions, self._options = server, functions, options
        self._running: dict[asyncio.Task[None], Step] = {}
        self._free = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def running(self) -> int:
        """The number of tasks that are being worked on."""
        return len(self._running)

    def stop(self) -> None:
        """Takes no more tasks. `run` returns when those that run have ended, or their grace is over."""
        self._stopping.set()
        self._free.set()

    async def run(self) -> None:
        """Works until `stop`. Functions that run then are told, and cancelled after the grace.

        Raises:
            ServerError: the server refuses the worker.
        """
        leaving = asyncio.ensure_future(self._leave())
        try:
            await self._take_all()
            await self._end()
        finally:
            leaving.cancel()
            for task in self._running:
                task.cancel()

    async def _take_all(self) -> None:
        pause_s = FIRST_S
        while not self._stopping.is_set():
            if self.running >= self._options.slots:
                self._free.clear()
                await self._free.wait()
                continue
            try:
                tasks = await self._asked()
            except ServerError as error:
                if not error.passing:
                    raise
                log.warning("%s; trying again in %g s", error, pause_s)
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._stopping.wait()
                pause_s = min(2 * pause_s, LONGEST_S)
                continue
            pause_s = FIRST_S
            for task in tasks:
                self._begin(task)

    async def _asked(self) -> list[Any]:
        options = self._options
        asked: dict[str, JSON] = {
            "worker": options.worker, "version": options.version, "slots": options.slots,
            "count": min(100, options.slots - self.running),
        }  # fmt: skip
        return await self._server.take(options.queue, asked, options.wait_s)

    async def _leave(self) -> None:
        """Has the server answer the request that waits when the worker stops: no task comes too late."""
        await self._stopping.wait()
        with suppress(ServerError):
            await self._server.leave(self._options.queue, self._options.worker)

    async def _end(self) -> None:
        """Waits for the functions that run: they are told, then cancelled, then left to their timeouts."""
        for step in self._running.values():
            step.stop(STOPPING)
        if not self._running:
            return
        log.info("waiting %g s for %d tasks", self._options.grace_s, self.running)
        await asyncio.wait([*self._running], timeout=self._options.grace_s)
        left = [*self._running]
        for task in left:
            task.cancel()
        if left:
            log.warning("%d tasks have not ended: they are left to their timeouts", len(left))
            await asyncio.wait(left, timeout=1.0)

    def _begin(self, doc: dict[str, Any]) -> None:
        step = Step(doc)
        task = asyncio.ensure_future(self._work(doc, step))
        self._running[task] = step
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._free.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task was not answered: %s", error, exc_info=error)

    async def _work(self, doc: dict[str, Any], step: Step) -> None:
        name = step.action.split("/", 2)[2]
        function = self._functions.get(name)
        if function is None:
            known = ", ".join(sorted(self._functions))
            text = f"The worker has no function for the action '{name}'; it has {known}."
            await self._answer(step, {"error": text})
            return
        work = asyncio.ensure_future(run(function, doc["params"], step))
        beating = asyncio.ensure_future(self._beat(doc, step, work))
        try:
            result = await work
        except asyncio.CancelledError:
            if work.cancelled() and step.reason == CANCELLED:
                return  # there is nobody to answer
            work.cancel()
            raise
        finally:
            beating.cancel()
        if step.reason != CANCELLED:
            await self._answer(step, result)

    async def _answer(self, step: Step, result: dict[str, JSON]) -> None:
        try:
            await self._server.answer(step.token, result)
        except ServerError as error:
            if error.status == TOO_LARGE:
                await self._server.answer(
                    step.token, {"error": f"The result is too large: {error}"}
                )
            elif error.status in OVER:
                log.info("the answer to %s came too late", step.action)
            else:
                raise

    async def _beat(self, doc: dict[str, Any], step: Step, work: asyncio.Future[Any]) -> None:
        """Tells that the function is at work, and stops it if nobody waits for it."""
        every_s = USUAL_BEAT_S if doc["heartbeat"] is None else doc["heartbeat"] / BEATS
        while True:
            await asyncio.sleep(every_s)  # noqa: TID251  between heartbeats
            try:
                waited_for = await self._server.beat(step.token, step.told)
            except ServerError as error:
                log.debug("a heartbeat was not taken: %s", error)
                continue
            if not waited_for:
                log.info("%s is cancelled: %s", step.action, CANCELLED)
                step.stop(CANCELLED)
                step.reason = CANCELLED
                work.cancel()
                return
