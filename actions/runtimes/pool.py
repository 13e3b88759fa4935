"""The pool of warm workers: assigns activations, starts workers, and ends them.

Some workers are started ahead, in each language that was used before, so that new code need not wait for
a process.

A worker belongs to a namespace and a piece of code. It runs one activation at a time, or as many as the
limit `concurrency` of the action says if the code can do that, and is kept warm for the next one until it
has been idle for long, or other code needs its place. An activation that finds no worker of its code with
room for it waits; if it waits for more than a moment, or its code has no worker at all, another worker is
started, up to the size of the pool.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from operator import itemgetter
from typing import TYPE_CHECKING, Self

from ...composer import CANCELLED, Failure
from ..limits import Limits
from ..outcome import LOST, UNAVAILABLE
from .assignments import Assignment
from .environments import InstallError
from .languages import find_languages
from .workers import EARLY_S, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...composer import JSON, Success
    from ..coded import Code
    from ..invocation import Invocation
    from ..outcome import Completion
    from ..ports import Clock
    from .assignments import Key
    from .languages import Language
    from .packages import Packages
    from .requests import WorkerSettings
    from .sandbox import Sandbox

log = logging.getLogger(__name__)

DEFAULT_MEMORY_MB = Limits().memory_mb
PATIENCE_S = 0.005  # an activation waits so long for a busy worker before another is started
FAIR_S = 0.1  # after which code without a worker may take the place of code with a queue
AGAIN_S = 0.5  # between attempts to start a worker, when the disk is full
FULL = (ENOSPC, EDQUOT)

_STOPPING = Failure(UNAVAILABLE, "the server is stopping")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The number of workers.

    Args:
        size: the most workers, for all namespaces together.
        idle_s: seconds after which an idle worker ends.
        prewarmed: workers started ahead, for each language that is used.
    """

    size: int = 16
    idle_s: float = 60.0
    prewarmed: int = 0


DEFAULT_BOUNDS = Bounds()


class WorkerPool:
    """Runs actions with code, and inline functions, in worker processes. An `Invoker`.

    Args:
        sandbox: starts workers.
        clock: the time.
        settings: of the workers.
        bounds: of the number of workers.
        languages: by kind; None for those that this machine has.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        clock: Clock,
        settings: WorkerSettings,
        bounds: Bounds = DEFAULT_BOUNDS,
        languages: Mapping[str, Language] | None = None,
    ) -> None:
        self._sandbox, self._clock, self._settings = sandbox, clock, settings
        self._languages = find_languages() if languages is None else languages
        self.kinds = frozenset(self._languages)
        self._size, self._idle_s = bounds.size, bounds.idle_s
        self._ahead = bounds.prewarmed
        self._workers: dict[Key, set[Worker]] = {}  # living or being started
        self._idle: dict[Key, list[Worker]] = {}  # the most recently used is last
        self._stems: dict[str, list[Worker]] = {}  # started ahead, without code, by kind
        self._waiting: dict[Key, deque[Assignment]] = {}
        self._assignments: dict[str, Assignment] = {}
        self._preparing: dict[str, asyncio.Task[None]] = {}  # packages, by activation
        self._full = False  # the disk had no room for the last worker
        self._tasks = asyncio.TaskGroup()
        self.resent = 0  # invocations whose worker died before their code had begun

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._size = 0
        for activation, task in self._preparing.items():
            task.cancel()
            self.finished(self._assignments[activation], _STOPPING, None)
        waiting, self._waiting = self._waiting, {}
        for assignment in [
            assignment for assignments in waiting.values() for assignment in assignments
        ]:
            self.finished(assignment, _STOPPING, None)
        for workers in [*self._workers.values(), *self._stems.values()]:
            for worker in list(workers):
                worker.end(Failure(LOST, "the server stopped while the action ran"))
        await self._tasks.__aexit__(None, None, None)

    @property
    def size(self) -> int:
        """The number of workers."""
        return sum(map(len, self._workers.values())) + sum(map(len, self._stems.values()))

    @property
    def waiting(self) -> int:
        """The number of activations that wait for a worker, or for others in theirs."""
        workers = itertools.chain.from_iterable(self._workers.values())
        behind = sum(max(0, each.load - 1) for each in workers if not each.together)
        return behind + sum(map(len, self._waiting.values()))

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        code = invocation.code
        assert code is not None  # noqa: S101  the kind says so
        assignment = Assignment(invocation, code, done)
        self._assignments[invocation.activation] = assignment
        worker = self._free(assignment)
        if worker is not None:
            worker.run(assignment)
            return
        loop = asyncio.get_running_loop()
        if not self._size:
            loop.call_soon(self.finished, assignment, _STOPPING, None)
            return
        packages = self._settings.packages
        if packages is None or packages.settled(code):
            self._queue(assignment)
        else:
            task = self._tasks.create_task(self._prepare(assignment, packages))
            self._preparing[invocation.activation] = task
            task.add_done_callback(lambda _: self._preparing.pop(invocation.activation, None))

    def cancel(self, activation: str) -> None:
        assignment = self._assignments.get(activation)
        if assignment is None:
            return
        cancelled = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
        if assignment.worker is not None:
            assignment.worker.cancel(assignment, cancelled)
            return
        task = self._preparing.get(activation)
        if task is not None:
            task.cancel()
        else:
            self._waiting[assignment.key].remove(assignment)
        self.finished(assignment, cancelled, None)

    # --- packages ----------------------------------------------------------------------------

    async def _prepare(self, assignment: Assignment, packages: Packages) -> None:
        """Queues an assignment once its packages are installed. It takes no worker's place until then."""
        try:
            ready = await packages.prepare(
                assignment.code, lambda text: assignment.tell(text, self._clock.now_ms())
            )
        except InstallError as error:
            del self._preparing[assignment.invocation.activation]
            self.finished(assignment, Failure(UNAVAILABLE, str(error)), None)
            return
        del self._preparing[assignment.invocation.activation]
        assignment.lacking = not ready
        self._queue(assignment)

    def _queue(self, assignment: Assignment) -> None:
        loop = asyncio.get_running_loop()
        assignment.queued_s = loop.time()
        self._waiting.setdefault(assignment.key, deque()).append(assignment)
        if self._workers.get(assignment.key):
            loop.call_later(PATIENCE_S, self._grow, assignment)
        else:
            self._start(assignment.key)

    # --- the choice of workers ---------------------------------------------------------------

    def _free(self, assignment: Assignment) -> Worker | None:
        """A worker that may be given an assignment at once.

        Of several workers whose calls share them, it is the one with most: the others become idle, and end some time
        after. Of those that run quick calls one by one, it is an idle one, or else the one with fewest.
        """
        key = assignment.key
        workers = self._workers.get(key, ())
        if key.concurrency > 1 and not self._waiting.get(key) and not self._yields():
            shared = [each for each in workers if each.together and each.load and each.room > 0]
            if shared:
                return max(shared, key=lambda each: each.load)
        idle = self._idle.get(key)
        if idle:
            return idle.pop()
        if self._waiting or assignment.alone:
            return None
        loads = [(each.load, each) for each in workers]
        load, worker = min(loads, key=itemgetter(0), default=(0, None))
        return worker if worker is not None and load and worker.room > 0 else None

    def _yields(self) -> bool:
        """True if code has waited too long for a worker: one that always has calls would never give its place away."""
        starved = self._starved() if self._waiting else None
        return starved is not None and self._late(self._waiting[starved][0])

    def _grow(self, assignment: Assignment) -> None:
        """Starts one more worker for code if the assignment, or an older one, still waits."""
        waiting = self._waiting.get(assignment.key)
        if (
            not waiting
            or waiting[0].queued_s > assignment.queued_s
            or self._promised(assignment.key) >= len(waiting)
        ):
            return
        if self.size < self._size or assignment.key not in self._workers or self._late(waiting[0]):
            self._start(assignment.key)
        else:  # ending and restarting other workers takes longer than waiting
            asyncio.get_running_loop().call_later(FAIR_S, self._grow, assignment)

    @staticmethod
    def _late(assignment: Assignment) -> bool:
        return asyncio.get_running_loop().time() - assignment.queued_s > FAIR_S

    def _promised(self, key: Key) -> int:
        """The number of waiting assignments that the workers which are being started will take."""
        workers = self._workers.get(key, ())
        if any(each.loaded and not each.together for each in workers):  # as the others will be
            return self._starting(key)
        return sum(each.promised for each in workers)

    def _starting(self, key: Key) -> int:
        return sum(worker.uses == 0 for worker in self._workers.get(key, ()))

    def _start(self, key: Key) -> None:
        assignment, memory_mb = self._waiting[key][0], key.memory_mb
        kind, packages = assignment.code.kind, self._settings.packages
        alone = packages is None or assignment.lacking or packages.recipe(assignment.code) is None
        ahead = self._stem(kind, memory_mb) if alone else None
        if ahead is not None:
            self._take(ahead, key)
            self.freed(ahead)
        else:
            if self.size >= self._size:
                self._make_room()
            if self.size >= self._size:
                return  # `freed` and `ended` give it a place, or have given it one just now
            worker = self._made(kind)
            self._take(worker, key)
            code = None if alone else assignment.code
            self._tasks.create_task(self._started(worker, memory_mb, code))
        self._refill(kind)

    def _take(self, worker: Worker, key: Key) -> None:
        worker.key = key
        self._workers.setdefault(key, set()).add(worker)

    def _made(self, kind: str) -> Worker:
        return Worker(self._languages[kind], self._settings, self._clock, self)

    def _stem(self, kind: str, memory_mb: int) -> Worker | None:
        """A worker that was started ahead, if there is one that may use so much memory."""
        stems = self._stems.get(kind)
        fits = memory_mb == DEFAULT_MEMORY_MB or self._languages[kind].heap is None
        return stems.pop() if stems and fits else None

    def _refill(self, kind: str) -> None:
        """Starts workers ahead, as long as there is room that no waiting activation needs."""
        stems = self._stems.setdefault(kind, [])
        if len(stems) < self._ahead and self.size < self._size and not self._starved():
            self._tasks.create_task(self._start_ahead(kind))

    async def _start_ahead(self, kind: str) -> None:
        worker = self._made(kind)
        try:
            await worker.start(self._sandbox, DEFAULT_MEMORY_MB)
        except OSError:
            return  # an activation that needs a worker gets the reason
        if self.size < self._size and len(self._stems[kind]) < self._ahead:
            self._stems[kind].append(worker)
        else:
            worker.end()

    def _make_room(self) -> None:
        """Ends a worker that was started ahead, or the idle one that was used least recently."""
        for stems in self._stems.values():
            if stems:
                stems[0].end()
                return
        for workers in self._idle.values():
            if workers:
                workers[0].end()
                return

    async def _started(self, worker: Worker, memory_mb: int, code: Code | None) -> None:
        """Starts a worker, with the packages of `code` if it is given."""
        assert worker.key is not None  # noqa: S101  it was started for that
        lease, packages = None, self._settings.packages
        try:
            if code is not None and packages is not None:
                lease = await packages.lease(code)
            await worker.start(self._sandbox, memory_mb, lease)
        except (OSError, InstallError) as error:
            if lease is not None:
                lease.close()
            if isinstance(error, OSError) and error.errno in FULL:
                await self._pause(error)
                self.ended(worker)  # and another is started for waiting activations
                return
            waiting = self._waiting.get(worker.key)
            if waiting:
                why = error.strerror if isinstance(error, OSError) else str(error)
                text = f"no worker can be started: {why}"
                self.finished(waiting.popleft(), Failure(UNAVAILABLE, text), None)
            self.ended(worker)
            return
        self._full = False
        if worker in self._workers.get(worker.key, ()):
            self.freed(worker)
        else:
            worker.end()  # the pool was closed meanwhile

    async def _pause(self, error: OSError) -> None:
        """Waits until the disk has room for a worker's directory. No activation fails meanwhile."""
        if not self._full:
            log.error("no worker can be started, activations wait: %s", error)
        self._full = True
        await asyncio.sleep(AGAIN_S)  # noqa: TID251  nothing signals that there is room again

    def freed(self, worker: Worker) -> None:
        """Gives a worker its next assignments. If it has nothing to do, keeps it or gives its place to other code."""
        assert worker.key is not None  # noqa: S101  it has run, or is about to
        starved = self._starved()
        self._feed(worker, starved)
        if worker.load:
            return
        if (starved is not None and self.size >= self._size) or self.size > self._size:
            worker.end()
        else:
            idle = self._idle.pop(worker.key, [])  # put back last: the most recently used
            self._idle[worker.key] = [*idle, worker]
            self._reap_later(worker)

    def _feed(self, worker: Worker, starved: Key | None) -> None:
        assert worker.key is not None  # noqa: S101  as above
        waiting = self._waiting.get(worker.key)
        while waiting and worker.room > 0:
            if waiting[0].alone and worker.load and not worker.together:
                return
            if starved is not None and self._unfair(starved, waiting[0]):
                return
            worker.run(waiting.popleft())
        if waiting is not None and not waiting:
            del self._waiting[worker.key]

    def _feed_all(self, key: Key) -> None:
        """Gives the workers of some code what waits for it. One that starts is fed when it has started."""
        for worker in list(self._workers.get(key, ())):
            if worker.loaded and worker.load:
                self._feed(worker, self._starved())
        for worker in self._idle.pop(key, ()):
            self.freed(worker)

    def loaded(self, worker: Worker) -> None:
        """Gives a worker the assignments that were to share it; or starts more workers, if they cannot."""
        assert worker.key is not None  # noqa: S101  as above
        if worker.together:
            self._feed(worker, self._starved())
            return
        loop = asyncio.get_running_loop()
        for assignment in self._waiting.get(worker.key, ()):
            loop.call_later(PATIENCE_S, self._grow, assignment)

    def returned(self, assignments: Sequence[Assignment]) -> None:
        """Gives assignments that a worker had ahead to idle workers, or puts them before those that wait."""
        if not self._size:
            for assignment in assignments:
                self.finished(assignment, _STOPPING, None)
            return
        key, loop = assignments[0].key, asyncio.get_running_loop()
        waiting, queued_s = self._waiting.setdefault(key, deque()), loop.time() - PATIENCE_S
        for assignment in reversed(assignments):
            assignment.worker, assignment.queued_s = None, queued_s
            waiting.appendleft(assignment)
            loop.call_soon(self._grow, assignment)
        for worker in self._idle.pop(key, ()):
            self.freed(worker)
        if not self._workers.get(key) and self._waiting.get(key):
            self._start(key)

    def ended(self, worker: Worker) -> None:
        """Forgets a worker, and gives its place to code that waits."""
        if worker.key is None:
            stems = self._stems.get(worker.language.kind, [])
            if worker in stems:
                stems.remove(worker)
            return
        workers = self._workers.get(worker.key, set())
        if worker not in workers:
            return
        workers.discard(worker)
        if not workers:
            del self._workers[worker.key]
        idle = self._idle.get(worker.key, [])
        if worker in idle:
            idle.remove(worker)
            if not idle:
                del self._idle[worker.key]
        starved = self._starved()
        if starved is not None:
            self._start(starved)
            for key in [key for key in self._waiting if key.concurrency > 1 and key != starved]:
                self._feed_all(key)  # its workers may have had to wait for that

    def _starved(self) -> Key | None:
        """The code that waits for a worker without having one; of several, the one that has waited longest.

        All workers of some code may be busy for long, perhaps with activations that wait for this very assignment.
        """
        starved = [
            key
            for key, assignments in self._waiting.items()
            if assignments and (key not in self._workers or self._late(assignments[0]))
            if not self._starting(key)
        ]
        return min(starved, key=lambda key: self._waiting[key][0].queued_s, default=None)

    def _unfair(self, starved: Key, assignment: Assignment) -> bool:
        """True if other code has waited too long, and longer than this assignment."""
        oldest = self._waiting[starved][0]
        return oldest.queued_s < assignment.queued_s and self._late(oldest)

    def _reap_later(self, worker: Worker) -> None:
        """Ends an idle worker some time from now. One timer is enough: most are used again before."""
        loop = asyncio.get_running_loop()
        worker.idle_s = loop.time()
        if not worker.reaped:
            worker.reaped = True
            loop.call_later(self._idle_s, self._reap, worker)

    def _reap(self, worker: Worker) -> None:
        worker.reaped = False
        if worker.key is None or worker not in self._idle.get(worker.key, ()):
            return  # it ends the next time that it is idle for long
        loop = asyncio.get_running_loop()
        left_s = worker.idle_s + self._idle_s - loop.time()
        if left_s > EARLY_S:
            worker.reaped = True
            loop.call_later(left_s, self._reap, worker)
        else:
            worker.end()

    def again(self, assignment: Assignment) -> None:
        """Has a new worker run an assignment: the idle ones may have died, too."""
        if not self._size:
            self.finished(assignment, _STOPPING, None)
            return
        self.resent += 1
        assignment.queued_s = asyncio.get_running_loop().time()
        waiting = self._waiting.setdefault(assignment.key, deque())
        waiting.appendleft(assignment)
        if self._promised(assignment.key) < len(waiting):
            self._start(assignment.key)

    def finished(
        self, assignment: Assignment, outcome: Success | Failure, variables: dict[str, JSON] | None
    ) -> None:
        """Passes on the completion of an assignment."""
        waiting = self._waiting.get(assignment.key)
        if waiting is not None and not waiting:
            del self._waiting[assignment.key]
        if self._assignments.get(assignment.invocation.activation) is assignment:
            del self._assignments[assignment.invocation.activation]
        assignment.done(assignment.completion(outcome, variables, self._clock.now_ms()))
