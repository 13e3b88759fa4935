"""Task queues: steps that wait, durably, until a worker outside takes them.

The state of a task is the ticket of its step (see `states`), so a crash loses nothing: that a worker has a task
is durable before the worker gets it. A task whose worker is silent for longer than its times allow is handed
out again if it has attempts left, and fails otherwise. Its idempotency key is the same in all attempts.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ....actions import (
    LOST,
    NOT_FOUND,
    QUEUE,
    Action,
    Completion,
    NotFoundError,
    UnavailableError,
    check_queue,
)
from ....composer import CANCELLED, Failure, Success
from ..named_settings import NamedSettings
from ..timers import Steady, Timers
from .held import Held
from .lines import Line, Poll
from .settings import QUEUE_SETTINGS, shown_rules
from .states import State
from .tasks import Task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ....actions import Invocation
    from ....composer import JSON
    from ..completion_tokens import Tokens
    from ..shared import Parts
    from ..tick import Tick
    from .tasks import Late

log = logging.getLogger(__name__)

MANY = 1_000  # queues, before those that nobody uses are looked for
OPEN_S = (
    60.0  # for which order and limits go first; then one broken execution must not stop all workers
)
LOOK_MS = 600_000  # between looks at a task: a timer of one that has ended stays for no longer
NOT_STORED = "The server cannot store anything at the moment: try again later."


async def _here() -> bool:
    return False


class Queues:
    """The tasks of all queues. A `RemoteInvoker`.

    Args:
        parts: of the engine.
        tick: tells if the store commits.
        tokens: by which workers answer.
    """

    kinds = frozenset({QUEUE})

    def __init__(self, parts: Parts, tick: Tick, tokens: Tokens) -> None:
        self._tick, self._tokens, self._catalog = tick, tokens, parts.catalog
        self._time = Steady(parts.clock)
        self._timers: Timers[int] = Timers(self._time, self._due, parts.settings.pacing.look_s)
        self.settings = NamedSettings(QUEUE_SETTINGS, parts.store, tick)
        self._tasks: dict[str, Task] = {}  # by activation
        self._lines: dict[tuple[str, str], Line] = {}
        self.held = Held(parts.runs, self._tasks, self._take_out, self._add)
        self._looking: set[tuple[str, str]] = set()  # queues that are looked at in this turn
        self._order = self._swept = 0
        self._open = self._closed = False

    # --- its life ----------------------------------------------------------------------------

    async def begin(self, settled: asyncio.Event) -> None:
        """Hands out tasks once all that were under way have been recovered: their order must be known.

        A recovery that lasts is not waited for: tasks that it has not reached come later, and count against limits
        from then on.
        """
        try:
            async with asyncio.timeout(OPEN_S):
                await settled.wait()
        except TimeoutError:
            log.warning(
                "tasks are handed out before all executions have been recovered: for a while the order "
                "and the limits of queues do not count those of the others"
            )
        self._open = True
        for place in self._lines:
            self._look(place)

    def close(self) -> None:
        """Ends the wait of all workers, and hands out nothing more."""
        self._closed = True
        self._timers.stop()
        for line in self._lines.values():
            line.close()

    def gauges(self) -> dict[str, int]:
        """The number of tasks that wait, of those that workers have, and of waiting workers."""
        lines = self._lines.values()
        return {
            "queued_tasks": sum(len(line.backlog) for line in lines),
            "taken_tasks": sum(line.backlog.under_way for line in lines),
            "polling_workers": sum(line.polls for line in lines),
        }

    # --- the port ----------------------------------------------------------------------------

    def invoke(self, invocation: Invocation, done: Callable[[Completion], None]) -> None:
        """Queues a task. If no worker takes it at once, that it waits becomes durable, with its place."""
        queued, now_ms = invocation.action.queued, self._time.now_ms()
        assert queued is not None  # noqa: S101  the kind says so
        asked = queued.asked(invocation.params)
        soon = asyncio.get_running_loop().call_soon
        if isinstance(asked, Failure):
            soon(done, Completion(asked, now_ms, now_ms))
            return
        self._order = max(self._order + 1, now_ms * 1000)
        state = State(queued.queue, self._order, asked.priority, asked.key, asked.version, now_ms)
        task = self._tasks[invocation.activation] = Task(invocation, queued, state)
        task.done = done
        self._add(task)
        soon(self._accept, task)

    def _accept(self, task: Task) -> None:
        """Commits that a task waits, unless a worker has got it by now. It may be assigned meanwhile."""
        if self._has(task) and task.poll is None:
            self._become(task, task.state)

    def _add(self, task: Task) -> None:
        if self.held.keeps(task):
            return
        line = self._line(task.place)
        if task.id not in line.since_ms:
            line.backlog.add(task.waiting)
        line.since_ms[task.id] = task.state.since_ms
        self._look(task.place)

    def resume(
        self, invocation: Invocation, ticket: dict[str, JSON], done: Callable[[Completion], None]
    ) -> None:
        """Takes in a task whose state is durable, at first, after a change, and after a crash."""
        state, id = State.from_json(ticket), invocation.activation
        queued = invocation.action.queued
        if queued is None:
            self._orphaned(invocation, state, done)
            return
        task = self._tasks.get(id)
        if task is None:
            task = self._tasks[id] = Task(invocation, queued, state)
            self._order = max(self._order, state.order)
            if state.taken_ms is not None:  # before a crash: its worker has its whole time again
                task.beat_ms = self._time.now_ms()
                self._line(task.place).backlog.resumed(task.waiting, task.beat_ms)
        task.invocation, task.state, task.done = invocation, state, done
        if (
            state.taken_ms is None and task.poll is not None
        ):  # it was assigned while it was committed
            self._become(task, state.taken(task.poll.worker, self._time.now_ms()))
        elif state.taken_ms is None:
            self._add(task)
        elif task.poll is not None:
            asyncio.get_running_loop().call_soon(self._deliver, id, task)
        self._arm(task)

    def _orphaned(
        self, invocation: Invocation, state: State, done: Callable[[Completion], None]
    ) -> None:
        """A task whose action was deleted, or changed to another kind, before the server started."""
        self._tasks.pop(invocation.activation, None)
        now_ms, name = self._time.now_ms(), invocation.action.name
        text = f"The queue '{state.queue}' cannot do the step: its action is gone or of another kind ({name})."
        code = NOT_FOUND if state.attempt == 0 else LOST
        failed = Failure(code, {"code": code, "message": text})
        asyncio.get_running_loop().call_soon(done, Completion(failed, now_ms, now_ms))

    def cancel(self, activation: str) -> None:
        """Forgets a task: it is answered, or not waited for any more. Its worker hears so by its heartbeat."""
        task = self._tasks.pop(activation, None)
        if task is None:
            return
        self._leave(task)
        if task.poll is not None:
            task.poll.assigned.discard(activation)
            task.poll.settle()
        if task.done is not None:
            gone = Failure(CANCELLED, {"code": CANCELLED, "message": "cancelled"})
            now_ms = self._time.now_ms()
            asyncio.get_running_loop().call_soon(task.done, Completion(gone, now_ms, now_ms))

    # --- workers -----------------------------------------------------------------------------

    async def take(  # noqa: PLR0913  a worker says as much of itself
        self,
        namespace: str,
        queue: str,
        *,
        worker: str,
        version: str = "",
        count: int = 1,
        slots: int = 0,
        wait_s: float = 0.0,
        gone: Callable[[], Awaitable[bool]] = _here,
    ) -> list[dict[str, JSON]]:
        """Waits for tasks and hands them out; an empty list if none comes in time.

        Args:
            namespace: namespace of the queue.
            queue: its name.
            worker: name of the worker.
            version: version of the worker; a task for another version is not for it.
            count: tasks that it takes at most.
            slots: tasks that the worker can do at the same time; for the operator.
            wait_s: seconds to wait for the first task.
            gone: true if the worker has disconnected: then the tasks are for others.

        Raises:
            InvalidError: the name of the queue is malformed.
            UnavailableError: the store does not commit, or the server stops.
        """
        check_queue("queue", queue)
        if self._closed or not self._tick.healthy:  # that a worker has a task must be durable
            raise UnavailableError(NOT_STORED)
        place = namespace, queue
        line = self._line(place)
        line.see(worker, version, slots, self._time.now_ms())
        poll = Poll(worker, version, count, asyncio.get_running_loop().create_future())
        line.waits(poll)
        self._look(place)
        try:
            await self._answered(line, poll, wait_s)
        except BaseException:
            poll.answered.cancel()
            line.leaves(poll)
            self._give_back(poll)
            raise
        if poll.ready and await gone():
            self._give_back(poll)
        return [self._shown(task) for task, attempt in poll.ready if self._at(task, attempt)]

    async def _answered(self, line: Line, poll: Poll, wait_s: float) -> None:
        """Waits for tasks. Those that are being committed are waited for, however long that takes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s or None):
                if wait_s:
                    await asyncio.shield(poll.answered)
                else:
                    await asyncio.sleep(0)  # noqa: TID251  what waits is assigned in this turn
        line.leaves(poll)
        if poll.assigned:
            await poll.answered

    def leave(self, namespace: str, queue: str, worker: str) -> None:
        """Ends the wait of a worker that stops. Its request gets what is assigned to it, and nothing more."""
        line = self._lines.get((namespace, queue))
        if line is not None:
            line.forget(worker)

    def heard(self, activation: str, attempt: str) -> bool:
        """Notes that the worker of an attempt is at work. Returns False if the attempt is over."""
        task = self._tasks.get(activation)
        if task is None or task.state.taken_ms is None or str(task.state.attempt) != attempt:
            return False
        task.beat_ms = self._time.now_ms()
        self._line(task.place).heard(task.state.worker, task.beat_ms)
        return True

    # --- the operator ------------------------------------------------------------------------

    def listed(self, namespace: str) -> list[dict[str, JSON]]:
        """The queues of a namespace: those that actions name, that have settings, or that are in use."""
        used = {name for of, name in self._lines if of == namespace}
        named = self._named(namespace).keys() | used | self.settings.named(namespace)
        return [self.shown(namespace, name) for name in sorted(named)]

    def shown(self, namespace: str, name: str) -> dict[str, JSON]:
        """A queue: its backlog, its workers, its actions and its settings.

        Raises:
            NotFoundError: no action names it, it has no settings, and nothing uses it.
        """
        line, rules = self._lines.get((namespace, name)), self.settings.get(namespace, name)
        actions = self._named(namespace).get(name, [])
        if line is None and rules is None and not actions:
            raise NotFoundError
        shown = (line or Line(None)).shown(self._time.now_ms())
        return {
            "name": name,
            **shown,
            "actions": [*actions],
            "settings": {} if rules is None else shown_rules(rules),
        }

    async def configure(self, namespace: str, name: str, doc: JSON) -> None:
        """Sets the limits of a queue and the weights of its keys; None removes them.

        Raises:
            InvalidError: a member is malformed. The message names it.
            NotFoundError: there is nothing to remove.
        """
        if doc is not None:
            await self.settings.put(namespace, name, doc)
        elif not await self.settings.remove(namespace, name):
            raise NotFoundError
        line = self._lines.get((namespace, name))
        if line is not None:
            line.change(self.settings.get(namespace, name), self._time.now_ms())
            self._look((namespace, name))

    def _named(self, namespace: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for action in self._catalog.all(Action, namespace):
            if action.queued is not None:
                found.setdefault(action.queued.queue, []).append(action.name.path)
        return found

    # --- inside ------------------------------------------------------------------------------

    def _line(self, place: tuple[str, str]) -> Line:
        line = self._lines.get(place)
        if line is None:
            self._sweep()
            line = self._lines[place] = Line(self.settings.get(*place))
        return line

    def _sweep(self) -> None:
        """Forgets queues that nobody uses, when there are many."""
        if len(self._lines) >= max(MANY, 2 * self._swept):
            now_ms = self._time.now_ms()
            self._lines = {at: line for at, line in self._lines.items() if not line.idle(now_ms)}
            self._swept = len(self._lines)

    def _look(self, place: tuple[str, str]) -> None:
        """Has tasks handed out at the end of this turn of the event loop."""
        if self._open and not self._closed and place not in self._looking:
            self._looking.add(place)
            asyncio.get_running_loop().call_soon(self._hand_out, place)

    def _hand_out(self, place: tuple[str, str]) -> None:
        self._looking.discard(place)
        line = self._lines.get(place)
        if line is None or self._closed:
            return
        for poll, found in line.matched(self._time.now_ms):
            now_ms = self._time.now_ms()
            for waiting in found:
                task = self._tasks[waiting.id]
                line.since_ms.pop(waiting.id, None)
                poll.assigned.add(waiting.id)
                task.poll = poll
                task.beat_ms = now_ms
                if task.done is not None:  # else that it waits is being committed
                    self._become(task, task.state.taken(poll.worker, now_ms))
        line.wake(self._time.now_ms(), partial(self._look, place))

    def _deliver(self, id: str, task: Task) -> None:
        """Its worker gets a task that is durable as its own, unless the worker has gone."""
        poll, task.poll = task.poll, None
        if poll is None or self._tasks.get(id) is not task:
            return
        poll.assigned.discard(id)
        if poll.gone:
            self._put_back(task)
        else:
            poll.ready.append((task, task.state.attempt))
        poll.settle()

    def _give_back(self, poll: Poll) -> None:
        """The worker has gone before it got its tasks: nobody has had them."""
        for task, attempt in poll.ready:
            if self._at(task, attempt):
                self._put_back(task)
        poll.ready.clear()

    def _has(self, task: Task) -> bool:
        return self._tasks.get(task.id) is task

    def _at(self, task: Task, attempt: int) -> bool:
        """True if an attempt is under way still: one that was late is another worker's, or nobody's."""
        state, durable = task.state, task.done is not None
        return (
            self._has(task) and durable and state.taken_ms is not None and state.attempt == attempt
        )

    def _put_back(self, task: Task) -> None:
        self._line(task.place).backlog.ended(task.id)
        self._become(task, task.state.kept())

    def _become(self, task: Task, state: State) -> None:
        """Commits another state of a task; then `resume` takes it in."""
        done, task.done = task.done, None
        assert done is not None  # noqa: S101  the callers know
        now_ms = self._time.now_ms()
        task.state = state
        done(Completion(Success(None), now_ms, now_ms, ticket=state.to_json()))

    def _leave(self, task: Task) -> None:
        self.held.forget(task)
        self._take_out(task)

    def _take_out(self, task: Task) -> None:
        line = self._line(task.place)
        line.backlog.remove(task.id)
        line.since_ms.pop(task.id, None)
        self._look(task.place)

    def _shown(self, task: Task) -> dict[str, JSON]:
        """The task as its worker gets it: the token is for this attempt only."""
        place = self._tokens.read(task.invocation.token)
        attempt = replace(place, activation=f"{task.id}.{task.state.attempt}")
        return task.shown(self._tokens.make(attempt))

    # --- times -------------------------------------------------------------------------------

    def _arm(self, task: Task) -> None:
        late = task.late
        if late is not None and not self._closed:
            look_ms = min(late.at_ms, self._time.now_ms() + LOOK_MS)
            self._timers.arm(look_ms, task.id, task.state.order)

    def _due(self, id: str, _: int) -> None:
        """A task may be late. One that is being committed is looked at again when it is durable."""
        task = self._tasks.get(id)
        late = None if task is None else task.late
        if task is None or task.done is None or late is None:
            return
        now_ms = self._time.now_ms()
        if late.at_ms > now_ms or task.poll is not None:
            self._arm(task)
        elif task.has_attempts:
            log.warning(
                "a task of the queue '%s' is handed out again: %s", task.place[1], late.which
            )
            self._line(task.place).backlog.ended(id)
            self._become(task, task.state.again(now_ms))
            self._look(task.place)
        else:
            self._fail(task, late, now_ms)

    def _fail(self, task: Task, late: Late, now_ms: int) -> None:
        del self._tasks[task.id]
        self._leave(task)
        failed, may_have_run = task.expired(late)
        assert task.done is not None  # noqa: S101  the caller knows
        taken_ms = task.state.taken_ms
        started_ms = task.state.since_ms if taken_ms is None else taken_ms
        task.done(Completion(failed, started_ms, now_ms, may_have_run=may_have_run))
