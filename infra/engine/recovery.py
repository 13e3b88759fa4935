"""Executions come back into memory: after a crash, when a timer fires, when somebody asks for one."""

from __future__ import annotations

import asyncio
import gc
import heapq
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import orjson

from ...actions import (
    LOST,
    Action,
    Completion,
    ConflictError,
    ExecutionRow,
    NotFoundError,
    Opened,
    Query,
    UnavailableError,
)
from ...composer import Failure
from .fairness import FairQueue, Share
from .live import STUCK, ActiveInvocation, LiveExecution
from .loading import Loading
from .outcomes import lost_text
from .survivors import Survivors
from .targets import opened, target
from .timers import Elapsed
from .visits import AGAIN_AT_MOST_S, Visits

if TYPE_CHECKING:
    from ...actions import Saved
    from ...composer import Invoke
    from .core import Core
    from .dispatch import Dispatch
    from .due import Due
    from .inbox.inbox import Inbox
    from .restoring import Restoring
    from .timers import Timer

log = logging.getLogger(__name__)

MOST = 1_000_000
CROWDED_S = 0.01  # between parts, when much waits to be carried out
PART = 32  # executions that are read at once
TURN_US = 1_000.0  # of recovering, before the others of the event loop have their turn
TIMERS = 500  # that are armed in one turn
LINEAGES = 5_000  # that are forgotten in one turn
STOPPED = "The server stops: ask again when it has started."

Late: TypeAlias = "tuple[str, Timer | None]"  # an execution, and its timer that was due


class Recovery:
    """Brings executions back into memory.

    After a start those that were under way are recovered in the order of their starts, beside all else that the
    server does, each namespace's in turn, and in turn with timers that were due. They are read in parts. An
    execution is recovered after the one that waits for it: a child that ends at once must find its parent
    waiting. An execution that is needed before its turn is recovered at once.
    """

    def __init__(
        self, core: Core, inbox: Inbox, dispatch: Dispatch, due: Due, restoring: Restoring
    ) -> None:
        self._parts, self._tick, self._bounds = core.parts, core.tick, core.bounds
        self._timers, self._tasks, self._close = core.timers, core.tasks, core.close
        self._lingering = core.lingering
        self._inbox, self._dispatch, self._due = inbox, dispatch, due
        self._limits, self._step_limits = core.limits, core.step_limits
        self._loading: dict[str, asyncio.Future[bool]] = {}
        self._rows = Loading(core.parts.store)
        self._restoring, self._lineages = restoring, restoring.lineages
        self._survivors = Survivors(core.parts, core.bounds, restoring.lineages)
        self._left = self._survivors.left
        self._overdue: FairQueue[Late] = FairQueue()  # timers that were due before the start
        self._ahead: dict[str, Saved] = {}  # executions that were read in bulk and come next
        self._reading: set[str] = set()  # those that are being read
        self._turn = Share(core.parts.clock, TURN_US, PART)
        self._stopping, self._chains = asyncio.Event(), core.chains
        self._visits = Visits(core, self.found, self._stopping)
        self.visit, self.reach = self._visits.visit, self._visits.reach
        self.paused = False
        self.settled = asyncio.Event()  # all that was under way has been recovered

    # --- after a crash -----------------------------------------------------------------------

    async def look(self) -> None:
        """Finds the executions that were under way; none of them goes on before `begin`.

        Many are counted while the server serves.
        """
        stuck = Query(namespace=None, status=STUCK, limit=MOST)
        for row in await self._parts.store.find(ExecutionRow, stuck):
            self._parts.stuck[row.id] = orjson.loads(row.body)["stuck"]
        await self._survivors.begin()
        if not self._survivors.complete:
            self._tasks.create_task(self._survivors.go_on())
        self.paused = True

    async def counted(self) -> None:
        """Waits until all executions that were under way have been counted.

        Raises:
            UnavailableError: when the server stops before.
        """
        if not self._survivors.complete and not await self._survivors.counted():
            raise UnavailableError(STOPPED)

    def begin(self) -> None:
        """Has everything that was under way go on."""
        if not self.paused:
            return
        self.paused = False
        self._dispatch.release()
        for run in self._parts.runs.values():  # they were only looked at
            self._bounds.left(run)
        self._parts.runs.clear()
        self._lingering.clear()
        self._tasks.create_task(self._recover())

    @property
    def left(self) -> int:
        """The number of executions and overdue timers that are still to be recovered, of those counted."""
        return len(self._left) + len(self._overdue)

    def stop(self) -> None:
        """Recovers nothing more."""
        self._stopping.set()
        self._survivors.stop()
        self._overdue.clear()
        self._survivors.late.clear()
        self._visits.clear()

    @property
    def stopping(self) -> bool:
        """True if the server stops."""
        return self._stopping.is_set()

    def _home(self, execution: str) -> str:
        live = self._lineages.get(execution)
        return "" if live is None else live.namespace

    async def _recover(self) -> None:
        """Recovers executions and overdue timers, while all else goes on."""
        if not await self._survivors.counted():
            return
        self._close_orphans()
        began_us, count = self._parts.clock.elapsed_us(), len(self._left)
        await self._sort_timers()
        if self.left:
            log.info("recovery begins: %d executions, %d timers", count, len(self._overdue))
        pause_s = self._parts.settings.pacing.recovery_retry_s
        while self.left:
            failed = await self._recover_all_late()
            if self._stopping.is_set():
                return
            if self._left or failed:
                log.error(
                    "%d executions cannot be loaded; trying again", len(self._left) + len(failed)
                )
                if await self._stops_within(pause_s):
                    return
                pause_s = min(2 * pause_s, AGAIN_AT_MOST_S)
                for execution in self._left:
                    self._survivors.late.add(self._home(execution), execution)
                for late in failed:
                    self._overdue.add(self._home(late[0]), late)
        seconds = (self._parts.clock.elapsed_us() - began_us) / 1e6
        await self._forget_lineages()
        if count:
            log.info("recovered %d executions in %.1f s", count, seconds)
        self.settled.set()

    def _close_orphans(self) -> None:
        """Closes the children whose parents ended just before a crash."""
        chains = {one.chain for one in self._lineages.values() if one.chain}
        for parent in self._survivors.parents - self._lineages.keys() - chains:
            self._close(self._parts.offspring.pop(parent, {}))

    async def _forget_lineages(self) -> None:
        """Forgets them in parts: to free 100,000 at once takes 20 ms."""
        while self._lineages:
            for _ in range(min(LINEAGES, len(self._lineages))):
                self._lineages.popitem()
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time

    async def _sort_timers(self) -> None:
        """Arms the timers of before the start. Those that were due are late, and fire in order of their instants."""
        now_ms, timers = self._parts.clock.now_ms(), self._survivors.timers
        due: list[tuple[int, str, str]] = []
        ahead_ms = now_ms - Elapsed(self._parts.clock).now_ms()
        while timers and not self._stopping.is_set():
            some, timers[-TIMERS:] = timers[-TIMERS:], []
            for timer in some:
                if timer[0] <= now_ms:
                    heapq.heappush(due, timer)
            self._timers.arm_all(
                [
                    (due_ms - ahead_ms, execution, (fiber, due_ms, ahead_ms))
                    for due_ms, execution, fiber in some
                    if due_ms > now_ms
                ]
            )
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time
        while due and not self._stopping.is_set():
            for _ in range(min(TIMERS, len(due))):
                due_ms, execution, fiber = heapq.heappop(due)
                self._overdue.add(self._home(execution), (execution, (fiber, due_ms, ahead_ms)))
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time

    async def _stops_within(self, seconds: float) -> bool:
        """Waits, because the store may work by then. Returns True if the server stops meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()

    async def _recover_all_late(self) -> list[Late]:
        """Recovers all that is left. Returns the timers of executions that cannot be loaded just now."""
        failed: list[Late] = []
        keeps = gc.get_freeze_count() > 0  # see `service.app`: what is loaded is never collected
        while part := self._next():
            await self._read_ahead([execution for execution, _ in part])
            await asyncio.sleep(0)  # noqa: TID251  it has taken some time
            self._turn.begin()
            for late in part:
                try:
                    await self._recover_late(*late)
                except Exception:
                    log.exception("execution %s cannot be loaded", late[0])
                    if late[1] is not None:
                        failed.append(late)
                if not self._turn.take():
                    await asyncio.sleep(0)  # noqa: TID251  it has taken some time
                    self._turn.begin()
                if self._stopping.is_set():
                    return failed
            self._ahead.clear()
            if keeps:
                gc.freeze()  # else Python looks through all of them again and again
            if self._tick.crowded:
                await asyncio.sleep(CROWDED_S)  # noqa: TID251  effects that wait are carried out first
        return failed

    def _next(self) -> list[Late]:
        """What is recovered next: executions in turn with timers."""
        part: list[Late] = []
        late = self._survivors.late
        while len(part) < PART and (late or self._overdue):
            if self._overdue:
                part.append(self._overdue.take())
            if late:
                part.append((late.take(), None))
        return part

    async def _read_ahead(self, part: list[str]) -> None:
        """Reads executions in bulk. What is read is used once, by whoever needs the execution first."""
        parts, loading = self._parts, self._loading
        known = (parts.runs, parts.ended, loading)
        asked = [id for id in part if not any(id in those for those in known)]
        if not asked:
            return
        self._reading = set(asked)
        try:
            standing = await parts.store.standing(of=asked)
        except Exception as error:  # noqa: BLE001  each is loaded by itself, and tells what is wrong
            log.warning("executions cannot be read together: %s", error)
            return
        self._ahead = {
            saved.execution.id: saved
            for saved in standing.saved
            if saved.execution.id in self._reading  # else it was brought meanwhile
        }

    async def _recover_late(self, execution: str, timer: Timer | None) -> None:
        run = await self.found(execution)
        if run is not None and timer is not None:
            self.visit(execution, lambda run: self._due.passed(run, timer))

    async def _unadopted(self, run: LiveExecution) -> list[tuple[str, Invoke]]:
        """Steps under way, but for those that are executions of their own, also under way."""
        return [
            (fiber, command)
            for fiber, command in run.execution.pending(self._parts.clock.now_ms())
            if not await self._adopted(run, fiber, command)
        ]

    def _go_on(self, run: LiveExecution, commands: list[tuple[str, Invoke]]) -> None:
        """Sends the steps that were under way again, and lets the execution go on; both in turn with others."""
        self._parts.counters.recovered += 1
        self._step_limits.arrived(run)
        for fiber, command in commands:
            self._tick.put_off(run, fiber, command.turn, partial(self._send, run, fiber, command))
        for fiber, turn, ticket in run.execution.polled:
            self._inbox.poll_again(run, fiber, turn, ticket)
        if (
            run.execution.ready or run.slots
        ):  # if it only waits for a slot it may leave memory again
            self._tick.later(run.origin.namespace, partial(self._inbox.proceed, run))

    async def _adopted(self, run: LiveExecution, fiber: str, command: Invoke) -> bool:
        """True if the step is an execution of its own that is still under way."""
        child = run.adopted.get(f"{fiber}:{command.turn}", command.activation)
        if child not in self._lineages or command.child is not None:
            return False
        saved = await self._parts.store.load(child)
        if saved is None or saved.execution.ended_ms is not None:
            return False
        opened = Opened(
            id=child,
            action=await self._restoring.action(saved.execution),
            namespace=saved.execution.namespace,
            asked_ms=saved.execution.started_ms,
            cause=run.id,
        )
        kind = opened.action.kind
        run.invocations[fiber, command.turn] = ActiveInvocation(
            opened, kind, child, later=command.later
        )
        return True

    def _send(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """Sends a step again, unless it may have run and must not run twice: then it is lost."""
        if not command.runs_action:
            self._inbox.resend(run, fiber, command)
            return
        action = target(self._parts, run, command)
        sent = f"{fiber}:{command.turn}" not in run.held and command.child is None
        if isinstance(action, Action) and action.lost_on_crash and sent:
            now_ms = self._parts.clock.now_ms()
            lost = Completion(Failure(LOST, lost_text(action)), now_ms, now_ms)
            log.warning(
                "execution %s: %s may have run before the crash; it is lost", run.id, action.name
            )
            step = opened(run, action, command, now_ms)
            self._inbox.answered(run, fiber, command.turn, step, lost)
        else:
            self._inbox.resend(run, fiber, command)

    def again(self, execution: str) -> None:
        """Brings an execution back whose end was not stored, and sends its steps again."""
        self._parts.ended.discard(execution)
        self._left.add(execution)
        self.visit(execution, lambda _: None)

    # --- one at a time -----------------------------------------------------------------------

    async def standing(self, namespace: str, id: str) -> LiveExecution:
        """An execution under way, or the newest run of its chain. The caller must use it before it awaits anything.

        Raises:
            NotFoundError: the namespace has no such execution.
            ConflictError: it has ended.
            UnavailableError: the store cannot be read.
        """
        id, run = await self.newest(id)
        if run is None:
            saved = await self._parts.store.load(id)
            if saved is None or saved.execution.namespace != namespace:
                raise NotFoundError
            raise ConflictError(f"Execution {id} has ended: it has {saved.execution.status}.")
        if run.origin.namespace != namespace:
            raise NotFoundError
        return run

    async def newest(self, id: str) -> tuple[str, LiveExecution | None]:
        """The newest run of an execution's chain: its id, and the run as `found` tells it."""
        while (run := await self.found(id)) is None:
            newest = await self._chains.newest(id)
            if newest == id:
                break
            id = newest
        return id, run

    async def found(self, execution: str) -> LiveExecution | None:
        """An execution under way, in memory; None when it has ended.

        The caller must use it before it awaits anything: the execution may leave memory again.

        Raises:
            UnavailableError: when the store cannot be read just now.
        """
        runs = self._parts.runs
        if not self._survivors.knows(execution):
            await self.counted()
        while execution not in runs:
            if execution in self._parts.ended:
                return None  # the store does not know it yet
            loading = self._loading.get(execution)
            if loading is None:
                loading = self._loading[execution] = asyncio.get_running_loop().create_future()
                await self._bring_for(execution, loading)
            if not await loading:
                return None
        return runs[execution]

    async def _bring_for(self, execution: str, loading: asyncio.Future[bool]) -> None:
        """Loads an execution for all who wait for it: they hear whether it is in memory now."""
        try:
            loading.set_result(await self._bring(execution))
        except asyncio.CancelledError:
            loading.set_exception(UnavailableError("The execution was not loaded: ask again."))
            loading.exception()  # maybe nobody else waits for it
            raise
        except Exception as error:  # noqa: BLE001  all who wait for it hear of it
            loading.set_exception(error)
        finally:
            del self._loading[execution]

    async def _bring(self, execution: str) -> bool:
        """Brings an execution into memory, and recovers it if that is still to be done."""
        self._reading.discard(execution)
        saved = self._ahead.pop(execution, None) or await self._rows.load(execution)
        if saved is None or saved.execution.ended_ms is not None:
            if saved is None and execution in self._left:
                log.error("execution %s has fibers but no row; it is left alone", execution)
            self._left.discard(execution)
            return False
        parent = _parent(saved.execution)
        if parent is not None and parent in self._left and not self.paused:
            await self.found(parent)
        run = await self._restoring.restored(saved)
        if execution not in self._left:
            self._arrived(run)
            return True
        commands = await self._unadopted(run)
        if parent in self._left and not self.paused:  # the server has resumed meanwhile
            return await self._bring(execution)
        if self.paused:
            for fiber, command in commands:
                self._seem_sent(run, fiber, command)
            self._arrived(run)
            return True
        orphan = await self._orphaned(parent)
        self._left.discard(execution)
        self._arrived(run)
        self._go_on(run, commands)
        if orphan:
            self._inbox.cancel(run)
        return True

    def _arrived(self, run: LiveExecution) -> None:
        self._parts.runs[run.id] = run
        self._bounds.returned(run)
        self._limits.arrived(run)

    def _seem_sent(self, run: LiveExecution, fiber: str, command: Invoke) -> None:
        """A step that was under way is so again, without being sent: if its execution ends, its record tells."""
        action = target(self._parts, run, command) if command.runs_action else None
        if isinstance(action, Action):
            step = opened(run, action, command, self._parts.clock.now_ms())
            kind = action.invoker_kind(command.function)
            run.invocations[fiber, command.turn] = ActiveInvocation(step, kind, later=command.later)

    async def _orphaned(self, parent: str | None) -> bool:
        """True if a crash kept the end of its parent from ending an execution, too."""
        if parent is None or parent in self._lineages or parent in self._parts.runs:
            return False
        saved = await self._parts.store.load(parent)
        return saved is not None and saved.execution.ended_ms is not None


def _parent(row: ExecutionRow) -> str | None:
    found: list[str] | None = orjson.loads(row.body).get("parent")
    return found[0] if found else None
