"""A worker: it takes tasks from a queue, runs functions on them, and stops in order."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ...actions import (
    ConflictError,
    InvalidError,
    NotFoundError,
    RefusedError,
    TooLargeError,
    check_queue,
)
from .functions import functions_by_name
from .steps import Step, run
from .tasks import is_passing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...composer import JSON
    from .tasks import Tasks

log = logging.getLogger(__name__)

BEATS = 3  # heartbeats in the time in which one must come
USUAL_BEAT_S = 10.0  # between heartbeats of a task that needs none: they tell if it is cancelled
FIRST_S, LONGEST_S = 0.2, 10.0  # between two attempts
OVER = (NotFoundError, ConflictError)
MAX_TEXT = 255  # characters of a name and of a version
CANCELLED = "nobody waits for the result any more"
STOPPING = "the worker stops"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a worker.

    Args:
        queue: name of the queue.
        worker: name of the worker; "" for the host, the process and a number drawn by chance.
        version: version of the worker; tasks for another version are not for it.
        slots: tasks at the same time.
        wait_s: seconds that a request for tasks waits at the server.
        grace_s: seconds in which functions may end when the worker stops.

    Raises:
        InvalidError: an option is not valid. The text names it.
    """

    queue: str
    worker: str = ""
    version: str = ""
    slots: int = 10
    wait_s: float = 30.0
    grace_s: float = 30.0

    def __post_init__(self) -> None:
        check_queue("queue", self.queue)
        if isinstance(self.slots, bool) or not isinstance(self.slots, int) or self.slots < 1:
            raise InvalidError(f"slots: must be a whole number of at least 1, not {self.slots!r}")
        if not self.grace_s >= 0:
            raise InvalidError(
                f"grace_s: must be a number of seconds of at least 0, not {self.grace_s!r}"
            )
        for option, text in (("name", self.worker), ("version", self.version)):
            if len(text) > MAX_TEXT:
                raise InvalidError(f"{option}: must have at most {MAX_TEXT} characters")
        if not self.worker:
            chance = secrets.token_hex(3)  # two workers of a process are two
            object.__setattr__(self, "worker", f"{socket.gethostname()}-{os.getpid()}-{chance}")


class Worker:
    """Takes tasks from a queue and runs functions on them: `async with` a worker, or `await` its `run`.

    A function takes the parameters of its task and returns its result, a JSON value; a parameter `step` gets
    a `Step`. An exception fails the task. A function that is not `async` runs in a thread. A worker is used
    once.

    Args:
        tasks: where it takes tasks from, open.
        functions: functions marked `@composer.action`, or plain ones under their own names.
        options: the queue and the limits.

    Raises:
        InvalidError: a function cannot be the worker's. The text says why.
    """

    def __init__(
        self, tasks: Tasks, functions: Iterable[Callable[..., Any]], options: Options
    ) -> None:
        self._tasks, self._options = tasks, options
        self._functions = functions_by_name(options.queue, functions)
        self._running: dict[asyncio.Task[None], Step] = {}
        self._free = asyncio.Event()
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._working: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<worker {self.name} of the queue {self._options.queue}>"

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._working = asyncio.ensure_future(self._work_all())
        return self

    async def __aexit__(self, error: type[BaseException] | None, *rest: object) -> None:
        self.stop()
        try:
            with suppress(*((RefusedError,) if error else ())):  # the block's own error is told
                await self.wait()
        finally:
            if self._working is not None:
                self._working.cancel()

    @property
    def name(self) -> str:
        """The name by which the server knows the worker."""
        return self._options.worker

    @property
    def functions(self) -> list[str]:
        """The names of the actions that it does."""
        return sorted(self._functions)

    @property
    def running(self) -> int:
        """The number of tasks that are being worked on."""
        return len(self._running)

    def stop(self) -> None:
        """Takes no more tasks: functions that run are told, and cancelled after the grace.

        Any thread may call it. `run` and `wait` return when all functions have ended, or when the grace is over.
        """
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop)
        else:
            self._stop()

    async def wait(self) -> None:
        """Waits until the worker has stopped. If the wait is cancelled, the worker goes on.

        Raises:
            RefusedError: the server refuses the worker.
        """
        if self._working is not None:
            await asyncio.shield(self._working)

    async def run(self) -> None:
        """Works until `stop`.

        Raises:
            RefusedError: the server refuses the worker.
        """
        async with self:
            await self.wait()

    def _stop(self) -> None:
        self._stopping.set()
        self._free.set()

    async def _work_all(self) -> None:
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
            except RefusedError as error:
                if not is_passing(error):
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
        return await self._tasks.take(options.queue, asked, options.wait_s)

    async def _leave(self) -> None:
        """Has the server answer the request that waits when the worker stops: no task comes too late."""
        await self._stopping.wait()
        with suppress(RefusedError):
            await self._tasks.leave(self._options.queue, self._options.worker)

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
            known = ", ".join(self.functions)
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
            await self._tasks.answer(step.token, result)
        except TooLargeError as error:
            text = f"The result is too large: {error}"
            await self._tasks.answer(step.token, {"error": text})
        except OVER:
            log.info("the answer to %s came too late", step.action)

    async def _beat(self, doc: dict[str, Any], step: Step, work: asyncio.Future[Any]) -> None:
        """Tells that the function is at work, and stops it if nobody waits for it."""
        every_s = USUAL_BEAT_S if doc["heartbeat"] is None else doc["heartbeat"] / BEATS
        while True:
            await asyncio.sleep(every_s)  # noqa: TID251  between heartbeats
            try:
                waited_for = await self._tasks.beat(step.token, step.told)
            except RefusedError as error:
                log.debug("a heartbeat was not taken: %s", error)
                continue
            if not waited_for:
                log.info("%s is cancelled: %s", step.action, CANCELLED)
                step.stop(CANCELLED)
                step.reason = CANCELLED
                work.cancel()
                return
