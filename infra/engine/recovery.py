"""Executions come back into memory: after a crash, when a timer fires, when somebody asks for one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

import orjson

from actions import (
    LOST,
    SEQUENCE,
    Action,
    Code,
    Completion,
    Composed,
    ExecutionRow,
    Opened,
    Query,
    RefusedError,
    UnavailableError,
)
from actions import Limits as ActionLimits
from composer import CONDUCTING, Execution, Failure, Name, Program

from . import slots
from .programs import PROGRAM
from .runs import HELD, STUCK, Account, Flight, Origin, Parent, Run
from .targets import opened, solo, target

if TYPE_CHECKING:
    from collections.abc import Callable

    from composer import JSON, Invoke

    from .inbox import Inbox
    from .parts import Parts
    from .timers import Timers

log = logging.getLogger(__name__)

MISSING = "missing"  # the kind of an action that has been deleted meanwhile
MOST = 1_000_000
AGAIN_S = 0.5  # between attempts to load an execution for its timer
LAST = 1 << 62  # after every entry of any history

Visit: TypeAlias = "Callable[[Run], None]"


class Recovery:
    """Brings executions back into memory."""

    def __init__(
        self, parts: Parts, inbox: Inbox, timers: Timers, tasks: asyncio.TaskGroup
    ) -> None:
        self._parts, self._inbox, self._timers, self._tasks = parts, inbox, timers, tasks
        self._loading: dict[str, asyncio.Future[bool]] = {}
        self._stopped = False
        self._programs: dict[str, Program] = {}

    # --- after a crash -----------------------------------------------------------------------

    async def recover(self) -> None:
        """Takes up everything that was under way."""
        stuck = Query(namespace=None, status=STUCK, limit=MOST)
        for row in await self._parts.store.find(ExecutionRow, stuck):
            self._parts.stuck[row.id] = orjson.loads(row.body)["stuck"]
        standing = await self._parts.store.standing()
        found = []
        for execution in standing.active:
            run = await self._load(execution)
            if run is None:
                log.error("execution %s has fibers but no row; it is left alone", execution)
            else:
                self._parts.runs[execution] = run
                found.append(run)
        # All are adopted before anything is sent: a child that ends at once must find its parent waiting.
        sends = [(run, await self._unadopted(run)) for run in found]
        for run, commands in sends:
            self._take_up(run, commands)
        self._timers.arm_all(standing.timers)
        if found:
            log.info("recovered %d executions", len(found))

    async def _unadopted(self, run: Run) -> list[tuple[str, Invoke]]:
        """Steps under way that are no executions of their own that still are, too."""
        return [
            (fiber, command)
            for fiber, command in run.execution.pending(self._parts.clock.now_ms())
            if not await self._adopted(run, fiber, command)
        ]

    def _take_up(self, run: Run, commands: list[tuple[str, Invoke]]) -> None:
        """Sends again what was under way, and lets what can run go on."""
        self._parts.counters.recovered += 1
        for fiber, command in commands:
            self._send(run, fiber, command)
        for fiber, turn, ticket in run.execution.polled:
            self._inbox.poll_again(run, fiber, turn, ticket)
        if run.execution.ready:
            self._inbox.proceed(run)

    async def _adopted(self, run: Run, fiber: str, command: Invoke) -> bool:
        """Whether the step is an execution of its own that is still under way."""
        child = run.adopted.get(f"{fiber}:{command.turn}", command.activation)
        saved = await self._parts.store.load(child)
        if saved is None or saved.execution.ended_ms is not None:
            return False
        opened = Opened(
            id=child,
            action=await self._action(saved.execution),
            namespace=saved.execution.namespace,
            asked_ms=saved.execution.started_ms,
            cause=run.id,
        )
        kind = opened.action.kind
        run.flights[fiber, command.turn] = Flight(opened, kind, child, later=command.later)
        return True

    def _send(self, run: Run, fiber: str, command: Invoke) -> None:
        action = target(self._parts, run, command)
        if isinstance(action, Action) and action.at_most_once:
            now_ms = self._parts.clock.now_ms()
            text = "The server stopped while the action ran, and it may run only once."
            lost = Completion(Failure(LOST, text), now_ms, now_ms)
            step = opened(run, action, command, now_ms)
            self._inbox.answered(run, fiber, command.turn, step, lost)
        else:
            self._inbox.fly(run, fiber, command)

    # --- one at a time -----------------------------------------------------------------------

    def visit(self, execution: str, visit: Visit) -> None:
        """Calls `visit` with an execution, now or when it is in memory; never if it has ended."""
        run = self._parts.runs.get(execution)
        if run is not None:
            visit(run)
        else:
            self._tasks.create_task(self._visited(execution, visit))

    def stop(self) -> None:
        """Visits no execution any more that is not in memory."""
        self._stopped = True

    async def _visited(self, execution: str, visit: Visit) -> None:
        while True:
            try:
                run = await self.found(execution)
            except UnavailableError as error:
                log.warning("execution %s cannot be loaded; trying again: %s", execution, error)
                await asyncio.sleep(AGAIN_S)  # noqa: TID251  the store may work again soon
                if self._stopped:
                    return
            except Exception:
                log.exception("execution %s cannot be loaded; it is left alone", execution)
                return
            else:
                break
        if run is not None:
            visit(run)
        else:
            self._parts.counters.stale += 1

    async def found(self, execution: str) -> Run | None:
        """An execution under way, in memory; None when it has ended.

        Whoever is given it must use it before awaiting anything: it may leave memory again.

        Raises:
            UnavailableError: when the store cannot be read just now.
        """
        runs = self._parts.runs
        while execution not in runs:
            loading = self._loading.get(execution)
            if loading is None:
                loading = self._loading[execution] = asyncio.get_running_loop().create_future()
                await self._load_for(execution, loading)
            if not await loading:
                return None
        return runs[execution]

    async def _load_for(self, execution: str, loading: asyncio.Future[bool]) -> None:
        """Loads an execution for all who wait for it: they hear whether it is in memory now."""
        try:
            run = await self._load(execution)
        except asyncio.CancelledError:
            loading.set_exception(UnavailableError("The execution was not loaded: ask again."))
            raise
        except Exception as error:  # noqa: BLE001  all who wait for it hear of it
            loading.set_exception(error)
        else:
            if run is not None:
                self._parts.runs[execution] = run
            loading.set_result(run is not None)
        finally:
            del self._loading[execution]

    async def _load(self, execution: str) -> Run | None:
        store = self._parts.store
        saved = await store.load(execution)
        if saved is None or saved.execution.ended_ms is not None:
            return None
        body = orjson.loads(saved.execution.body)
        limits = self._parts.settings.limits
        fibers, seen = await slots.fibers(store, execution, saved.fibers)
        since = [] if seen is None else await slots.history(store, execution, seen)
        restored = Execution.restore(
            execution, await self.program(body), fibers, limits, body["generation"], since
        )
        run = await self.run(saved.execution, restored)
        run.paused = saved.execution.status in HELD
        return run

    async def run(self, row: ExecutionRow, execution: Execution) -> Run:
        """An execution in memory, from its row."""
        body = orjson.loads(row.body)
        parent = body.get("parent")
        action = await self._action(row)
        origin = Origin(
            action=action,
            owner=body.get("owner", action.listed_as.namespace),
            namespace=row.namespace,
            started_ms=row.started_ms,
            parent=Parent(*parent) if parent else None,
            depth=body["depth"],
            solo=body["solo"],
            account=_account(execution),
            trace=body.get("trace", row.id),
            about=body.get("machine"),
        )
        last = await self._parts.store.history(row.id, LAST, 1)
        entries = last[0][0] + len(orjson.loads(last[0][1])) - 1 if last else 0
        run = Run(execution, origin, self._parts.clock.now_ms(), entries)
        run.adopted = body.get("adopted", {})
        run.doubtful = body.get("doubtful", False)
        run.redriven_ms = body.get("redriven", 0)
        return run

    async def _action(self, row: ExecutionRow) -> Action:
        """The action as it was, as far as its execution needs it."""
        body = orjson.loads(row.body)
        name = Name.parse(body["action"])
        if body["solo"] or body["program"] == CONDUCTING.hash:
            try:
                return self._parts.catalog.resolve(name, row.namespace)
            except RefusedError:
                return Action(name, Code(MISSING), annotations={"conductor": not body["solo"]})
        program = await self.program(body)
        return Action(
            name,
            Composed(body["kind"], program.actions if body["kind"] == SEQUENCE else None, program),
            limits=ActionLimits.from_json(body["limits"]),
            version=body["version"],
        )

    async def program(self, body: dict[str, JSON]) -> Program:
        """The program that an execution is pinned to, from its row's body."""
        if body["solo"]:
            return solo(body["action"])
        hash = body["program"]
        if hash == CONDUCTING.hash:
            return CONDUCTING
        if hash not in self._programs:
            async for document in self._parts.store.documents(PROGRAM, hash):
                self._programs[hash] = Program.from_json(orjson.loads(document.body or b""))
        return self._programs[hash]


def _account(execution: Execution) -> Account | None:
    """What it has used, by the steps it has done: it consults, invokes, and goes back."""
    if execution.program is not CONDUCTING:
        return None
    steps = max((fiber.steps for fiber in execution.fibers.values()), default=0)
    return Account(steps // 3, steps // 3)
