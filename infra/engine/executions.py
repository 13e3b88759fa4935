"""Executions that clients know by name: begun, stopped and described; and the answers to their tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import orjson

from ...actions import ExecutionRow, NotFoundError, check_payload
from ...composer import CANCELLED, Failure, Name, Success, classes_told, frozen
from . import stored_values
from .live import RUNNING
from .names import NAMED, Sweep, name_key, named_document
from .programs import DEFINITION

if TYPE_CHECKING:
    import asyncio

    from ...actions import Query
    from ...composer import JSON, Outcome
    from .completions import Answering
    from .identities import Identities
    from .inbox.inbox import Inbox
    from .inbox.pending import Beginning
    from .live import LiveExecution
    from .recovery import Recovery
    from .stored_values import Stored
    from .waiters import Ended

LATELY = 10_000  # names that need not be looked up
LAST = 1 << 62  # after every entry of any history
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Begun(NamedTuple):
    """An execution that has begun: now (`fresh`), or before, with the input that it was given then."""

    execution: NamedExecution
    fresh: bool


@frozen
class NamedExecution:
    """An execution as it stands, as clients see it that know it by name.

    Args:
        id: its id.
        address: the name by which clients know it everywhere.
        path: the path of its action.
        status: `running`, `succeeded`, `failed`, ...
        started_ms: when it began.
        ended_ms: when it ended; None if it is under way.
        redrives: how often it was redriven.
        redriven_ms: when it was redriven for the last time, 0 if it never was.
        action: the full name that was called.
        owner: the namespace of that action.
        about: what its wing keeps of it; see `hooks`.
        found_by_name: True if it can be found by its name and the path of its action.
    """

    id: str
    address: str
    path: str
    status: str
    started_ms: int
    ended_ms: int | None
    redrives: int
    redriven_ms: int
    action: str
    owner: str
    about: dict[str, JSON]
    found_by_name: bool

    @property
    def name(self) -> str:
        """The name that it was given, or its id as a UUID."""
        return str(self.about["name"])


class Executions:
    """Begins, stops and describes executions for clients that know them by name."""

    def __init__(
        self, identities: Identities, inbox: Inbox, recovery: Recovery, answering: Answering
    ) -> None:
        core = identities.core
        self._parts, self._store, self._tick = core.parts, core.parts.store, core.tick
        self._inbox, self._recovery, self._waiters = inbox, recovery, core.waiters
        self._identities = identities
        self._lately: dict[str, str] = {}  # ids of executions that were given a name, by that
        self._sweep = Sweep(core.parts, core.tick, NAMED)
        self.answer, self.heartbeat = answering.answer, answering.heartbeat
        self.rebound = answering.rebound

    # --- they begin and end ------------------------------------------------------------------

    async def begin(self, beginning: Beginning) -> Begun:
        """Begins an execution, unless there is one of its name; it is durable when this returns.

        Raises:
            RefusedError: when it may not run now.
        """
        if beginning.name is None:
            run, begun = self._launched(beginning, None)
            await begun
            return Begun(self._told(run.row(RUNNING, None)), fresh=True)
        key = beginning.key
        # Of two calls for one name at the same time, the second finds the first's.
        async with self._identities.turns.of(key):
            while True:
                known, version = await self._known(key)
                if known is not None:
                    return Begun(self._told(known), fresh=False)
                run, begun = self._launched(beginning, version)
                if not await begun:
                    continue  # another server has given the name meanwhile
                self._lately[key] = run.id
                if len(self._lately) > LATELY:
                    del self._lately[next(iter(self._lately))]
                return Begun(self._told(run.row(RUNNING, None)), fresh=True)

    def _launched(
        self, beginning: Beginning, version: int | None
    ) -> tuple[LiveExecution, asyncio.Future[bool]]:
        """Begins an execution; with a name, if the document of that still has this version."""
        self._tick.ensure()
        self._admit(beginning)
        id = self._id()
        with self._tick.apart() as unit:
            begun = self._tick.durable()
            if beginning.name is not None:
                now_ms = self._parts.clock.now_ms()
                unit.write.documents.append(named_document(beginning.key, id, now_ms, version))
                self._identities.conditional(unit, id, begun)
            return self._inbox.begin(id, beginning), begun

    async def run(self, beginning: Beginning, wait_s: float) -> tuple[NamedExecution, Ended | None]:
        """Begins an express execution and waits for its end, so long at most.

        Raises:
            RefusedError: when it may not run now.
        """
        self._tick.ensure()
        self._admit(beginning)
        id = self._id()
        ended = self._waiters.wait_for(id)
        with self._tick.apart() as unit:
            unit.waiting.append(ended)
            run = self._inbox.begin(id, beginning)
        end = await self._waiters.within(id, ended, wait_s)
        return self._told(run.row(RUNNING, self._parts.clock.now_ms())), end

    def _id(self) -> str:
        return self._parts.ids.execution_id(self._parts.clock.now_ms())

    def _admit(self, beginning: Beginning) -> None:
        quotas = self._parts.settings.quotas(beginning.namespace)
        check_payload(len(orjson.dumps(beginning.input)), quotas)
        self._parts.used(beginning.namespace).admit(quotas, self._parts.clock.now_ms())

    async def stop(
        self, execution: NamedExecution, error: str | None = None, cause: str | None = None
    ) -> int:
        """Stops an execution. Returns the instant at which it stopped; one that has ended is left as it is."""
        run = await self._recovery.found(execution.id)
        if run is None:
            saved = await self._store.load(execution.id)
            ended_ms = saved.execution.ended_ms if saved is not None else None
            return ended_ms or self._parts.clock.now_ms()
        stopped, now_ms = self._tick.durable(), self._parts.clock.now_ms()
        self._inbox.terminate(run, error, cause)
        await stopped
        return now_ms

    # --- how they stand ----------------------------------------------------------------------

    async def found(self, namespace: str, path: str, name: str) -> NamedExecution:
        """The execution of this name.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        row = await self._named(name_key(namespace, path, name))
        if row is None and _UUID.fullmatch(name):  # it was not given a name, and tells its id
            saved = await self._store.load(UUID(name).hex)
            row = saved.execution if saved is not None else None
        if row is None or (row.namespace, row.name) != (namespace, path):
            raise NotFoundError
        execution = self._told(row)
        if execution.name != name or not execution.found_by_name:
            raise NotFoundError
        return execution

    async def named(self, key: str) -> NamedExecution:
        """The execution that a document of a name is of; see `names`.

        Raises:
            NotFoundError: when there is no such name.
        """
        row = await self._named(key)
        if row is None:
            raise NotFoundError
        return self._told(row)

    async def children(
        self, execution: NamedExecution, fiber: str, turn: int
    ) -> dict[int, Outcome | None]:
        """The outcomes of the members of the fork that a fiber waits for in this turn; None of one under way."""
        saved = await self._store.load(execution.id)
        fibers, _ = await stored_values.fibers(
            self._store, execution.id, saved.fibers if saved else []
        )
        start = f"{fiber}/{turn}."
        places = {child.id.removeprefix(start): child for child in fibers}
        return {int(place): child.outcome for place, child in places.items() if place.isdecimal()}

    async def express(self, namespace: str, path: str, id: str) -> NamedExecution:
        """The express execution of this id.

        Raises:
            NotFoundError: when there is none in this namespace.
        """
        run = self._parts.runs.get(id)
        if run is not None:
            row = run.row(RUNNING, None)
        else:
            saved = await self._store.load(id)
            if saved is None:
                raise NotFoundError
            row = saved.execution
        if (row.namespace, row.name) != (namespace, path):
            raise NotFoundError
        return self._told(row)

    async def _named(self, key: str) -> ExecutionRow | None:
        """The execution of this name; none when there was never one, or when it was long ago."""
        return (await self._known(key))[0]

    async def _known(self, key: str) -> tuple[ExecutionRow | None, int]:
        """The execution of this name, if there is one, and else the version of the name's document."""
        known = self._lately.get(key)
        if known is not None and (saved := await self._store.load(known)) is not None:
            return saved.execution, 0
        async for document in self._store.documents(NAMED, key, limit=1):
            if document.key == key:
                saved = await self._store.load(orjson.loads(document.body or b"")[0])
                return saved.execution if saved is not None else None, document.version
        return None, 0

    async def forget_names(self, after: str, count: int, before_ms: int) -> str:
        """Drops names of executions that are not kept any more, of `count` after one, given before an instant.

        Returns:
            The last that it has looked at, to go on from; "" when it has looked at all.
        """
        _, last = await self._sweep.forget(after, count, before_ms)
        return last

    async def all(self, query: Query) -> list[NamedExecution]:
        """Executions that fit, the newest first."""
        return [self._told(row) for row in await self._store.find(ExecutionRow, query)]

    async def data(self, execution: NamedExecution) -> tuple[JSON, Outcome | None]:
        """The input of an execution, and its outcome, if it has ended."""
        run = self._parts.runs.get(execution.id)
        if run is not None and run.buffer:  # of an express one nothing is stored before its end
            return run.buffer[0].value, None
        ((first, body),) = await self._store.history(execution.id, 0, 1)
        entries = await stored_values.entries(self._store, execution.id, body)
        given = entries[0]["value"]
        if execution.ended_ms is None:
            return given, None
        ((last, body),) = await self._store.history(execution.id, LAST, 1)
        if last != first:  # a short one ends in the commit in which it began
            entries = await stored_values.entries(self._store, execution.id, body)
        return given, _outcome(entries[-1])

    async def definition(self, execution: NamedExecution) -> str:
        """The text of the definition that an execution was begun with.

        Raises:
            NotFoundError: when it is not pinned to one.
        """
        hash = self._parts.hooks.revision(execution.about)
        if hash is None:
            raise NotFoundError
        documents = self._store.documents(DEFINITION, hash, limit=1)
        (text,) = [orjson.loads(document.body or b"") async for document in documents]
        return str(text)

    async def history(self, execution: NamedExecution) -> list[Stored]:
        """All entries of its history, so far."""
        return await stored_values.history(self._store, execution.id, 0)

    def _told(self, row: ExecutionRow) -> NamedExecution:
        body = orjson.loads(row.body)
        about = body.get("machine") or {"name": str(UUID(row.id))}
        hooks = self._parts.hooks
        return NamedExecution(
            id=row.id,
            address=hooks.address(row.id, row.name, about),
            path=row.name,
            status=row.status,
            started_ms=row.started_ms,
            ended_ms=row.ended_ms,
            redrives=body.get("generation", 0),
            redriven_ms=body.get("redriven", 0),
            action=body["action"],
            owner=body.get("owner") or Name.parse(body["action"]).namespace,
            about=about,
            found_by_name=hooks.revision(about) is not None and "express" not in about,
        )


def _outcome(entry: Stored) -> Outcome:
    match entry["type"]:
        case "ExecutionSucceeded":
            return Success(entry["value"])
        case "ExecutionCancelled":
            return Failure(CANCELLED, entry["value"])
        case _:
            return Failure(entry["code"], entry["value"], classes_told(entry.get("raised")))
